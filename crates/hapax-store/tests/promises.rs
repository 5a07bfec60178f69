//! Do the memory store, the store chosen at run time and a front pass the contract?

use hapax::{DedupSet, ManualClock, Seeds, WhenFull};
use hapax_store::{
    AnyStore, Fronted, Key, MemoryStore,
    contract::{Subject, Times},
};
use std::time::Duration;

type Memory = MemoryStore<Seeds, ManualClock>;
type Front = Fronted<DedupSet<Seeds, ManualClock>, Memory>;

fn set(clock: &ManualClock) -> DedupSet<Seeds, ManualClock> {
    DedupSet::builder()
        .retention(Times::default().retention)
        .clock(clock.clone())
        .build()
        .expect("a good set")
}

/// A store whose memory is full.
fn full() -> Memory {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(Times::default().retention)
        .max_entries(1)
        .when_full(WhenFull::Refuse)
        .clock(clock)
        .build()
        .expect("a good set");
    let mut n = 0u32;
    // A set keeps at least its limit; it refuses some time after.
    while set
        .try_check_and_mark(&Key::new("filler", &n.to_be_bytes()))
        .is_ok()
    {
        n += 1;
    }
    MemoryStore::from(set)
}

/// How a test wraps the shared memory, and its clock.
struct Wrapped<W> {
    clock: ManualClock,
    memory: Memory,
    wrap: W,
}

impl<W> Wrapped<W> {
    fn start(wrap: W) -> Self {
        let clock = ManualClock::new();
        let memory = MemoryStore::from(set(&clock));
        Self {
            clock,
            memory,
            wrap,
        }
    }
}

impl<S, W> Subject for Wrapped<W>
where
    S: hapax_store::ClaimStore,
    W: Fn(&ManualClock, Memory) -> S + Send + Sync,
{
    type Store = S;

    async fn node(&self) -> S {
        (self.wrap)(&self.clock, self.memory.clone())
    }

    async fn pass(&self, by: Duration) {
        self.clock.advance(by);
    }

    async fn failing(&self) -> Option<S> {
        Some((self.wrap)(&self.clock, full()))
    }
}

mod memory_store {
    hapax_store::contract!(super::Wrapped::start(|_: &_, memory| memory));
}

mod any_store {
    use super::*;
    hapax_store::contract!(Wrapped::start(|_: &_, memory| AnyStore::new(memory)));
}

mod fronted_store {
    use super::*;
    // Every node has a front of its own, as every process would.
    fn front(clock: &ManualClock, memory: Memory) -> Front {
        Fronted::new(set(clock), memory)
    }
    hapax_store::contract!(Wrapped::start(front));
}
