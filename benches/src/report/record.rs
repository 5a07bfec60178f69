//! One measured number, and the book of all of them.

use serde::{Deserialize, Serialize};

/// One number with everything needed to find it again. This is a line of `latest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The suite it belongs to.
    pub suite: String,
    /// What the calls looked like.
    pub workload: String,
    /// Live ids.
    pub size: u64,
    /// Threads, or connections where requests are meant.
    pub threads: u64,
    /// The row.
    pub contender: String,
    /// What the value counts, its unit last.
    pub metric: String,
    /// The median of all rounds.
    pub value: f64,
}

/// Where a number stands: everything of a record but the contender, the metric and the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The suite.
    pub suite: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// Live ids.
    pub size: usize,
    /// Threads.
    pub threads: usize,
}

/// All records of one run, and how far the rounds of each lay apart.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The records in the order in which they were measured.
    pub records: Vec<Record>,
    /// For each record, largest round divided by smallest.
    pub spreads: Vec<f64>,
}

impl Book {
    /// Notes the median of `rounds` for `contender`.
    pub fn note(&mut self, place: Place, contender: &str, metric: &str, rounds: &[f64]) {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else {
            return;
        };
        self.spreads.push(if *low > 0.0 { high / low } else { 1.0 });
        self.records.push(Record {
            suite: place.suite.to_owned(),
            workload: place.workload.to_owned(),
            size: place.size as u64,
            threads: place.threads as u64,
            contender: contender.to_owned(),
            metric: metric.to_owned(),
            value: median(&sorted),
        });
    }

    /// The value that was noted, if it was.
    pub fn value(&self, place: Place, contender: &str, metric: &str) -> Option<f64> {
        self.at(place, contender, metric).map(|(value, _)| value)
    }

    /// The value with its spread.
    pub fn at(&self, place: Place, contender: &str, metric: &str) -> Option<(f64, f64)> {
        let found = self.records.iter().position(|record| {
            record.suite == place.suite
                && record.workload == place.workload
                && record.size == place.size as u64
                && record.threads == place.threads as u64
                && record.contender == contender
                && record.metric == metric
        })?;
        Some((self.records[found].value, self.spreads[found]))
    }

    /// Every different value of `key` among the records of a suite, in order.
    pub fn keys<K: Ord>(&self, suite: &str, key: impl Fn(&Record) -> K) -> Vec<K> {
        let mut keys: Vec<K> = self
            .records
            .iter()
            .filter(|record| record.suite == suite)
            .map(key)
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

/// The middle of sorted values; between the two middle ones where their number is even.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        return f64::midpoint(sorted[middle - 1], sorted[middle]);
    }
    sorted[middle]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        suite: "threads",
        workload: "new",
        size: 1_000,
        threads: 2,
    };

    #[test]
    fn the_median_is_noted_with_its_spread() {
        let mut book = Book::default();
        book.note(PLACE, "hapax", "ns", &[30.0, 10.0, 20.0]);
        assert_eq!(book.at(PLACE, "hapax", "ns"), Some((20.0, 3.0)));
        assert_eq!(book.value(PLACE, "hapax", "bytes"), None);
    }

    #[test]
    fn a_record_has_the_fields_of_the_published_shape() {
        let mut book = Book::default();
        book.note(PLACE, "hapax", "ns", &[1.5]);
        let json = serde_json::to_string(&book.records).expect("numbers and strings");
        assert_eq!(
            json,
            r#"[{"suite":"threads","workload":"new","size":1000,"threads":2,"contender":"hapax","metric":"ns","value":1.5}]"#
        );
    }
}
