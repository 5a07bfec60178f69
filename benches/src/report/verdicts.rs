//! How each goal is judged: which cells count, and what of them is shown.

use super::{
    places::{self, BURST, memory_place},
    record::{Book, Place},
    tables::{Weights, short, three_digits, time},
};
use crate::{
    contender::{BASELINE, CONTENDERS, FLOOR, HAPAX, Row},
    rush::Traffic,
    scale::Count,
    script::{Access, Workload},
};

const HAPAX_NAME: &str = HAPAX.name;
const NS: &str = "ns_per_call";
const RATE: &str = "calls_per_second";

/// A measured goal.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The numbers.
    pub text: String,
    /// Whether they reach it.
    pub reached: bool,
}

pub(super) fn result(text: String, reached: bool) -> Verdict {
    Verdict { text, reached }
}

pub(super) fn against_baseline(book: &Book) -> Option<Verdict> {
    let [new, duplicate] = [Workload::New, Workload::Duplicate].map(|workload| {
        let place = places::single_place(workload, Access::Independent, 100_000);
        ratio(book, place, BASELINE.name, HAPAX_NAME, NS)
    });
    let (new, duplicate) = (new?, duplicate?);
    let text = format!(
        "{} × on new ids, {} × on duplicates",
        three_digits(new),
        three_digits(duplicate)
    );
    Some(result(text, new.min(duplicate) >= 1_000.0))
}

/// The cell in which hapax does worst against the best of some rows.
pub(super) fn against_crates(
    book: &Book,
    who: &str,
    goal: f64,
    counts: fn(&Row) -> bool,
) -> Option<Verdict> {
    let cells = single_cells(book)
        .into_iter()
        .filter_map(|(place, workload)| {
            let ours = book_value(book, &place, &workload, HAPAX_NAME)?;
            let (theirs, best) = CONTENDERS
                .iter()
                .filter(|row| counts(row))
                .filter_map(|row| Some((book_value(book, &place, &workload, row.name)?, row.name)))
                .min_by(|one, other| one.0.total_cmp(&other.0))?;
            Some((theirs / ours, best, workload, place.size))
        });
    let (least, best, workload, size) = cells.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let text = format!(
        "at least {} × {who} (`{best}`, {workload}, {} live)",
        three_digits(least),
        Count(size)
    );
    Some(result(text, least >= goal))
}

/// Every single-threaded cell that was measured. The workload comes apart, because it was read.
fn single_cells(book: &Book) -> Vec<(Place, String)> {
    book.keys("single_thread", |record| {
        (record.workload.clone(), record.size)
    })
    .into_iter()
    .map(|(workload, size)| {
        let place = Place {
            suite: "single_thread",
            workload: "",
            size: size as usize,
            threads: 1,
        };
        (place, workload)
    })
    .collect()
}

fn book_value(book: &Book, place: &Place, workload: &str, row: &str) -> Option<f64> {
    let found = book.records.iter().find(|record| {
        record.suite == place.suite
            && record.workload == workload
            && record.size == place.size as u64
            && record.contender == row
            && record.metric == NS
    })?;
    Some(found.value)
}

pub(super) fn against_sharded_threads(book: &Book) -> Option<Verdict> {
    let least = crowds(book)
        .filter(|(_, threads, _)| *threads >= 2)
        .filter_map(|(traffic, threads, place)| {
            let ahead = ratio(book, place, HAPAX_NAME, "sharded_mutex", RATE)?;
            Some((ahead, traffic, threads))
        })
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
    let (ahead, traffic, threads) = least;
    let ahead_text = three_digits(ahead);
    let text = format!(
        "at least {ahead_text} × ({}, {threads} threads)",
        traffic.name()
    );
    Some(result(text, ahead >= 1.0))
}

fn crowds(book: &Book) -> impl Iterator<Item = (Traffic, usize, Place)> {
    use Traffic::*;
    [New, Duplicate, Mixed, Same, Hot, Growth]
        .into_iter()
        .flat_map(|traffic| {
            let live = if traffic == Growth { 0 } else { places::LIVE };
            [1, 2, 4, 16].map(|threads| {
                (
                    traffic,
                    threads,
                    places::crowd_place(traffic, live, threads),
                )
            })
        })
        .filter(|(.., place)| book.value(*place, HAPAX_NAME, RATE).is_some())
}

pub(super) fn against_sharded_alone(book: &Book) -> Option<Verdict> {
    let cells = [
        (Workload::Growth, Access::Independent),
        (Workload::Duplicate, Access::Independent),
        (Workload::New, Access::Dependent),
    ];
    sharded(book, &cells, |least| least >= 1.0)
}

pub(super) fn against_sharded_warm(book: &Book) -> Option<Verdict> {
    sharded(book, &[(Workload::New, Access::Independent)], |least| {
        least >= 1.0 / 1.3
    })
}

fn sharded(
    book: &Book,
    cells: &[(Workload, Access)],
    reached: impl Fn(f64) -> bool,
) -> Option<Verdict> {
    let sizes = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let worst = |&(workload, access): &(Workload, Access)| {
        sizes
            .into_iter()
            .filter_map(|size| {
                let place = places::single_place(workload, access, size);
                let ahead = ratio(book, place, "sharded_mutex", HAPAX_NAME, NS)?;
                Some((ahead, place.workload, size))
            })
            .min_by(|one, other| one.0.total_cmp(&other.0))
    };
    let all = cells.iter().map(worst).collect::<Option<Vec<_>>>()?;
    let least = all.iter().map(|cell| cell.0).fold(f64::MAX, f64::min);
    let parts: Vec<String> = all
        .iter()
        .map(|(ahead, name, size)| {
            format!("{name} {} × ({} live)", three_digits(*ahead), Count(*size))
        })
        .collect();
    Some(result(
        format!("its throughput, at least: {}", parts.join(", ")),
        reached(least),
    ))
}

pub(super) fn crowded(book: &Book) -> Option<Verdict> {
    let parts: Vec<(f64, String)> = crowds(book)
        .filter(|(_, threads, _)| *threads == 16)
        .filter_map(|(traffic, _, place)| {
            let (best, name) = CONTENDERS
                .iter()
                .filter(|row| row.is_rival())
                .filter_map(|row| Some((book.value(place, row.name, RATE)?, row.name)))
                .max_by(|one, other| one.0.total_cmp(&other.0))?;
            let ahead = book.value(place, HAPAX_NAME, RATE)? / best;
            let text = format!("{} {} × (`{name}`)", traffic.name(), three_digits(ahead));
            Some((ahead, text))
        })
        .collect();
    let least = parts.iter().map(|part| part.0).reduce(f64::min)?;
    let text: Vec<String> = parts.into_iter().map(|part| part.1).collect();
    Some(result(text.join(", "), least >= 1.5))
}

pub(super) fn tails(book: &Book) -> Option<Verdict> {
    let place = places::latency_place(16);
    let parts = ["p99.9_ns", "p99.99_ns"].map(|metric| {
        let ours = book.value(place, HAPAX_NAME, metric)?;
        let (least, name) = CONTENDERS
            .iter()
            .filter(|row| row.facts.locks)
            .filter_map(|row| Some((book.value(place, row.name, metric)?, row.name)))
            .min_by(|one, other| one.0.total_cmp(&other.0))?;
        let text = format!(
            "{} {} against {} of the best (`{name}`)",
            metric.replace("_ns", ""),
            time(ours),
            time(least)
        );
        Some((ours / least, text))
    });
    let [Some(one), Some(other)] = parts else {
        return None;
    };
    Some(result(
        format!("{}; {}", one.1, other.1),
        one.0.max(other.0) <= 0.1,
    ))
}

pub(super) fn in_cache(book: &Book) -> Option<Verdict> {
    let [insert, duplicate] = [Workload::New, Workload::Duplicate].map(|workload| {
        let place = places::single_place(workload, Access::Independent, 1_000);
        ratio(book, place, HAPAX_NAME, FLOOR.name, NS)
    });
    let (insert, duplicate) = (insert?, duplicate?);
    let text = format!("{insert:.2} × and {duplicate:.2} ×");
    Some(result(text, insert <= 2.0 && duplicate <= 1.5))
}

pub(super) fn large(book: &Book) -> Option<Verdict> {
    let [single, chained] = [Access::Independent, Access::Dependent]
        .map(|access| places::single_place(Workload::New, access, 10_000_000));
    let floor = book.value(chained, FLOOR.name, NS)?;
    let chained = book.value(chained, HAPAX_NAME, NS)?;
    let single = book.value(single, HAPAX_NAME, NS)?;
    let text = format!(
        "{:.2} × with dependent, {:.2} × with independent calls ({} and {}; the floor {})",
        chained / floor,
        single / floor,
        time(chained),
        time(single),
        time(floor)
    );
    Some(result(text, chained / floor <= 1.5))
}

pub(super) fn batches(book: &Book) -> Option<Verdict> {
    let place = places::single_place(Workload::New, Access::Independent, 10_000_000);
    let faster = ratio(book, place, HAPAX_NAME, "hapax_batch", NS)?;
    Some(result(format!("{faster:.2} ×"), faster >= 2.0))
}

pub(super) fn lighter(book: &Book) -> Option<Verdict> {
    let of = |row: &str| Some(Weights::of(book, row, "grown", "bytes_per_id")?.mean);
    let ours = of("hapax_settled")?;
    let (smallest, name) = CONTENDERS
        .iter()
        .filter(|row| row.is_crate())
        .filter_map(|row| Some((of(row.name)?, row.name)))
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
    let baseline = of(BASELINE.name)?;
    let text = format!(
        "{:.2} of the smallest (`{name}`, {smallest:.1}), {:.2} of the mutex map ({baseline:.1})",
        ours / smallest,
        ours / baseline
    );
    Some(result(
        text,
        ours <= smallest / 2.0 && ours <= baseline / 3.0,
    ))
}

pub(super) fn leftover(book: &Book) -> Option<Verdict> {
    let place = memory_place("burst", BURST);
    let bytes = book.value(place, HAPAX_NAME, "left_bytes")?;
    let Some(shards) = book.value(place, HAPAX_NAME, "shards") else {
        let text = format!(
            "{} bytes in all; the number of shards is not known",
            short(bytes)
        );
        return Some(result(text, false));
    };
    let each = bytes / shards / 1024.0;
    Some(result(
        format!("{each:.1} KiB per shard of {shards:.0}"),
        each <= 4.0,
    ))
}

pub(super) fn allocations(book: &Book) -> Option<Verdict> {
    let place = memory_place("calls", places::LIVE);
    let [new, duplicate] = ["allocations_per_new", "allocations_per_duplicate"]
        .map(|metric| book.value(place, HAPAX_NAME, metric));
    let (new, duplicate) = (new?, duplicate?);
    let text = format!("{new:.4} with a new id, {duplicate:.4} with a duplicate");
    Some(result(text, new + duplicate == 0.0))
}

/// Whether hapax keeps its distance to the floor as the set grows.
pub(super) fn curve(book: &Book) -> Option<Verdict> {
    let distances: Vec<(usize, f64)> = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
        .into_iter()
        .filter_map(|size| {
            let place = places::single_place(Workload::New, Access::Independent, size);
            Some((size, ratio(book, place, HAPAX_NAME, FLOOR.name, NS)?))
        })
        .collect();
    let (_, first) = *distances.first()?;
    let most = distances
        .iter()
        .map(|distance| distance.1)
        .fold(0.0, f64::max);
    let parts: Vec<String> = distances
        .iter()
        .map(|(size, times)| format!("{times:.1} × at {}", Count(*size)))
        .collect();
    let text = format!("the floor {}", parts.join(", "));
    Some(result(text, most <= first * 1.25))
}

pub(super) fn layer(book: &Book) -> Option<Verdict> {
    let at = |row| book.value(places::HANDLER, row, NS);
    let (with, without) = (at("layer")?, at("empty")?);
    let more = with - without;
    let text = format!(
        "{} more ({} against {})",
        time(more),
        time(with),
        time(without)
    );
    Some(result(text, more <= 2_000.0))
}

pub(super) fn signed(book: &Book) -> Option<Verdict> {
    let at = |row| book.value(places::HANDLER, row, NS);
    let more = at("layer_signed")? - at("empty")? - at("bare_hmac")?;
    Some(result(format!("{} more", time(more)), more <= 2_000.0))
}

/// How many times larger the value of `one` is than that of `other`.
fn ratio(book: &Book, place: Place, one: &str, other: &str, metric: &str) -> Option<f64> {
    Some(book.value(place, one, metric)? / book.value(place, other, metric)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cell_decides() {
        let mut book = Book::default();
        for (size, moka) in [(1_000, 100.0), (100_000, 30.0)] {
            let place = places::single_place(Workload::New, Access::Independent, size);
            book.note(place, "hapax", NS, &[20.0]);
            book.note(place, "moka", NS, &[moka]);
        }
        let judged = against_crates(&book, "the best", 2.0, |row| row.name == "moka");
        let judged = judged.expect("both were measured");
        assert!(!judged.reached);
        assert_eq!(
            judged.text,
            "at least 1.50 × the best (`moka`, new, 100k live)"
        );
    }
}
