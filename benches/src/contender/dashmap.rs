//! dashmap: a map in shards, each behind a read-write lock.
//!
//! A duplicate is found with `get`, which needs the read lock only. Marking goes through `entry`,
//! which holds the write lock, so one caller wins. Old entries are replaced when their id comes
//! back; nothing else removes them.

use super::{
    Contender, Facts, Row, Setup,
    deadline::{DeadlineMs, Deadlines},
};
use ::dashmap::{DashMap, Entry};
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "dashmap",
    package: "dashmap",
    facts: Facts::MAP,
    build: |setup| Box::new(Seen::new(setup)),
};

struct Seen {
    until: DashMap<String, DeadlineMs, RandomState>,
    deadlines: Deadlines,
}

impl Seen {
    fn new(setup: &Setup) -> Self {
        Self {
            until: DashMap::with_capacity_and_hasher(setup.capacity, RandomState::new()),
            deadlines: Deadlines::new(setup),
        }
    }
}

impl Contender for Seen {
    fn check_and_mark(&self, id: &str) -> bool {
        let now = self.deadlines.now();
        if self.until.get(id).is_some_and(|until| *until > now) {
            return false;
        }
        match self.until.entry(id.to_owned()) {
            Entry::Occupied(old) if *old.get() > now => false,
            Entry::Occupied(mut old) => {
                old.insert(self.deadlines.after(now));
                true
            }
            Entry::Vacant(free) => {
                free.insert(self.deadlines.after(now));
                true
            }
        }
    }
}
