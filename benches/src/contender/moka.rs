//! moka: a concurrent cache with its own expiry.
//!
//! `or_insert_with` is used because it is the atomic one: `or_insert` looks first and inserts
//! afterwards, and tells both racers that they were first. No maximum is set, because a cache that
//! evicts forgets ids.

use super::{Contender, Facts, Row, Setup};
use ::moka::sync::Cache;
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "moka",
    package: "moka",
    facts: Facts::TTL_CACHE,
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
        self.0.entry_by_ref(id).or_insert_with(|| ()).is_fresh()
    }

    fn maintain(&self) {
        self.0.run_pending_tasks();
    }
}
