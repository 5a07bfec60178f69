//! The whole Axum handler: with the mutex map, with hapax as a layer, and with nothing.
//!
//! Measured in `http`: requests through sockets on loopback, 16 kept connections, each sending when
//! its last answer came. Below it is printed how long requests take at a fixed rate, from when each
//! was due. Measured in `http/in_process`: the processor time of one first delivery without a network,
//! with the id in a header, with a signature, and the bare HMAC of the same body beside it.
//! Not measured: a network, TLS, a handler that does something. Client and server share the cores.
//! Checked: the status of every answer.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hapax_benches::{
    in_process::{self, InProcess},
    load::Load,
    scale::{
        Count,
        Scale::{self, Default, Full, Quick, Smoke},
    },
    webhook::{App, EMPTY, LAYER, MUTEX_MAP, SIGNED},
};
use std::time::Duration;

/// Live ids, each with the scale from which on it runs.
const SIZES: &[(Scale, usize)] = &[
    (Smoke, 1_000),
    (Default, 10_000),
    (Quick, 100_000),
    (Default, 1_000_000),
];

/// Requests per second at the fixed rate.
const RATE: u32 = 2_000;

fn loopback(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let lasting = Duration::from_millis(match scale {
        Smoke => 100,
        Quick => 1_000,
        Default => 3_000,
        Full => 15_000,
    });
    for live in scale.of(SIZES) {
        let mut table = Vec::new();
        let mut group = scale.group(criterion, "http");
        group.throughput(Throughput::Elements(1));
        for app in [MUTEX_MAP, LAYER, EMPTY] {
            let mut load = None;
            let id = BenchmarkId::new(format!("live={}", Count(live)), app.name);
            group.bench_function(id, |bencher| {
                let load = load.get_or_insert_with(|| Load::start(app, live));
                // A request goes out on every connection at least, and the time is scaled.
                bencher.iter_custom(|requests| {
                    let (sent, taken) = load.rush(requests);
                    taken.mul_f64(requests as f64 / sent as f64)
                });
            });
            if let Some(mut load) = load {
                table.push(line(app, &mut load, lasting));
            }
        }
        group.finish();
        if !table.is_empty() {
            println!("{RATE} requests/s      answered/s       p50       p99     p99.9 (µs)");
            println!("{}\n", table.join("\n"));
        }
    }
}

fn line(app: App, load: &mut Load, lasting: Duration) -> String {
    let paced = load.paced(RATE, lasting);
    let [p50, p99, p999] =
        [0.5, 0.99, 0.999].map(|quantile| paced.times.value_at_quantile(quantile) as f64 / 1e3);
    let (name, answered) = (app.name, paced.per_second);
    format!("{name:20} {answered:10.0} {p50:10.1} {p99:9.1} {p999:9.1}")
}

fn in_process(criterion: &mut Criterion) {
    let scale = Scale::chosen();
    let mut group = scale.group(criterion, "http/in_process");
    for app in [EMPTY, LAYER, SIGNED] {
        let mut called = None;
        group.bench_function(app.name, |bencher| {
            let called = called.get_or_insert_with(|| InProcess::start(app, 100_000));
            bencher.iter_custom(|requests| called.play(requests));
        });
    }
    group.bench_function("bare_hmac", |bencher| {
        bencher.iter_custom(in_process::bare_hmac);
    });
    group.finish();
}

criterion_group!(benches, loopback, in_process);
criterion_main!(benches);
