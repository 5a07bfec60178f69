//! quick_cache: a bounded cache in shards.
//!
//! A duplicate is found with `get`, marking goes through `entry`, which holds the shard or a
//! placeholder. It has no expiry, so a deadline is the value. The bound is set far above anything
//! the suites insert, because a set that evicts answers wrongly; the estimate gives the shards room.

use super::{
    Contender, Facts, Row, Setup,
    deadline::{DeadlineMs, Deadlines},
};
use ::quick_cache::{
    OptionsBuilder, UnitWeighter,
    sync::{Cache, DefaultLifecycle, EntryAction, EntryResult},
};
use ahash::RandomState;

pub(super) const ROW: Row = Row {
    name: "quick_cache",
    package: "quick_cache",
    facts: Facts::MAP,
    build: |setup| Box::new(Seen::new(setup)),
};

struct Seen {
    until: Cache<String, DeadlineMs, UnitWeighter, RandomState>,
    deadlines: Deadlines,
}

impl Seen {
    fn new(setup: &Setup) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(setup.capacity.max(1_024))
            .weight_capacity(1 << 32)
            .build()
            .expect("both required options are set");
        Self {
            until: Cache::with_options(
                options,
                UnitWeighter,
                RandomState::new(),
                DefaultLifecycle::default(),
            ),
            deadlines: Deadlines::new(setup),
        }
    }
}

impl Contender for Seen {
    fn check_and_mark(&self, id: &str) -> bool {
        let now = self.deadlines.now();
        if self.until.get(id).is_some_and(|until| until > now) {
            return false;
        }
        let entry = self.until.entry(id, None, |_, until| {
            let old = *until <= now;
            if old {
                *until = self.deadlines.after(now);
            }
            EntryAction::Retain(old)
        });
        match entry {
            EntryResult::Retained(old) => old,
            EntryResult::Vacant(free) => free.insert(self.deadlines.after(now)).is_ok(),
            _ => unreachable!("the entry is never removed and never timed out"),
        }
    }
}
