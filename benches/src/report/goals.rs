//! What hapax set out to reach, beside what was measured in the same run.

use super::{
    record::Book,
    tables::{Weights, table},
    verdicts::{self, Verdict, result},
};
use crate::contender::{Family, HAPAX, Row};

/// A goal and how it went.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Against what, and where.
    pub about: &'static str,
    /// What was to be reached.
    pub goal: &'static str,
    /// What was measured; nothing if this run did not measure it.
    pub result: Option<Verdict>,
    /// What is known of the reason, shown where the goal is missed.
    pub why: &'static str,
}

impl Goal {
    fn is_missed(&self) -> bool {
        self.result.as_ref().is_some_and(|result| !result.reached)
    }

    /// With what is known of the reason, should it be missed.
    fn because(self, why: &'static str) -> Self {
        Self { why, ..self }
    }
}

/// New ids in a set that has outgrown its first size and has not lived for one retention since.
const GROWTH: &str = "while a set grows, each new id is looked up in the tables it has outgrown, one \
    cache miss for each: nothing is ever moved, so that nobody ever waits for a rehash. It ends one \
    retention later, and a set of known size (`capacity`) never pays it";

/// A call with everything in the nearest cache.
const IN_CACHE: &str = "an insert has four locked operations and a fence, the floor three and none; and in \
    which slot or bucket there is room cannot be predicted, where the floor has no branch at all. With \
    ids in an order the processor has learnt, the same calls take three fifths of the time";

/// The table of all goals.
pub fn page(book: &Book) -> String {
    let heads = ["", "goal", "result", "reached"].map(str::to_owned);
    let all = goals(book);
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|goal| {
            let (text, reached) = match &goal.result {
                Some(result) if result.reached => (result.text.as_str(), "yes"),
                Some(result) => (result.text.as_str(), "**no**"),
                None => ("not measured in this run", "–"),
            };
            vec![
                goal.about.to_owned(),
                goal.goal.to_owned(),
                text.to_owned(),
                reached.to_owned(),
            ]
        })
        .collect();
    let table = table(&heads, &rows)
        .replace("| ---: |", "| --- |")
        .replace(" ---: |", " --- |");
    table + &reasons(&all)
}

/// Why the goals that were missed were missed.
fn reasons(goals: &[Goal]) -> String {
    let missed = goals
        .iter()
        .filter(|goal| goal.is_missed() && !goal.why.is_empty());
    let mut text = String::new();
    for goal in missed {
        if text.is_empty() {
            text.push_str("\nWhere a goal is missed, and why:\n\n");
        }
        text.push_str(&format!("- *{}*: {}.\n", goal.about, goal.why));
    }
    text
}

/// Every goal with its result.
pub fn goals(book: &Book) -> Vec<Goal> {
    let goal = |about, goal, result| Goal {
        about,
        goal,
        result,
        why: "",
    };
    vec![
        goal(
            "against the mutex map, 100k live ids, one thread",
            "≥ 1,000 × its throughput",
            verdicts::against_baseline(book),
        ),
        goal(
            "against every crate, every workload and size, one thread",
            "never slower than the best",
            verdicts::against_crates(book, "the best crate", 1.0, Row::is_crate),
        ).because(GROWTH),
        goal(
            "against every TTL cache, every workload and size, one thread",
            "≥ 2 × the best",
            verdicts::against_crates(book, "the best TTL cache", 2.0, |row| {
                row.facts.family == Family::TtlCache
            }),
        ).because(GROWTH),
        goal(
            "against the sharded mutex, 2 threads and more",
            "ahead",
            verdicts::against_sharded_threads(book),
        ).because(GROWTH),
        goal(
            "against the sharded mutex, one thread: growth, duplicates, dependent inserts",
            "ahead",
            verdicts::against_sharded_alone(book),
        ).because(GROWTH),
        goal(
            "against the sharded mutex, one thread: independent inserts",
            "≤ 1.3 × its time",
            verdicts::against_sharded_warm(book),
        ).because(IN_CACHE),
        goal(
            "16 threads, throughput",
            "≥ 1.5 × the best contender",
            verdicts::crowded(book),
        ).because("on two cores a lock is nearly always free: its holder is seldom descheduled in the few nanoseconds it holds it. The difference is in the tail, not in the mean"),
        goal(
            "16 threads, p99.9 and p99.99",
            "≤ 1/10 of every contender that locks",
            verdicts::tails(book),
        ).because("on few cores fewer than one call in a thousand meets a lock whose holder was descheduled, so the difference begins after p99.9"),
        goal(
            "in cache (1k live ids), insert and duplicate",
            "≤ 2.0 × and ≤ 1.5 × the floor",
            verdicts::in_cache(book),
        ).because(IN_CACHE),
        goal(
            "10M live ids, insert",
            "≤ 1.5 × the dependent floor",
            verdicts::large(book),
        ),
        goal(
            "10M live ids, batches of 64",
            "≥ 2 × faster per id than single calls",
            verdicts::batches(book),
        ),
        goal(
            "bytes per id, sized",
            "≤ 40",
            Weights::of(book, HAPAX.name, "sized", "bytes_per_id")
                .map(|weights| result(format!("{:.1}", weights.mean), weights.mean <= 40.0)),
        ),
        goal(
            "bytes per id, grown and settled",
            "≤ 48 on average, ≤ 64 at worst",
            Weights::of(book, "hapax_settled", "grown", "bytes_per_id").map(|weights| {
                let text = format!(
                    "{:.1} on average, {:.1} at worst",
                    weights.mean, weights.worst
                );
                result(text, weights.mean <= 48.0 && weights.worst <= 64.0)
            }),
        ),
        goal(
            "bytes per id, grown, against others",
            "≤ 1/2 of the smallest crate, ≤ 1/3 of the mutex map",
            verdicts::lighter(book),
        ).because("a table fills to two thirds before it grows, and settles between a third and that; a slot is 16 bytes, of which half is the fingerprint that keeps two ids apart"),
        goal(
            "memory after a burst has expired",
            "≤ 4 KiB per shard",
            verdicts::leftover(book),
        ).because("6 KiB of each shard are its books, three rings of counters that never grow"),
        goal(
            "allocations per call, set with room",
            "0",
            verdicts::allocations(book),
        ),
        goal(
            "cost as live ids grow",
            "the floor's curve",
            verdicts::curve(book),
        ),
        goal(
            "request with its id in a header, through the layer",
            "≤ 2 µs more than the empty handler",
            verdicts::layer(book),
        ),
        goal(
            "signed request, through the layer",
            "≤ 2 µs more than a bare HMAC of the same body and the empty handler",
            verdicts::signed(book),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_missed_is_explained() {
        let goal = |reached| Goal {
            about: "something",
            goal: "",
            result: Some(result(String::new(), reached)),
            why: "it is hard",
        };
        assert_eq!(reasons(&[goal(true)]), "");
        assert!(reasons(&[goal(false)]).ends_with("- *something*: it is hard.\n"));
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        assert!(
            goals(&Book::default())
                .iter()
                .all(|goal| goal.result.is_none())
        );
    }
}
