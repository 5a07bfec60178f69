//! mini-moka: moka's small sister, without any atomic insert.
//!
//! `contains_key` then `insert` is all it offers. Two callers can both be told *first*; the row is
//! kept and marked so.

use super::{Contender, Facts, Row, Setup};
use ::mini_moka::sync::{Cache, ConcurrentCacheExt};
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "mini_moka",
    package: "mini-moka",
    facts: Facts {
        atomic: false,
        ..Facts::TTL_CACHE
    },
    build: |setup| Box::new(Seen::new(setup)),
};

struct Seen(Cache<String, (), RandomState>);

impl Seen {
    fn new(setup: &Setup) -> Self {
        Self(
            Cache::builder()
                .initial_capacity(setup.capacity)
                .time_to_live(setup.retention)
                .build_with_hasher(RandomState::new()),
        )
    }
}

impl Contender for Seen {
    fn check_and_mark(&self, id: &str) -> bool {
        // Looking up needs the owned key: the cache keeps it in an `Arc`, which borrows as it only.
        let id = id.to_owned();
        if self.0.contains_key(&id) {
            return false;
        }
        self.0.insert(id, ());
        true
    }

    fn maintain(&self) {
        self.0.sync();
    }
}
