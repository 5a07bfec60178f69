//! papaya: a lock-free map with boxed entries.
//!
//! A duplicate is found with `get`, marking goes through `compute`, a compare-and-swap of the
//! entry. Old entries are replaced when their id comes back; nothing else removes them.

use super::{
    Contender, Facts, Row, Setup,
    deadline::{DeadlineMs, Deadlines},
};
use ::papaya::{Compute, HashMap, Operation};
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "papaya",
    package: "papaya",
    facts: Facts::LOCK_FREE_MAP,
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
        let until = self.until.pin();
        if until.get(id).is_some_and(|until| *until > now) {
            return false;
        }
        let marked = until.compute(id.to_owned(), |entry| match entry {
            Some((_, old)) if *old > now => Operation::Abort(()),
            _ => Operation::Insert(self.deadlines.after(now)),
        });
        !matches!(marked, Compute::Aborted(()))
    }
}
