//! Whether two runs say the same.
//!
//! Absolute times differ from run to run on a machine that others use too. What must hold is the
//! ratio of each contender to hapax in the same cell.

use super::record::{Book, Record};
use crate::contender::HAPAX;

/// How far a ratio may lie from the one of the other run: a quarter.
pub const TOLERANCE: f64 = 1.25;

/// A ratio on which two runs do not agree.
#[derive(Clone, Debug)]
pub struct Dispute {
    /// Where.
    pub cell: String,
    /// The value of a contender divided by that of hapax, in the older run and the newer.
    pub ratios: [f64; 2],
}

/// How two runs compare.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    /// Ratios that both runs have.
    pub compared: usize,
    /// Those that differ by more than the tolerance.
    pub disputes: Vec<Dispute>,
}

/// Compares the ratios of two runs. Metrics that are counts of rare things (how many were wrong, the
/// longest of all times) are left out: they are not expected to repeat.
pub fn compare(older: &[Record], newer: &[Record]) -> Agreement {
    let mut agreement = Agreement::default();
    for record in newer {
        if !repeats(record) || record.contender == HAPAX.name {
            continue;
        }
        let pair = ratio(older, record).zip(ratio(newer, record));
        let Some((before, after)) = pair else {
            continue;
        };
        agreement.compared += 1;
        if (before / after).max(after / before) > TOLERANCE {
            agreement.disputes.push(Dispute {
                cell: format!(
                    "{}/{}/live={}/threads={}/{} {}",
                    record.suite,
                    record.workload,
                    record.size,
                    record.threads,
                    record.contender,
                    record.metric
                ),
                ratios: [before, after],
            });
        }
    }
    let distance = |dispute: &Dispute| (dispute.ratios[0] / dispute.ratios[1]).ln().abs();
    agreement
        .disputes
        .sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    agreement
}

/// Says how two runs compare, in Markdown.
pub fn page(agreement: &Agreement) -> String {
    let Agreement { compared, disputes } = agreement;
    let mut text = format!(
        "{} of {compared} ratios to hapax agree within {:.0} % with the other run.\n",
        compared - disputes.len(),
        (TOLERANCE - 1.0) * 100.0
    );
    if !disputes.is_empty() {
        text.push_str("These do not, and should not be quoted:\n\n");
    }
    for Dispute { cell, ratios } in disputes {
        text.push_str(&format!(
            "- `{cell}`: {:.2} and {:.2}\n",
            ratios[0], ratios[1]
        ));
    }
    text
}

/// Makes one book of two runs of the same plan: the mean of both values, the wider spread.
pub fn merge(older: &Book, newer: &Book) -> Book {
    let mut both = newer.clone();
    for (at, record) in both.records.iter_mut().enumerate() {
        let same = |old: &&Record| key(old) == key(record);
        if let Some(old) = older.records.iter().find(same) {
            both.spreads[at] = both.spreads[at].max(old.value / record.value);
            both.spreads[at] = both.spreads[at].max(record.value / old.value);
            record.value = f64::midpoint(record.value, old.value);
        }
    }
    both
}

fn repeats(record: &Record) -> bool {
    let once = ["max_ns", "first_call_ns", "cannot_hold_calls_per_second"];
    record.suite != "correctness" && !once.contains(&record.metric.as_str())
}

/// The value of a record divided by that of hapax in the same cell of `run`.
fn ratio(run: &[Record], record: &Record) -> Option<f64> {
    let at = |contender: &str| {
        run.iter()
            .find(|other| {
                let (suite, workload, size, threads, _, metric) = key(record);
                (suite, workload, size, threads, contender, metric) == key(other)
            })
            .map(|found| found.value)
    };
    let (theirs, ours) = (at(&record.contender)?, at(HAPAX.name)?);
    (theirs > 0.0 && ours > 0.0).then(|| theirs / ours)
}

fn key(record: &Record) -> (&str, &str, u64, u64, &str, &str) {
    (
        &record.suite,
        &record.workload,
        record.size,
        record.threads,
        &record.contender,
        &record.metric,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::Place;

    fn run(hapax: f64, moka: f64) -> Vec<Record> {
        let place = Place {
            suite: "threads",
            workload: "new",
            size: 1,
            threads: 2,
        };
        let mut book = Book::default();
        book.note(place, "moka", "ns", &[moka]);
        book.note(place, "hapax", "ns", &[hapax]);
        book.records
    }

    #[test]
    fn a_slower_machine_changes_no_ratio() {
        let agreement = compare(&run(10.0, 40.0), &run(20.0, 80.0));
        assert_eq!((agreement.compared, agreement.disputes.len()), (1, 0));
    }

    #[test]
    fn a_ratio_that_moves_by_more_than_a_quarter_is_named() {
        let agreement = compare(&run(10.0, 40.0), &run(10.0, 52.0));
        assert_eq!(agreement.disputes[0].ratios, [4.0, 5.2]);
        assert!(page(&agreement).contains("threads/new/live=1/threads=2/moka"));
    }
}
