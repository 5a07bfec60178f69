//! The two designs that people write by hand when the mutex map gets slow.

use super::{
    Contender, Facts, Row, Setup,
    deadline::{DeadlineMs, Deadlines},
};
use ahash::RandomState;
use crossbeam_utils::CachePadded;
use hashbrown::{HashTable, hash_table::Entry};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    thread::available_parallelism,
};

/// One lock, and a full sweep only once in a while.
pub(super) const AMORTISED: Row = Row {
    name: "mutex_amortised",
    package: "parking_lot",
    facts: Facts::LOCKS,
    build: |setup| Box::new(Amortised::new(setup)),
};

/// Many locks, fingerprints instead of ids, and a queue so that nobody ever sweeps.
pub(super) const SHARDED: Row = Row {
    name: "sharded_mutex",
    package: "parking_lot",
    facts: Facts::LOCKS,
    build: |setup| Box::new(Sharded::new(setup)),
};

struct Amortised {
    seen: Mutex<Seen>,
    deadlines: Deadlines,
    sweep_every_ms: u64,
}

struct Seen {
    until: HashMap<String, DeadlineMs, RandomState>,
    next_sweep: u64,
}

impl Amortised {
    /// Sweeps four times per retention: an old id stays at most a quarter longer in memory.
    fn new(setup: &Setup) -> Self {
        let sweep_every_ms = u64::try_from(setup.retention.as_millis() / 4).unwrap_or(u64::MAX);
        Self {
            seen: Mutex::new(Seen {
                until: HashMap::with_capacity_and_hasher(setup.capacity, RandomState::new()),
                next_sweep: 0,
            }),
            deadlines: Deadlines::new(setup),
            sweep_every_ms,
        }
    }
}

impl Contender for Amortised {
    fn check_and_mark(&self, id: &str) -> bool {
        let now = self.deadlines.now();
        let mut seen = self.seen.lock();
        if now >= seen.next_sweep {
            seen.until.retain(|_, until| *until > now);
            let spare = seen.until.capacity() / 4;
            if seen.until.len() < spare && seen.next_sweep > 0 {
                seen.until.shrink_to(spare);
            }
            seen.next_sweep = now + self.sweep_every_ms;
        }
        match seen.until.get_mut(id) {
            Some(until) if *until > now => false,
            Some(until) => {
                *until = self.deadlines.after(now);
                true
            }
            None => {
                seen.until.insert(id.to_owned(), self.deadlines.after(now));
                true
            }
        }
    }
}

struct Sharded {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    seeds: [RandomState; 2],
    deadlines: Deadlines,
}

#[derive(Default)]
struct Shard {
    seen: HashTable<Mark>,
    /// In the order of marking, which with one retention is the order of expiry.
    oldest_first: VecDeque<Mark>,
}

#[derive(Clone, Copy)]
struct Mark {
    fingerprint: [u64; 2],
    until: DeadlineMs,
}

impl Sharded {
    /// Four shards per core, as dashmap and quick_cache choose, and 64 at least: with more threads
    /// than cores it is the lock of a *descheduled* thread that hurts, and more locks make it rarer.
    fn new(setup: &Setup) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        let count = (4 * cores).next_power_of_two().max(64);
        let capacity = setup.capacity / count;
        let shards = (0..count)
            .map(|_| {
                CachePadded::new(Mutex::new(Shard {
                    seen: HashTable::with_capacity(capacity),
                    oldest_first: VecDeque::with_capacity(capacity),
                }))
            })
            .collect();
        Self {
            shards,
            seeds: [RandomState::new(), RandomState::new()],
            deadlines: Deadlines::new(setup),
        }
    }
}

impl Contender for Sharded {
    fn check_and_mark(&self, id: &str) -> bool {
        let fingerprint = [self.seeds[0].hash_one(id), self.seeds[1].hash_one(id)];
        // The table uses the low bits of the first hash, so the shard comes from its high ones.
        let shard = (fingerprint[0] >> 40) as usize & (self.shards.len() - 1);
        let now = self.deadlines.now();
        let until = self.deadlines.after(now);
        self.shards[shard]
            .lock()
            .mark(Mark { fingerprint, until }, now)
    }
}

impl Shard {
    fn mark(&mut self, mark: Mark, now: u64) -> bool {
        self.drop_some_old(now);
        let same = |other: &Mark| other.fingerprint == mark.fingerprint;
        match self
            .seen
            .entry(mark.fingerprint[0], same, |other| other.fingerprint[0])
        {
            Entry::Occupied(old) if old.get().until > now => return false,
            Entry::Occupied(mut old) => *old.get_mut() = mark,
            Entry::Vacant(free) => {
                free.insert(mark);
            }
        }
        self.oldest_first.push_back(mark);
        true
    }

    /// Removes at most two expired ids: more than one comes in per call, so the queue drains, and
    /// no call pays for a burst.
    fn drop_some_old(&mut self, now: u64) {
        let before = self.oldest_first.len();
        for _ in 0..2 {
            let Some(oldest) = self
                .oldest_first
                .front()
                .copied()
                .filter(|old| old.until <= now)
            else {
                break;
            };
            self.oldest_first.pop_front();
            // An id that came back after its window has a later deadline: that entry stays.
            let same = |other: &Mark| {
                other.fingerprint == oldest.fingerprint && other.until == oldest.until
            };
            if let Ok(gone) = self.seen.find_entry(oldest.fingerprint[0], same) {
                gone.remove();
            }
        }
        let fewer = self.oldest_first.len() < before;
        if fewer && self.seen.len() < self.seen.capacity() / 8 {
            let room = 2 * self.seen.len();
            self.seen.shrink_to(room, |other| other.fingerprint[0]);
            self.oldest_first.shrink_to(room);
        }
    }
}
