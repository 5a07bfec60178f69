//! Does a server killed in the middle of a storm cost an event or double one?
//!
//! Several nodes take deliveries from senders that repeat themselves and retry what
//! is not answered by 2xx. The oracle counts, outside the store, how often the effect
//! of each event happened and how often a completion was confirmed.

mod server;

use hapax_redis::RedisStore;
use hapax_store::{ClaimStore, Key, Outcome, StoreLease};
use server::{PATIENCE, Server, soon};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

const EVENTS: usize = 1500;
const NODES: usize = 2;
const SENDERS: usize = 8;
/// Each event is sent by so many senders at about the same time, and again later.
const COPIES: usize = 2;
const LEASE: Duration = Duration::from_secs(5);

/// What a node does with a delivery when the store cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// 503: the sender shall come again.
    Refuse,
    /// The handler runs without a claim.
    LetThrough,
}

/// What the oracle saw.
#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Seen {
    deliveries: u32,
    refused: u32,
    store_errors: u32,
    settle_errors: u32,
    lost: usize,
    processed_twice: usize,
    completed_twice: usize,
    took: Duration,
}

#[derive(Default)]
struct Event {
    effects: AtomicU32,
    completions: AtomicU32,
}

struct Storm {
    policy: Policy,
    events: Vec<Event>,
    answered: AtomicU32,
    deliveries: AtomicU32,
    refused: AtomicU32,
    store_errors: AtomicU32,
    settle_errors: AtomicU32,
}

impl Storm {
    /// Handles one delivery; true is 2xx.
    async fn deliver(&self, store: &RedisStore, n: usize) -> bool {
        let key = Key::new("storm", &n.to_be_bytes());
        count(&self.deliveries);
        match store.claim(&key, LEASE).await {
            Ok(Outcome::First(lease)) => {
                self.work(n).await;
                match lease.complete().await {
                    Ok(()) => count(&self.events[n].completions),
                    // The work was done, so the answer is the handler's.
                    Err(_) => count(&self.settle_errors),
                }
                true
            }
            Ok(Outcome::Duplicate { .. }) => true,
            Ok(Outcome::InFlight { .. }) => false,
            Err(_) => {
                count(&self.store_errors);
                if self.policy == Policy::LetThrough {
                    self.work(n).await;
                }
                self.policy == Policy::LetThrough
            }
        }
    }

    /// The effect happens at the end, after an await during which a server may die.
    async fn work(&self, n: usize) {
        tokio::time::sleep(Duration::from_millis(2)).await;
        count(&self.events[n].effects);
    }

    /// Sends a sender's share, each event until it is answered by 2xx.
    async fn send(&self, store: &RedisStore, sender: usize) {
        for n in (0..EVENTS).filter(|n| (n + sender).is_multiple_of(SENDERS / COPIES)) {
            while !self.deliver(store, n).await {
                count(&self.refused);
                // A sender's patience; nothing is waited for.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            count(&self.answered);
        }
        // Late repetitions of everything, as after a sender's own restart.
        for n in (0..EVENTS).filter(|n| n % SENDERS == sender) {
            while !self.deliver(store, n).await {
                count(&self.refused);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

fn count(counter: &AtomicU32) {
    // Relaxed: read after the tasks have been joined, or for progress only.
    counter.fetch_add(1, Ordering::Relaxed);
}

fn read(counter: &AtomicU32) -> u32 {
    // Relaxed: see `count`.
    counter.load(Ordering::Relaxed)
}

/// Kills and restarts the server at a third and at two thirds of the storm.
async fn storm(policy: Policy, options: &[&str]) -> Seen {
    let mut server = Server::start(options);
    let storm = Arc::new(Storm {
        policy,
        events: (0..EVENTS).map(|_| Event::default()).collect(),
        answered: AtomicU32::new(0),
        deliveries: AtomicU32::new(0),
        refused: AtomicU32::new(0),
        store_errors: AtomicU32::new(0),
        settle_errors: AtomicU32::new(0),
    });
    let started = Instant::now();
    let nodes: Vec<_> = (0..NODES).map(|_| server.store()).collect();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (storm, node) = (Arc::clone(&storm), nodes[sender % NODES].clone());
            tokio::spawn(async move { storm.send(&node, sender).await })
        })
        .collect();
    let all = (EVENTS * COPIES) as u32;
    for third in [all / 3, all * 2 / 3] {
        soon(async || (read(&storm.answered) >= third).then_some(())).await;
        server.kill();
        let errors = read(&storm.store_errors) + read(&storm.settle_errors);
        // The outage is noticed before it ends.
        soon(async || {
            let now = read(&storm.store_errors) + read(&storm.settle_errors);
            (now >= errors + 4).then_some(())
        })
        .await;
        server.restart();
    }
    for sender in senders {
        sender.await.expect("no sender panics");
    }
    let events = |test: fn(&Event) -> bool| storm.events.iter().filter(|event| test(event)).count();
    Seen {
        deliveries: read(&storm.deliveries),
        refused: read(&storm.refused),
        store_errors: read(&storm.store_errors),
        settle_errors: read(&storm.settle_errors),
        lost: events(|event| read(&event.effects) == 0),
        processed_twice: events(|event| read(&event.effects) > 1),
        completed_twice: events(|event| read(&event.completions) > 1),
        took: started.elapsed(),
    }
}

const ALWAYS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];
const EVERY_SECOND: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn refusing_and_writing_always_loses_and_doubles_nothing() {
    let seen = storm(Policy::Refuse, &ALWAYS).await;
    println!("seen: refuse, appendfsync always: {seen:?}");
    assert_eq!(
        (seen.lost, seen.completed_twice, seen.processed_twice),
        (0, 0, 0)
    );
    assert!(seen.store_errors > 0, "the storm felt the outage");
    assert!(seen.took < PATIENCE * 4);
}

/// A killed process leaves what it wrote to the kernel, so this loses nothing either;
/// a machine that loses power would lose the last second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn refusing_and_writing_each_second_loses_no_event() {
    let seen = storm(Policy::Refuse, &EVERY_SECOND).await;
    println!("seen: refuse, appendfsync everysec: {seen:?}");
    assert_eq!(seen.lost, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn refusing_without_persistence_loses_no_event_and_doubles_some() {
    let seen = storm(Policy::Refuse, &[]).await;
    println!("seen: refuse, no persistence: {seen:?}");
    assert_eq!(seen.lost, 0);
    assert!(
        seen.processed_twice > 0,
        "the server forgot, so late copies ran"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn letting_through_loses_no_event_and_doubles_some() {
    let seen = storm(Policy::LetThrough, &ALWAYS).await;
    println!("seen: let through, appendfsync always: {seen:?}");
    assert_eq!(seen.lost, 0);
    assert!(seen.processed_twice > 0, "copies ran without a claim");
}
