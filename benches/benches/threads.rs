//! How many calls a second several threads get through one set, by traffic and number of threads.
//!
//! Measured: from the moment all threads start to the end of the last call, on a filled set with
//! room. More threads than cores are there on purpose. Not measured: starting the threads, filling
//! and dropping the set. Checked: the number of *firsts* of every rush; where all threads bring the
//! same ids, each id has one. A contender without an atomic insert may have more, which is printed.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hapax_benches::{
    contender::CONTENDERS,
    rush::{
        Rush,
        Traffic::{self, Duplicate, Growth, Hot, New, Same},
    },
    scale::{
        Count,
        Scale::{self, Default, Full, Quick, Smoke},
    },
};
use std::{cell::LazyCell, time::Duration};

/// Calls of one rush, all threads together.
const CALLS: usize = 400_000;

/// Each cell with the scale from which on it runs: traffic, live ids, threads.
const CELLS: &[(Scale, (Traffic, usize, usize))] = &[
    (Default, (New, 100_000, 1)),
    (Smoke, (New, 100_000, 2)),
    (Default, (New, 100_000, 4)),
    (Quick, (New, 100_000, 16)),
    (Default, (Duplicate, 100_000, 1)),
    (Default, (Duplicate, 100_000, 2)),
    (Full, (Duplicate, 100_000, 4)),
    (Default, (Duplicate, 100_000, 16)),
    (Full, (Same, 100_000, 1)),
    (Quick, (Same, 100_000, 2)),
    (Full, (Same, 100_000, 4)),
    (Default, (Same, 100_000, 16)),
    (Default, (Hot, 100_000, 2)),
    (Default, (Hot, 100_000, 16)),
    (Full, (Growth, 0, 1)),
    (Default, (Growth, 0, 2)),
    (Full, (Growth, 0, 4)),
    (Default, (Growth, 0, 16)),
    (Full, (New, 1_000_000, 1)),
    (Full, (New, 1_000_000, 2)),
    (Full, (New, 1_000_000, 4)),
    (Full, (New, 1_000_000, 16)),
];

fn threads(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let calls = if scale == Smoke { CALLS / 20 } else { CALLS };
    for (traffic, live, threads) in scale.of(CELLS) {
        let name = format!("threads/{}/live={}", traffic.name(), Count(live));
        let mut group = scale.group(criterion, &name);
        group.throughput(Throughput::Elements(1));
        let rush = LazyCell::new(|| Rush::new(traffic, live, threads, calls));
        for row in CONTENDERS {
            if row.facts.scans && traffic == Growth {
                eprintln!("{name}/{}: cannot finish, left out", row.name);
                continue;
            }
            let mut false_firsts = 0;
            let id = BenchmarkId::new(format!("threads={threads}"), row.name);
            group.bench_function(id, |bencher| {
                // A rush is played whole, however few calls are asked for, and scaled to them.
                bencher.iter_custom(|calls| {
                    let outcome = rush.play(row);
                    false_firsts += outcome.false_firsts;
                    Duration::from_secs_f64(outcome.ns_per_call() * calls as f64 / 1e9)
                });
            });
            if false_firsts > 0 {
                eprintln!(
                    "{name}/{}: {false_firsts} calls were wrongly told first",
                    row.name
                );
            }
        }
        group.finish();
    }
}

criterion_group!(benches, threads);
criterion_main!(benches);
