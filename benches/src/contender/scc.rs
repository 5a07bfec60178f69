//! scc: a map of small buckets, each with its own lock word, that grows without stopping anybody.
//!
//! A duplicate is found with `read_sync`, marking goes through `entry_sync`, which holds the
//! bucket. Old entries are replaced when their id comes back; nothing else removes them.

use super::{
    Contender, Facts, Row, Setup,
    deadline::{DeadlineMs, Deadlines},
};
use ::scc::{HashMap, hash_map::Entry};
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "scc",
    package: "scc",
    facts: Facts::MAP,
    build: |setup| Box::new(Seen::new(setup)),
};

struct Seen {
    until: HashMap<String, DeadlineMs, RandomState>,
    deadlines: Deadlines,
}

impl Seen {
    fn new(setup: &Setup) -> Self {
        Self {
            until: HashMap::with_capacity_and_hasher(setup.capacity, RandomState::new()),
            deadlines: Deadlines::new(setup),
        }
    }
}

impl Contender for Seen {
    fn check_and_mark(&self, id: &str) -> bool {
        let now = self.deadlines.now();
        if self.until.read_sync(id, |_, until| *until > now) == Some(true) {
            return false;
        }
        match self.until.entry_sync(id.to_owned()) {
            Entry::Occupied(old) if *old.get() > now => false,
            Entry::Occupied(mut old) => {
                *old.get_mut() = self.deadlines.after(now);
                true
            }
            Entry::Vacant(free) => {
                free.insert_entry(self.deadlines.after(now));
                true
            }
        }
    }
}
