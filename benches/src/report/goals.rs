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
const GROWTH: &str = "while a set grows, each new id is looked up in the tables it has outgrown, a cache \
    miss or two for each: nothing is ever moved, so that nobody ever waits for a rehash. It ends one \
    retention later, and a set of known size (`capacity`) never pays it";

/// A call that meets nobody and finds everything in the nearest cache.
const ALONE: &str = "an insert has four locked operations and a fence, the floor three and a mutex with its \
    map two: that is the price of never blocking. And in which slot or bucket an id is, or has room, cannot \
    be predicted, where a map compares sixteen tags at once and the floor does not branch. With ids in an \
    order that the processor has learnt, the same inserts take three fifths of the time";

/// Many threads on few cores, on average.
const CROWD: &str = "on two cores a lock is nearly always free, because its holder is seldom descheduled \
    in the few nanoseconds it has it. The difference is in the tail, not in the mean";

/// Many threads on few cores, at their worst.
const TAIL: &str = "on few cores fewer than one call in a thousand meets a lock whose holder was \
    descheduled, so the difference begins after p99.9";

/// What a set weighs that was not sized.
const BYTES: &str = "a table fills to two thirds before it grows, and settles between a third and that; a \
    slot is 16 bytes, of which half is the fingerprint that keeps two ids apart";

/// What an empty set keeps.
const BOOKS: &str = "6 KiB of each shard are its books, three rings of counters that never grow; and the \
    2,048 ids that come after the burst do not fit in the smallest tables, so each shard has a second";

/// A signed request.
const SIGNED: &str = "most of it is what the layer costs without a signature; the rest is reading \
    the header and comparing";

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

/// Why the goals that were missed were missed, each reason once.
fn reasons(goals: &[Goal]) -> String {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for goal in goals
        .iter()
        .filter(|goal| goal.is_missed() && !goal.why.is_empty())
    {
        let about = format!("*{}*", goal.about);
        match all.iter_mut().find(|(why, _)| *why == goal.why) {
            Some((_, abouts)) => abouts.push(about),
            None => all.push((goal.why, vec![about])),
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let lines = all
        .iter()
        .map(|(why, abouts)| format!("- {}: {why}.\n", abouts.join("; ")));
    format!(
        "\nWhere a goal is missed, and why:\n\n{}",
        lines.collect::<String>()
    )
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
        )
        .because(GROWTH),
        goal(
            "against every TTL cache, every workload and size, one thread",
            "≥ 2 × the best",
            verdicts::against_crates(book, "the best TTL cache", 2.0, |row| {
                row.facts.family == Family::TtlCache
            }),
        )
        .because(GROWTH),
        goal(
            "against the sharded mutex, 2 threads and more",
            "ahead",
            verdicts::against_sharded_threads(book),
        )
        .because(GROWTH),
        goal(
            "against the sharded mutex, one thread: growth, duplicates, dependent inserts",
            "ahead",
            verdicts::against_sharded_alone(book),
        )
        .because(ALONE),
        goal(
            "against the sharded mutex, one thread: independent inserts",
            "≤ 1.3 × its time",
            verdicts::against_sharded_warm(book),
        )
        .because(ALONE),
        goal(
            "16 threads, throughput",
            "≥ 1.5 × the best contender",
            verdicts::crowded(book),
        )
        .because(CROWD),
        goal(
            "16 threads, p99.9 and p99.99",
            "≤ 1/10 of every contender that locks",
            verdicts::tails(book),
        )
        .because(TAIL),
        goal(
            "in cache (1k live ids), insert and duplicate",
            "≤ 2.0 × and ≤ 1.5 × the floor",
            verdicts::in_cache(book),
        )
        .because(ALONE),
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
        )
        .because(BYTES),
        goal(
            "memory after a burst has expired",
            "≤ 4 KiB per shard",
            verdicts::leftover(book),
        )
        .because(BOOKS),
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
        )
        .because(SIGNED),
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
        let text = reasons(&[goal(false), goal(true), goal(false)]);
        assert!(
            text.ends_with("\n- *something*; *something*: it is hard.\n"),
            "{text}"
        );
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
