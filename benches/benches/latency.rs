//! How long single calls take when there are more threads than cores.
//!
//! Measured: the time of every call, with two readings of the clock around it, on a filled set with
//! room; one call in twenty is a duplicate. Criterion compares the 99.9th percentile from run to run;
//! all percentiles of all samples together are printed below each group. The floor stands beside:
//! it has nothing to wait for, so what it shows in the tail is the machine taking the core away.
//! Not measured: waiting before a call starts. The threads call as fast as they can, so a stall
//! shows once per thread and not once per call that would have arrived meanwhile.
//! Checked: the number of *firsts* of every rush.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hapax_benches::{
    contender::{CONTENDERS, FLOOR},
    rush::{self, Rush, Times, Traffic},
    scale::{
        Count,
        Scale::{self, Default, Full, Smoke},
    },
};
use std::{cell::LazyCell, time::Duration};

/// Live ids at the start and threads, each with the scale from which on it runs.
const CELLS: &[(Scale, (usize, usize))] = &[
    (Smoke, (100_000, 16)),
    (Default, (100_000, 2)),
    (Full, (100_000, 4)),
    (Full, (1_000_000, 16)),
];

fn latency(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let calls = match scale {
        Smoke => 20_000,
        Scale::Quick => 400_000,
        Default | Full => 1_600_000,
    };
    for (live, threads) in scale.of(CELLS) {
        let name = format!("latency/p99.9/mixed/live={}", Count(live));
        let mut group = scale.group(criterion, &name);
        let rush = LazyCell::new(|| Rush::new(Traffic::Mixed, live, threads, calls));
        let mut table = Vec::new();
        for row in CONTENDERS.iter().copied().chain([FLOOR]) {
            let mut all = rush::times();
            let id = BenchmarkId::new(format!("threads={threads}"), row.name);
            group.bench_function(id, |bencher| {
                // A rush is played whole. Its percentile stands for one call of criterion's.
                bencher.iter_custom(|calls| {
                    let (_, times) = rush.play_timed(row);
                    let percentile = Duration::from_nanos(times.value_at_quantile(0.999));
                    all += times;
                    percentile.mul_f64(calls as f64)
                });
            });
            if !all.is_empty() {
                table.push(line(row.name, &all));
            }
        }
        group.finish();
        print(&table);
    }
}

fn print(table: &[String]) {
    if !table.is_empty() {
        println!(
            "nanoseconds         p50       p99     p99.9    p99.99           max         calls"
        );
        println!("{}\n", table.join("\n"));
    }
}

fn line(name: &str, times: &Times) -> String {
    let [p50, p99, p999, p9999] =
        [0.5, 0.99, 0.999, 0.9999].map(|quantile| times.value_at_quantile(quantile));
    format!(
        "{name:15} {p50:7} {p99:9} {p999:9} {p9999:9} {:13} {:13}",
        times.max(),
        times.len()
    )
}

criterion_group!(benches, latency);
criterion_main!(benches);
