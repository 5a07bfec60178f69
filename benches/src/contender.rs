//! What a contender is: one trait, one row per variant, one file per family.
//!
//! Each row is built as the crate's own documentation advises. Where a contender takes a hasher it
//! gets the same one, where it takes a capacity it gets the same one, and where it needs a clock
//! from outside it gets the one that hapax reads.

mod cached;
mod dashmap;
mod deadline;
mod floor;
mod hapax;
mod locked;
mod mini_moka;
mod moka;
mod mutex_map;
mod papaya;
mod quick_cache;
mod scc;

use crate::{ids::Id, rush::Times};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

pub use mutex_map::WebhookDedup;

/// A set that can say whether an id is seen for the first time.
///
/// The loops over a whole stream are methods too, so that a suite pays for one virtual call a
/// stream and the call inside the loop is compiled for the contender, as it is in a user's program.
pub trait Contender: Send + Sync {
    /// Marks `id` and says whether this was the first time within the retention.
    fn check_and_mark(&self, id: &str) -> bool;

    /// Puts ids in before anything is timed. A contender whose call is too slow for that goes
    /// around its own call; the entries must be the same.
    fn prefill(&self, ids: &[Id]) {
        for id in ids {
            self.check_and_mark(id);
        }
    }

    /// Marks one id after the other and counts the *firsts*. No call waits for the answer of the one
    /// before, so a processor may overlap their cache misses.
    fn mark_all(&self, ids: &[Id]) -> usize {
        ids.iter().filter(|id| self.check_and_mark(id)).count()
    }

    /// Marks the same ids, but where the next one lies is looked up with the answer of the call
    /// before. A processor that guesses the answer right may still run ahead, as it does in any
    /// program that branches on it.
    fn mark_chained(&self, ids: &[Id]) -> usize {
        let steps = black_box([1, 1]);
        let (mut at, mut firsts) = (0, 0);
        while let Some(id) = ids.get(at) {
            let first = black_box(self.check_and_mark(id));
            at += steps[usize::from(first)];
            firsts += usize::from(first);
        }
        firsts
    }

    /// Marks one id after the other, takes the time of every call and counts the *firsts*. A time
    /// includes one reading of the clock.
    fn mark_timed(&self, ids: &[Id], times: &mut Times) -> usize {
        let mut firsts = 0;
        for id in ids {
            let start = Instant::now();
            firsts += usize::from(black_box(self.check_and_mark(id)));
            let taken = start.elapsed();
            times.saturating_record(taken.as_nanos() as u64);
        }
        firsts
    }

    /// Runs what the contender's documentation offers for removing old entries by hand.
    fn maintain(&self) {}

    /// The number of independent parts, where an empty set tells.
    fn shards(&self) -> Option<usize> {
        None
    }
}

/// How a contender is built for one cell.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How long an id is remembered.
    pub retention: Duration,
    /// Ids to make room for at the start; zero leaves the contender at its own default.
    pub capacity: usize,
}

/// One row of every table: a named way to build a contender.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name in ids of benchmarks, tables and charts.
    pub name: &'static str,
    /// The package whose version the report shows.
    pub package: &'static str,
    /// What its documentation says about it.
    pub facts: Facts,
    /// Builds an empty set.
    pub build: fn(&Setup) -> Box<dyn Contender>,
}

/// What is known about a contender before it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whom it belongs to in the goals.
    pub family: Family,
    /// Whether it has an insert that tells exactly one of two racers that it was first.
    pub atomic: bool,
    /// Whether a caller can wait for a lock.
    pub locks: bool,
    /// Whether every call looks at every entry.
    pub scans: bool,
}

/// The kinds of contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// No set at all: the least that a call could cost.
    Floor,
    /// The mutex map.
    Baseline,
    /// Written by hand from a lock and a table.
    HandWritten,
    /// A concurrent map or cache without expiry.
    Map,
    /// A cache with expiry.
    TtlCache,
    /// hapax.
    Hapax,
}

impl Facts {
    const LOCKS: Self = Self {
        family: Family::HandWritten,
        atomic: true,
        locks: true,
        scans: false,
    };
    const MAP: Self = Self {
        family: Family::Map,
        ..Self::LOCKS
    };
    const TTL_CACHE: Self = Self {
        family: Family::TtlCache,
        ..Self::LOCKS
    };
    const LOCK_FREE_MAP: Self = Self {
        locks: false,
        ..Self::MAP
    };
    const HAPAX: Self = Self {
        family: Family::Hapax,
        ..Self::LOCK_FREE_MAP
    };
}

impl Row {
    /// Whether this is another's set, not hapax and not the floor.
    pub fn is_rival(&self) -> bool {
        !matches!(self.facts.family, Family::Floor | Family::Hapax)
    }

    /// Whether this is a published crate that goals speak of as such.
    pub fn is_crate(&self) -> bool {
        matches!(self.facts.family, Family::Map | Family::TtlCache)
    }
}

/// Not a contender: what a call must cost at least.
pub const FLOOR: &Row = &floor::ROW;

/// The mutex map.
pub const BASELINE: &Row = &mutex_map::ROW;

/// hapax at its defaults, sized beforehand.
pub const HAPAX: &Row = &hapax::DEFAULT;

/// Every contender once: the baseline first, hapax last.
pub const CONTENDERS: &[&Row] = &[
    &mutex_map::ROW,
    &locked::AMORTISED,
    &locked::SHARDED,
    &dashmap::ROW,
    &scc::ROW,
    &papaya::ROW,
    &quick_cache::ROW,
    &moka::ROW,
    &mini_moka::ROW,
    &cached::ROW,
    &hapax::DEFAULT,
];

/// hapax in other clothes.
pub const VARIANTS: &[&Row] = &[&hapax::SIP, &hapax::INSTANT, &hapax::BATCH];

/// hapax that was not sized beforehand.
pub const STATES: &[&Row] = &[&hapax::GROWN, &hapax::SETTLED];

/// Finds a row by its name.
pub fn by_name(name: &str) -> Option<&'static Row> {
    [CONTENDERS, VARIANTS, STATES, &[FLOOR]]
        .into_iter()
        .flatten()
        .copied()
        .find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids;

    /// Calls the test on every row that is a set.
    fn each(test: impl Fn(&Row)) {
        for row in [CONTENDERS, VARIANTS, STATES].into_iter().flatten() {
            test(row);
        }
    }

    fn hour(capacity: usize) -> Setup {
        Setup {
            retention: Duration::from_secs(3_600),
            capacity,
        }
    }

    #[test]
    fn every_contender_remembers_what_it_was_filled_with() {
        let ids = ids::range(0, 3_000);
        each(|row| {
            for capacity in [0, 4_000] {
                let set = (row.build)(&hour(capacity));
                set.prefill(&ids[..2_000]);
                assert_eq!(set.mark_all(&ids[..2_000]), 0, "{}", row.name);
                assert_eq!(set.mark_all(&ids[1_000..]), 1_000, "{}", row.name);
            }
        });
    }

    #[test]
    fn chained_calls_visit_every_id() {
        let ids = ids::range(0, 500);
        each(|row| {
            let set = (row.build)(&hour(500));
            assert_eq!(set.mark_chained(&ids), 500, "{}", row.name);
            assert_eq!(set.mark_chained(&ids), 0, "{}", row.name);
        });
    }

    #[test]
    fn rows_are_found_by_their_name() {
        each(|row| assert_eq!(by_name(row.name).map(|found| found.name), Some(row.name)));
        assert!(by_name("nobody").is_none());
    }
}
