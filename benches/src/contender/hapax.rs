//! hapax itself, as its documentation shows it, and its variants.

use super::{Contender, Facts, Row, Setup};
use crate::ids::Id;
use ::hapax::{Builder, Clock, DedupSet, HashPair, InstantClock, Seeds, SystemClock};
use std::{
    collections::hash_map::RandomState,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Everything at its default.
pub(super) const DEFAULT: Row = Row {
    name: "hapax",
    package: "hapax",
    facts: Facts::HAPAX,
    build: |setup| Box::new(build(builder(setup))),
};

/// With the standard library's hasher, SipHash-1-3.
pub(super) const SIP: Row = Row {
    name: "hapax_sip",
    build: |setup| Box::new(build(builder(setup).hasher(RandomState::new()))),
    ..DEFAULT
};

/// With the precise clock, `std::time::Instant`.
pub(super) const INSTANT: Row = Row {
    name: "hapax_instant",
    build: |setup| Box::new(build(builder(setup).clock(InstantClock::default()))),
    ..DEFAULT
};

/// Sixty-four ids to a call.
pub(super) const BATCH: Row = Row {
    name: "hapax_batch",
    build: |setup| Box::new(Batches(build(builder(setup)))),
    ..DEFAULT
};

/// Grown from nothing just before the calls: the old tables still have to be looked at.
pub(super) const GROWN: Row = Row {
    name: "hapax_grown",
    build: |setup| {
        Box::new(build(builder(&Setup {
            capacity: 0,
            ..*setup
        })))
    },
    ..DEFAULT
};

/// Grown from nothing two retentions before the calls: every id came back since, the old tables are
/// gone.
pub(super) const SETTLED: Row = Row {
    name: "hapax_settled",
    build: |setup| Box::new(Settled::new(setup)),
    ..DEFAULT
};

impl<S: HashPair, C: Clock> Contender for DedupSet<S, C> {
    fn check_and_mark(&self, id: &str) -> bool {
        DedupSet::check_and_mark(self, id)
    }

    /// An empty set has one table per shard.
    fn shards(&self) -> Option<usize> {
        usize::try_from(self.stats().tables)
            .ok()
            .filter(|tables| *tables > 0)
    }
}

fn builder(setup: &Setup) -> Builder<Seeds, SystemClock> {
    let builder = DedupSet::builder().retention(setup.retention);
    if setup.capacity == 0 {
        return builder;
    }
    builder.capacity(setup.capacity)
}

fn build<S: HashPair, C: Clock>(builder: Builder<S, C>) -> DedupSet<S, C> {
    builder
        .build()
        .expect("retentions and capacities of the suites are within the limits")
}

struct Batches(DedupSet);

impl Contender for Batches {
    fn check_and_mark(&self, id: &str) -> bool {
        self.0.check_and_mark(id)
    }

    fn mark_all(&self, ids: &[Id]) -> usize {
        let mut answers = Vec::with_capacity(64);
        let mut firsts = 0;
        for batch in ids.chunks(64) {
            self.0.check_and_mark_many(batch, &mut answers);
            firsts += answers.iter().filter(|first| **first).count();
        }
        firsts
    }
}

struct Settled {
    set: DedupSet<Seeds, Shifted>,
    shift_ms: Arc<AtomicU64>,
}

impl Settled {
    fn new(setup: &Setup) -> Self {
        let shift_ms = Arc::new(AtomicU64::new(0));
        let clock = Shifted {
            clock: SystemClock::new(),
            shift_ms: Arc::clone(&shift_ms),
        };
        let start = builder(&Setup {
            capacity: 0,
            ..*setup
        });
        Self {
            set: build(start.clock(clock)),
            shift_ms,
        }
    }
}

impl Contender for Settled {
    fn check_and_mark(&self, id: &str) -> bool {
        self.set.check_and_mark(id)
    }

    fn prefill(&self, ids: &[Id]) {
        let retention_ms = u64::try_from(self.set.default_retention().as_millis())
            .expect("retentions of the suites fit");
        for round in 0..3 {
            if round > 0 {
                // Relaxed, pairs with the load in `Shifted::now`: this thread fills the set alone.
                self.shift_ms
                    .fetch_add(retention_ms + 1_000, Ordering::Relaxed);
            }
            for id in ids {
                self.set.check_and_mark(id.as_str());
            }
        }
    }
}

/// The default clock plus a distance that can be raised: time passes without waiting for it. The
/// addition is part of what the row `hapax_settled` pays.
#[derive(Debug)]
struct Shifted {
    clock: SystemClock,
    shift_ms: Arc<AtomicU64>,
}

impl Clock for Shifted {
    fn now(&self) -> Duration {
        // Relaxed, pairs with the addition in `Settled::prefill`: the calls that are timed start
        // after the set was filled, on the same thread or on threads started later.
        self.clock.now() + Duration::from_millis(self.shift_ms.load(Ordering::Relaxed))
    }

    fn resolution(&self) -> Duration {
        self.clock.resolution()
    }
}
