//! How fast are claims in memory, on a server, and on a server behind a local front?
//!
//! ```text
//! cargo run --release -p hapax-redis --example throughput -- redis://127.0.0.1:6379
//! ```
//!
//! Two loads. *New*: claim and complete ids nobody has seen, which always costs a
//! server two round trips. *Retried*: each id is claimed and completed, and then
//! delivered three more times, to one node or to two in turn. Every answer is checked.
//! Not measured: a network (the server is on this machine), nodes in processes of
//! their own, and HTTP around it.

use hapax::DedupSet;
use hapax_redis::RedisStore;
use hapax_store::{ClaimStore, Fronted, Key, MemoryStore, Outcome, StoreLease};
use hdrhistogram::Histogram;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const RETENTION: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(30);
const REPEATS: usize = 3;
const TASKS: [usize; 2] = [1, 64];

struct Row {
    per_second: f64,
    latency_ns: Histogram<u64>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .ok_or("the url of a server, please")?;
    println!("| load | tasks | store | events/s | of memory | p50 | p99 | answered locally |");
    println!("|---|---|---|---|---|---|---|---|");
    for (load, repeats) in [("new", 0), ("retried", REPEATS)] {
        for tasks in TASKS {
            let prefix = format!("throughput-{}-{load}-{tasks}", std::process::id());
            let remote = |part: &str| {
                let prefix = format!("{prefix}-{part}");
                // A load generator would rather wait than fail.
                let builder = RedisStore::builder(&url).timeout(Duration::from_secs(5));
                builder.retention(RETENTION).prefix(prefix).build()
            };
            let memory = vec![MemoryStore::new(RETENTION)];
            let memory = run(memory, tasks, 200_000, repeats).await;
            print(load, tasks, "memory", &memory, &memory, None);
            let redis = run(vec![remote("plain")?], tasks, 20_000, repeats).await;
            print(load, tasks, "Redis", &redis, &memory, None);
            for (nodes, store) in [
                (1, "Redis behind a front"),
                (2, "Redis, two nodes with fronts"),
            ] {
                let mut fronts = Vec::new();
                for _ in 0..nodes {
                    let remote = remote(&format!("front-{nodes}"))?;
                    fronts.push(Fronted::new(DedupSet::new(RETENTION), remote));
                }
                let row = run(fronts.clone(), tasks, 20_000, repeats).await;
                let counts = fronts.iter().map(Fronted::counts);
                let (here, there) = counts.fold((0, 0), |(here, there), counts| {
                    (here + counts.answered_here, there + counts.answered_there)
                });
                let share = (repeats > 0).then(|| here as f64 / (here + there) as f64);
                print(load, tasks, store, &row, &memory, share);
            }
        }
    }
    Ok(())
}

/// Runs `events` events over `tasks` tasks and the nodes, and checks every answer.
async fn run<S: ClaimStore>(nodes: Vec<S>, tasks: usize, events: usize, repeats: usize) -> Row {
    let nodes = Arc::new(nodes);
    for node in &*nodes {
        // The first request connects.
        drop(node.claim(&Key::new("warm", b"up"), LEASE).await);
    }
    let started = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let nodes = Arc::clone(&nodes);
            tokio::spawn(async move {
                let mut latency_ns = histogram();
                for n in (task..events).step_by(tasks) {
                    let begun = Instant::now();
                    handle(&nodes, n, repeats).await;
                    latency_ns.saturating_record(begun.elapsed().as_nanos() as u64);
                }
                latency_ns
            })
        })
        .collect();
    let mut latency_ns = histogram();
    for task in running {
        latency_ns += task.await.expect("every answer is right");
    }
    let per_second = events as f64 / started.elapsed().as_secs_f64();
    Row {
        per_second,
        latency_ns,
    }
}

async fn handle<S: ClaimStore>(nodes: &[S], n: usize, repeats: usize) {
    let key = Key::new("throughput", &n.to_be_bytes());
    match nodes[n % nodes.len()].claim(&key, LEASE).await {
        Ok(Outcome::First(lease)) => lease.complete().await.expect("the lease is ours"),
        other => panic!(
            "should be first, is {:?}",
            other.map(|outcome| outcome.map(|_| ()))
        ),
    }
    for repeat in 1..=repeats {
        let node = &nodes[(n + repeat) % nodes.len()];
        let again = node.claim(&key, LEASE).await.expect("the store answers");
        assert!(again.is_duplicate());
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("good bounds")
}

fn print(load: &str, tasks: usize, store: &str, row: &Row, memory: &Row, share: Option<f64>) {
    let at = |quantile| Duration::from_nanos(row.latency_ns.value_at_quantile(quantile));
    let share = share.map_or("".to_owned(), |share| format!("{:.0} %", share * 100.0));
    println!(
        "| {load} | {tasks} | {store} | {:.0} | 1/{:.0} | {:.1?} | {:.1?} | {share} |",
        row.per_second,
        memory.per_second / row.per_second,
        at(0.5),
        at(0.99),
    );
}
