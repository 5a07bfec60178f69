//! What a call costs as the live set grows, and what it costs when ids expire all the time.
//!
//! Measured in `expiry`: a call that brings a new id while nothing expires. A set that looks for old
//! ids on every call gets slower with every live one. Measured in `expiry/steady`: a call that brings
//! a new id where just as many expire, at a fixed rate in real time; removal that a contender does on
//! its callers' threads is in it. Not measured: work on threads of a contender's own, and the pause
//! after a whole set has expired (see `memory`). Checked: every answer.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hapax_benches::{
    contender::{BASELINE, CONTENDERS, FLOOR, HAPAX},
    scale::{
        Count,
        Scale::{self, Default, Full, Quick, Smoke},
    },
    script::{Access, Player, Script, Workload},
    steady::Steady,
};
use std::cell::LazyCell;

/// Live ids, each with the scale from which on it runs.
const SIZES: &[(Scale, usize)] = &[
    (Smoke, 1_000),
    (Default, 10_000),
    (Quick, 100_000),
    (Default, 1_000_000),
    (Full, 10_000_000),
];

/// Live ids of the steady state. Each cell waits for two retentions, 0.8 s each or 4 s per million.
const STEADY: &[(Scale, usize)] = &[
    (Smoke, 1_000),
    (Default, 10_000),
    (Default, 100_000),
    (Full, 1_000_000),
];

fn expiry(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let mut group = scale.group(criterion, "expiry");
    group.throughput(Throughput::Elements(1));
    for live in scale.of(SIZES) {
        let size = format!("live={}", Count(live));
        let script = LazyCell::new(|| Script::new(Workload::New, live));
        for row in CONTENDERS.iter().copied().chain([FLOOR]) {
            let mut player = LazyCell::new(|| Player::new(&script, row, Access::Independent));
            group.bench_function(BenchmarkId::new(&size, row.name), |bencher| {
                player.ready();
                bencher.iter_custom(|calls| player.play(calls));
            });
        }
    }
    group.finish();
}

fn steady(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let rows = match scale {
        Smoke | Quick => &[BASELINE, HAPAX],
        Default | Full => CONTENDERS,
    };
    let mut group = scale.group(criterion, "expiry/steady");
    group.throughput(Throughput::Elements(1));
    for live in scale.of(STEADY) {
        for row in rows {
            let mut steady = None;
            let id = BenchmarkId::new(format!("live={}", Count(live)), row.name);
            group.bench_function(id, |bencher| {
                let steady = steady.get_or_insert_with(|| Steady::start(row, live));
                bencher.iter_custom(|calls| {
                    let played = match steady {
                        Ok(steady) => steady.play(calls),
                        Err(slow) => Err(*slow),
                    };
                    played.unwrap_or_else(|slow| slow.per_call.mul_f64(calls as f64))
                });
            });
            if let Some(Err(slow)) = steady {
                let rate = slow.needed_per_second;
                eprintln!("    cannot hold {rate} calls/s: shown is a call until it was given up");
            }
        }
    }
    group.finish();
}

criterion_group!(benches, expiry, steady);
criterion_main!(benches);
