//! How many bytes an id costs, how often a call allocates, and what is left after a burst.
//!
//! Measured: bytes asked of the allocator, counted by an allocator that sits in front of the usual
//! one. Criterion shows *bytes per live id* where it usually shows time: `sized` had room for all ids
//! from the start, `grown` began empty. The tables below them are counted once. Not measured here:
//! what the process holds beyond that (the report reads it, each contender in a process of its own).

use criterion::{
    BenchmarkId, Criterion, criterion_group, criterion_main,
    measurement::{Measurement, ValueFormatter},
};
use hapax_benches::{
    contender::{CONTENDERS, Row, STATES},
    memory::{self, IDS_AFTER, Reading},
    scale::{
        Count,
        Scale::{self, Default, Full, Quick, Smoke},
    },
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{alloc::System, time::Duration};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Live ids, each with the scale from which on it runs. A table that doubles is emptiest just after
/// and fullest just before, so one number would say little.
const SIZES: &[(Scale, usize)] = &[
    (Smoke, 10_000),
    (Quick, 100_000),
    (Default, 140_000),
    (Default, 180_000),
    (Full, 1_000_000),
    (Full, 10_000_000),
];

fn bytes_per_id(criterion: &mut Criterion<BytesPerId>) {
    let scale = Scale::chosen();
    for sized in [true, false] {
        let name = if sized {
            "memory/sized"
        } else {
            "memory/grown"
        };
        let mut group = scale.group(criterion, name);
        for live in scale.of(SIZES) {
            let capacity = if sized { live } else { 0 };
            let states = if sized { &[] } else { STATES };
            for row in CONTENDERS.iter().chain(states) {
                let id = BenchmarkId::new(format!("live={}", Count(live)), row.name);
                group.bench_function(id, |bencher| {
                    // A few fills stand for all of criterion's calls: time is not the point here.
                    bencher.iter_custom(|calls| {
                        let fills = 200_000usize.div_ceil(live);
                        let fill = |_| memory::filled(row, live, capacity, &meter).bytes_per_id;
                        (0..fills).map(fill).sum::<f64>() / fills as f64 * calls as f64
                    });
                });
            }
        }
        group.finish();
    }
}

fn counted_once(_: &mut Criterion<BytesPerId>) {
    let scale = Scale::chosen();
    let (capacity, retention_ms) = match scale {
        Smoke => (4_000, 200),
        _ => (100_000, 1_000),
    };
    println!("allocations per call        new  duplicate");
    for row in CONTENDERS {
        let made = memory::allocations(row, capacity, &meter);
        println!(
            "{:20} {:10.3} {:10.3}",
            row.name, made.per_new, made.per_duplicate
        );
    }
    println!(
        "\nbytes of {capacity} ids, full, {IDS_AFTER} new ids after all expired, after maintenance by hand"
    );
    for row in CONTENDERS {
        left_after_burst(row, capacity, Duration::from_millis(retention_ms));
    }
}

fn left_after_burst(row: &Row, burst: usize, retention: Duration) {
    let left = memory::leftover(row, burst, retention, &meter);
    println!(
        "{:20} {:10} {:10} {:10}   first call {:?}",
        row.name,
        left.full_bytes,
        left.bytes_after_calls,
        left.bytes_after_maintenance,
        left.first_call
    );
}

fn meter() -> Reading {
    COUNTING.stats().into()
}

/// Lets criterion count bytes.
struct BytesPerId;

impl Measurement for BytesPerId {
    type Intermediate = ();
    type Value = f64;

    fn start(&self) {}

    /// Only custom iterations are used, so nothing is ever measured between two points.
    fn end(&self, (): ()) -> f64 {
        0.0
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &BytesPerId
    }
}

impl ValueFormatter for BytesPerId {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "B/id"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        _throughput: &criterion::Throughput,
        _values: &mut [f64],
    ) -> &'static str {
        "B/id"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "B/id"
    }
}

criterion_group!(
    name = benches;
    config = Criterion::default().with_measurement(BytesPerId);
    targets = bytes_per_id, counted_once
);
criterion_main!(benches);
