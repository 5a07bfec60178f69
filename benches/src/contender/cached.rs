//! cached: the sharded cache with one time to live for all.
//!
//! Its `get_or_set_with` is documented as not atomic, so `set` decides: it returns the value that it
//! displaced, under the lock of the shard. `set` also renews the window, so a duplicate is found with
//! `contains` first, which does not.

use super::{Contender, Facts, Row, Setup};
use ::cached::ShardedTtlCache;
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "cached",
    package: "cached",
    facts: Facts::TTL_CACHE,
    build: |setup| Box::new(Seen::new(setup)),
};

struct Seen(ShardedTtlCache<String, (), RandomState>);

impl Seen {
    fn new(setup: &Setup) -> Self {
        let mut builder = ShardedTtlCache::builder()
            .ttl(setup.retention)
            .hasher(RandomState::new());
        if setup.capacity > 0 {
            let shards = ShardedTtlCache::<String, ()>::new(setup.retention).shards();
            builder = builder.per_shard_initial_capacity(setup.capacity.div_ceil(shards));
        }
        Self(
            builder
                .build()
                .expect("retentions of the suites are not zero"),
        )
    }
}

impl Contender for Seen {
    fn check_and_mark(&self, id: &str) -> bool {
        !self.0.contains(id) && self.0.set(id.to_owned(), ()).is_none()
    }

    fn maintain(&self) {
        let _removed = self.0.evict();
    }
}
