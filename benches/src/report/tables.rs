//! Tables in Markdown: one row per contender, one column per cell.

use super::{
    places::{self, BURST, CORRECT, LIVE, PERCENTILES, WEIGHED, memory_place},
    record::Book,
};
use crate::{
    contender::{CONTENDERS, FLOOR, Row, STATES, VARIANTS},
    scale::Count,
};
use std::fmt::Write;

/// Rounds further apart than this factor are marked.
const WIDE: f64 = 1.5;

/// Writes a table from its heads and its rows of cells.
pub fn table(heads: &[String], rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| writeln!(text, "| {} |", cells.join(" | ")).expect("memory");
    line(heads);
    let rule = |at: usize| if at == 0 { "---" } else { "---:" };
    line(
        &(0..heads.len())
            .map(|at| rule(at).to_owned())
            .collect::<Vec<_>>(),
    );
    for row in rows {
        line(row);
    }
    text
}

/// One table for each workload of a suite: contenders down, sizes or threads across.
pub fn by_columns(
    book: &Book,
    suite: &'static str,
    metric: &str,
    show: fn(f64) -> String,
) -> String {
    let mut text = String::new();
    for workload in workloads(book, suite) {
        let mut columns: Vec<(u64, u64)> = book
            .records
            .iter()
            .filter(|at| at.suite == suite && at.workload == workload)
            .map(|record| (record.size, record.threads))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let mut heads = vec![format!("**{workload}**")];
        let by_threads = suite == "threads";
        heads.extend(columns.iter().map(|&(size, threads)| match by_threads {
            true if threads == 1 => "1 thread".to_owned(),
            true => format!("{threads} threads"),
            false => format!("{} live", Count(size as usize)),
        }));
        let rows: Vec<Vec<String>> = every_row()
            .filter_map(|row| {
                let cells: Vec<Option<String>> = columns
                    .iter()
                    .map(|&(size, threads)| {
                        let found = book.records.iter().position(|record| {
                            record.suite == suite
                                && record.workload == workload
                                && (record.size, record.threads) == (size, threads)
                                && record.contender == row.name
                                && record.metric == metric
                        })?;
                        Some(marked(show(book.records[found].value), book.spreads[found]))
                    })
                    .collect();
                let any = cells.iter().any(Option::is_some);
                any.then(|| named(row, cells))
            })
            .collect();
        text.push_str(&table(&heads, &rows));
        text.push('\n');
    }
    text
}

/// Whether answers are right, as measured.
pub fn correctness(book: &Book) -> String {
    let heads = [
        "contender",
        "two winners of one race",
        "one winner",
        "first again after retention by",
        "retention exact",
        "memory left of a burst, after calls",
        "after maintenance by hand",
        "reclaims by itself",
    ];
    let burst = memory_place("burst", BURST);
    let yes = |good: bool| if good { "yes" } else { "**no**" }.to_owned();
    let rows: Vec<Vec<String>> = CONTENDERS
        .iter()
        .filter_map(|row| {
            let at = |metric| book.value(CORRECT, row.name, metric);
            let left = |metric| book.value(burst, row.name, metric);
            let several = at("several_winners")?;
            let nobody = at("no_winner")?;
            let full = left("full_bytes")?;
            let after = left("left_bytes")? / full;
            let maintained = left("left_after_maintenance_bytes")? / full;
            let overshoot = match at("overshoot_ms")? {
                over if over > 1e6 => "never".to_owned(),
                over => format!("{over:.1} ms"),
            };
            Some(vec![
                format!("`{}`", row.name),
                format!("{several:.0} of {}", CORRECT.size),
                yes(several == 0.0 && nobody == 0.0),
                overshoot,
                yes(at("exact")? == 1.0),
                format!("{:.0} %", after * 100.0),
                format!("{:.0} %", maintained * 100.0),
                yes(after < 0.25),
            ])
        })
        .collect();
    table(&heads.map(str::to_owned), &rows)
}

/// Percentiles of single calls.
pub fn latency(book: &Book, threads: usize) -> String {
    let mut heads = vec![format!("**{threads} threads**")];
    heads.extend(
        PERCENTILES
            .iter()
            .map(|(metric, _)| metric.replace("_ns", "")),
    );
    let place = places::latency_place(threads);
    let rows: Vec<Vec<String>> = every_row()
        .filter_map(|row| {
            let cells: Vec<Option<String>> = PERCENTILES
                .iter()
                .map(|(metric, _)| {
                    let (value, spread) = book.at(place, row.name, metric)?;
                    Some(marked(time(value), spread))
                })
                .collect();
            cells.iter().any(Option::is_some).then(|| named(row, cells))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(&heads, &rows)
}

/// The steady state: one number a contender, or why there is none.
pub fn steady(book: &Book) -> String {
    let heads = ["contender", "per call"].map(str::to_owned);
    let rows: Vec<Vec<String>> = every_row()
        .filter_map(|row| {
            let held = book.at(places::STEADY, row.name, "ns_per_call");
            let needed = book.value(places::STEADY, row.name, "cannot_hold_calls_per_second");
            let cell = match (held, needed) {
                (Some((value, spread)), _) => marked(time(value), spread),
                (None, Some(needed)) => format!("cannot hold {} calls/s", short(needed)),
                (None, None) => return None,
            };
            Some(vec![format!("`{}`", row.name), cell])
        })
        .collect();
    table(&heads, &rows)
}

/// Requests through the whole handler, on loopback.
pub fn requests(book: &Book) -> String {
    let heads = [
        "endpoint",
        "live ids",
        "requests/s",
        "answered/s at the fixed rate",
        "p50",
        "p99",
        "p99.9",
    ];
    let mut rows = Vec::new();
    for size in book.keys("http", |record| record.size) {
        let place = places::http_place(size as usize);
        for app in places::APPS {
            let Some((rate, spread)) = book.at(place, app.name, "requests_per_second") else {
                continue;
            };
            let cell = |metric, show: fn(f64) -> String| {
                let value = book.value(place, app.name, metric);
                value.map_or_else(|| "–".to_owned(), show)
            };
            rows.push(vec![
                format!("`{}`", app.name),
                Count(size as usize).to_string(),
                marked(short(rate), spread),
                cell("answered_per_second", short),
                cell("p50_ns", time),
                cell("p99_ns", time),
                cell("p99.9_ns", time),
            ]);
        }
    }
    table(&heads.map(str::to_owned), &rows)
}

/// Processor time of one request without a network.
pub fn handler(book: &Book) -> String {
    let heads = ["first delivery of 1 KiB, in process", "per request"].map(str::to_owned);
    let rows: Vec<Vec<String>> = ["empty", "layer", "layer_signed", "bare_hmac"]
        .into_iter()
        .filter_map(|name| {
            let (value, spread) = book.at(places::HANDLER, name, "ns_per_call")?;
            Some(vec![format!("`{name}`"), marked(time(value), spread)])
        })
        .collect();
    table(&heads, &rows)
}

/// Bytes of an id and allocations of a call.
pub fn memory(book: &Book) -> String {
    let heads = [
        "contender",
        "sized: bytes/id",
        "grown: bytes/id, mean",
        "at worst",
        "resident, grown, mean",
        "allocations per new id",
        "per duplicate",
        "left of a burst",
        "first call after it",
    ];
    let rows: Vec<Vec<String>> = CONTENDERS
        .iter()
        .chain(STATES)
        .filter_map(|row| {
            let over = |workload, metric| Weights::of(book, row.name, workload, metric);
            let grown = over("grown", "bytes_per_id")?;
            let sized = over("sized", "bytes_per_id");
            let resident = over("grown", "resident_per_id")?;
            let calls = |metric| book.value(memory_place("calls", LIVE), row.name, metric);
            let burst = |metric| book.value(memory_place("burst", BURST), row.name, metric);
            let number = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
            };
            Some(vec![
                format!("`{}`", row.name),
                number(sized.map(|weights| weights.mean), 1),
                number(Some(grown.mean), 1),
                number(Some(grown.worst), 1),
                number(Some(resident.mean), 1),
                number(calls("allocations_per_new"), 2),
                number(calls("allocations_per_duplicate"), 2),
                burst("left_bytes").map_or_else(|| "–".to_owned(), kibibytes),
                burst("first_call_ns").map_or_else(|| "–".to_owned(), time),
            ])
        })
        .collect();
    table(&heads.map(str::to_owned), &rows)
}

/// Bytes of an id over all sizes of one doubling.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// On average.
    pub mean: f64,
    /// At the worst size.
    pub worst: f64,
}

impl Weights {
    /// Gathers them, if every size was weighed.
    pub fn of(book: &Book, row: &str, workload: &'static str, metric: &str) -> Option<Self> {
        let values = WEIGHED
            .iter()
            .map(|&live| book.value(memory_place(workload, live), row, metric))
            .collect::<Option<Vec<f64>>>()?;
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            worst: values.iter().copied().fold(0.0, f64::max),
        })
    }
}

/// A time in the unit that suits it.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{} ns", three_digits(ns)),
        ns if ns < 1e6 => format!("{} µs", three_digits(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", three_digits(ns / 1e6)),
        ns => format!("{} s", three_digits(ns / 1e9)),
    }
}

/// A rate in thousands or millions.
pub fn short(value: f64) -> String {
    match value {
        value if value < 1e3 => three_digits(value),
        value if value < 1e6 => format!("{} k", three_digits(value / 1e3)),
        value => format!("{} M", three_digits(value / 1e6)),
    }
}

/// A number with three digits that count.
pub fn three_digits(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn kibibytes(bytes: f64) -> String {
    format!("{} KiB", three_digits(bytes / 1024.0))
}

fn marked(shown: String, spread: f64) -> String {
    if spread > WIDE {
        return format!("{shown} ~");
    }
    shown
}

fn named(row: &Row, cells: Vec<Option<String>>) -> Vec<String> {
    let name = if row.facts.atomic {
        format!("`{}`", row.name)
    } else {
        format!("`{}` †", row.name)
    };
    let filled = cells
        .into_iter()
        .map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
    [name].into_iter().chain(filled).collect()
}

fn every_row() -> impl Iterator<Item = &'static Row> {
    CONTENDERS
        .iter()
        .chain(VARIANTS)
        .chain(STATES)
        .copied()
        .chain([FLOOR])
}

/// The workloads of a suite in the order in which they were measured.
fn workloads(book: &Book, suite: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for record in book.records.iter().filter(|record| record.suite == suite) {
        if !names.contains(&record.workload) {
            names.push(record.workload.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::Place;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [4.25, 42.5, 425.0, 4_250.0, 4.25e6, 4.25e9].map(time);
        let expected = [
            "4.25 ns", "42.5 ns", "425 ns", "4.25 µs", "4.25 ms", "4.25 s",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn rounds_that_lie_far_apart_are_marked() {
        let place = Place {
            suite: "single_thread",
            workload: "new",
            size: 1_000,
            threads: 1,
        };
        let mut book = Book::default();
        book.note(place, "hapax", "ns_per_call", &[10.0, 20.0, 30.0]);
        book.note(place, "moka", "ns_per_call", &[10.0, 11.0]);
        let text = by_columns(&book, "single_thread", "ns_per_call", time);
        assert!(text.contains("| `hapax` | 20.0 ns ~ |"), "{text}");
        assert!(text.contains("| `moka` | 10.5 ns |"), "{text}");
    }
}
