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
}

/// The table of all goals.
pub fn page(book: &Book) -> String {
    let heads = ["", "goal", "result", "reached"].map(str::to_owned);
    let rows: Vec<Vec<String>> = goals(book)
        .into_iter()
        .map(|goal| {
            let (text, reached) = match goal.result {
                Some(result) if result.reached => (result.text, "yes"),
                Some(result) => (result.text, "**no**"),
                None => ("not measured in this run".to_owned(), "–"),
            };
            vec![
                goal.about.to_owned(),
                goal.goal.to_owned(),
                text,
                reached.to_owned(),
            ]
        })
        .collect();
    table(&heads, &rows)
        .replace("| ---: |", "| --- |")
        .replace(" ---: |", " --- |")
}

/// Every goal with its result.
pub fn goals(book: &Book) -> Vec<Goal> {
    let goal = |about, goal, result| Goal {
        about,
        goal,
        result,
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
        ),
        goal(
            "against every TTL cache, every workload and size, one thread",
            "≥ 2 × the best",
            verdicts::against_crates(book, "the best TTL cache", 2.0, |row| {
                row.facts.family == Family::TtlCache
            }),
        ),
        goal(
            "against the sharded mutex, 2 threads and more",
            "ahead",
            verdicts::against_sharded_threads(book),
        ),
        goal(
            "against the sharded mutex, one thread: growth, duplicates, dependent inserts",
            "ahead",
            verdicts::against_sharded_alone(book),
        ),
        goal(
            "against the sharded mutex, one thread: independent inserts",
            "≤ 1.3 × its time",
            verdicts::against_sharded_warm(book),
        ),
        goal(
            "16 threads, throughput",
            "≥ 1.5 × the best contender",
            verdicts::crowded(book),
        ),
        goal(
            "16 threads, p99.9 and p99.99",
            "≤ 1/10 of every contender that locks",
            verdicts::tails(book),
        ),
        goal(
            "in cache (1k live ids), insert and duplicate",
            "≤ 2.0 × and ≤ 1.5 × the floor",
            verdicts::in_cache(book),
        ),
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
        ),
        goal(
            "memory after a burst has expired",
            "≤ 4 KiB per shard",
            verdicts::leftover(book),
        ),
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
    fn what_was_not_measured_is_not_judged() {
        assert!(
            goals(&Book::default())
                .iter()
                .all(|goal| goal.result.is_none())
        );
    }
}
