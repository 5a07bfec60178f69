//! What one call costs on one thread, by workload and number of live ids.
//!
//! Measured: the calls alone, on a set that was filled and, where it can be, sized beforehand. The
//! floor stands beside them. Groups named `.../dependent` find the next id with the last answer.
//! Not measured: building, filling and dropping the set, and reading ids from cold memory.
//! Checked: the number of *firsts* of every play.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hapax_benches::{
    contender::{CONTENDERS, FLOOR, Row, STATES, VARIANTS},
    scale::{
        Count,
        Scale::{self, Default, Full, Quick, Smoke},
    },
    script::{
        Access::{self, Dependent, Independent},
        Player, Script,
        Workload::{self, Duplicate, Growth, Mixed, New, Zipf},
    },
};
use std::cell::LazyCell;

/// Each cell with the scale from which on it runs.
const CELLS: &[(Scale, (Workload, Access, usize))] = &[
    (Smoke, (New, Independent, 1_000)),
    (Quick, (New, Independent, 100_000)),
    (Default, (New, Independent, 1_000_000)),
    (Full, (New, Independent, 10_000_000)),
    (Full, (New, Dependent, 1_000)),
    (Full, (New, Dependent, 100_000)),
    (Default, (New, Dependent, 1_000_000)),
    (Full, (New, Dependent, 10_000_000)),
    (Smoke, (Duplicate, Independent, 1_000)),
    (Quick, (Duplicate, Independent, 100_000)),
    (Default, (Duplicate, Independent, 1_000_000)),
    (Full, (Duplicate, Independent, 10_000_000)),
    (Full, (Duplicate, Dependent, 1_000)),
    (Full, (Duplicate, Dependent, 100_000)),
    (Default, (Duplicate, Dependent, 1_000_000)),
    (Full, (Duplicate, Dependent, 10_000_000)),
    (Full, (Mixed, Independent, 1_000)),
    (Default, (Mixed, Independent, 100_000)),
    (Full, (Mixed, Independent, 1_000_000)),
    (Full, (Zipf, Independent, 1_000)),
    (Default, (Zipf, Independent, 100_000)),
    (Full, (Zipf, Independent, 1_000_000)),
    (Smoke, (Growth, Independent, 1_000)),
    (Default, (Growth, Independent, 100_000)),
    (Full, (Growth, Independent, 1_000_000)),
];

fn single_thread(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    for (workload, access, live) in scale.of(CELLS) {
        let mut name = format!("single_thread/{}", workload.name());
        if access == Dependent {
            name.push_str("/dependent");
        }
        let mut group = scale.group(criterion, &name);
        group.throughput(Throughput::Elements(1));
        let size = format!("live={}", Count(live));
        let script = LazyCell::new(|| Script::new(workload, live));
        for row in rows(workload, access) {
            // Growing to a size takes the mutex map the sum of all sizes below.
            if row.facts.scans && workload == Growth && live > 1_000 {
                eprintln!("{name}/{size}/{}: cannot finish, left out", row.name);
                continue;
            }
            let mut player = LazyCell::new(|| Player::new(&script, row, access));
            group.bench_function(BenchmarkId::new(&size, row.name), |bencher| {
                player.ready();
                bencher.iter_custom(|calls| player.play(calls));
            });
        }
        group.finish();
    }
}

/// The rows to which a cell applies: nothing to batch where each call waits for the last, nothing
/// sized beforehand where a set grows.
fn rows(workload: Workload, access: Access) -> Vec<&'static Row> {
    let mut rows = CONTENDERS.to_vec();
    if access == Independent {
        rows.extend(VARIANTS);
    }
    if workload != Growth {
        rows.extend(STATES);
        rows.push(FLOOR);
    }
    rows
}

criterion_group!(benches, single_thread);
criterion_main!(benches);
