//! How many instructions a call takes, counted by callgrind.
//!
//! Measured: a thousand calls each of an insert, a duplicate and an insert in the place of an expired
//! id, on a set with room, on a clock that is moved by hand. Counts do not depend on what else runs
//! on the machine, so they are held to a bound: a tenth above the numbers committed here fails.
//! The seeds of the set are random, and with them which ids share a bucket; a thousand calls even
//! that out to well below a tenth. Not measured: time. An instruction that misses the cache costs as
//! much here as one that does not.
//!
//! It needs valgrind and a runner of the same version: `ci/instructions.sh` installs and runs both.

// The macros make items of their own.
#![allow(missing_docs)]

use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig, main, prelude::*};
use hapax::{DedupSet, ManualClock, Seeds};
use hapax_benches::ids::{self, Id};
use std::{hint::black_box, time::Duration};

/// Instructions of a thousand calls, as they were when this was last looked at.
const INSERT: u64 = 662_000;
const DUPLICATE: u64 = 303_000;
const EXPIRED_REUSE: u64 = 585_000;

const CALLS: u64 = 1_000;
const LIVE: u64 = 4_000;
const RETENTION: Duration = Duration::from_secs(60);

type Set = DedupSet<Seeds, ManualClock>;

/// A set with `LIVE` ids and room for the calls, and its clock.
fn filled() -> (Set, ManualClock) {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(RETENTION)
        .capacity((LIVE + CALLS) as usize)
        .clock(clock.clone())
        .build()
        .expect("a minute is within the limits");
    for id in ids::range(0, LIVE) {
        set.check_and_mark(id.as_str());
    }
    (set, clock)
}

fn with_new_ids() -> (Set, Vec<Id>) {
    (filled().0, ids::range(LIVE, LIVE + CALLS))
}

fn with_live_ids() -> (Set, Vec<Id>) {
    (filled().0, ids::range(0, CALLS))
}

/// All ids have expired and their slots are still there.
fn with_expired_ids() -> (Set, Vec<Id>) {
    let (set, clock) = filled();
    clock.advance(2 * RETENTION);
    (set, ids::range(LIVE, LIVE + CALLS))
}

/// The set is handed back, so that dropping it is not counted.
fn mark((set, ids): (Set, Vec<Id>), firsts: usize) -> (Set, Vec<Id>) {
    let marked = ids
        .iter()
        .filter(|id| set.check_and_mark(id.as_str()))
        .count();
    assert_eq!(black_box(marked), firsts, "the set answered wrongly");
    (set, ids)
}

/// At most a tenth more than `instructions`.
fn bound(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    let most = instructions + instructions / 10;
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, most)]));
    config
}

#[library_benchmark(config = bound(INSERT))]
#[bench::thousand(args = (), setup = with_new_ids)]
fn insert(set: (Set, Vec<Id>)) -> (Set, Vec<Id>) {
    mark(set, CALLS as usize)
}

#[library_benchmark(config = bound(DUPLICATE))]
#[bench::thousand(args = (), setup = with_live_ids)]
fn duplicate(set: (Set, Vec<Id>)) -> (Set, Vec<Id>) {
    mark(set, 0)
}

#[library_benchmark(config = bound(EXPIRED_REUSE))]
#[bench::thousand(args = (), setup = with_expired_ids)]
fn expired_reuse(set: (Set, Vec<Id>)) -> (Set, Vec<Id>) {
    mark(set, CALLS as usize)
}

library_benchmark_group!(
    name = calls,
    benchmarks = [insert, duplicate, expired_reuse]
);

main!(library_benchmark_groups = calls);
