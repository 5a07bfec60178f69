//! The least a call can cost: hash the id twice, read the clock, and do three locked operations on
//! one random cache line of an array as large as the set's memory would be.
//!
//! It remembers nothing and its answer means nothing. It is measured in the same loops as the sets,
//! so the difference to it is what the work of a set costs. The answer is computed from what was in
//! the memory, without a branch, so with chained calls each access really waits for the one before.

use super::{Contender, Facts, Family, Row, Setup, deadline::Deadlines};
use ahash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the array for one live id: what a pre-sized hapax may use at most.
const BYTES_PER_ID: usize = 40;

pub(super) const ROW: Row = Row {
    name: "floor",
    package: "ahash",
    facts: Facts {
        family: Family::Floor,
        ..Facts::HAPAX
    },
    build: |setup| Box::new(Floor::new(setup)),
};

struct Floor {
    lines: Box<[Line]>,
    seeds: [RandomState; 2],
    deadlines: Deadlines,
}

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

impl Floor {
    fn new(setup: &Setup) -> Self {
        let lines = (setup.capacity * BYTES_PER_ID).div_ceil(size_of::<Line>());
        Self {
            lines: (0..lines.max(64)).map(|_| Line::default()).collect(),
            seeds: [RandomState::new(), RandomState::new()],
            deadlines: Deadlines::new(setup),
        }
    }
}

impl Contender for Floor {
    fn check_and_mark(&self, id: &str) -> bool {
        let (place, print) = (self.seeds[0].hash_one(id), self.seeds[1].hash_one(id));
        let now = self.deadlines.now();
        // The upper half of the product spreads a hash evenly over any number of lines.
        let at = (u128::from(place) * self.lines.len() as u128) >> 64;
        let words = &self.lines[at as usize].0;
        // Relaxed, no partner: nothing is published, only the locked instructions are of interest.
        let old = words[0].swap(now, Ordering::Relaxed);
        // Relaxed, no partner: as above.
        let older = words[1].swap(print, Ordering::Relaxed);
        // Relaxed, no partner: as above.
        let count = words[2].fetch_add(1, Ordering::Relaxed);
        (old ^ older ^ count) & 1 == 0
    }
}
