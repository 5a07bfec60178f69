//! Looks through a whole set for what must always be true when no call is running.
//!
//! Visits every slot, so it is for tests only: it exists under `cfg(hapax_pause)`,
//! `cfg(hapax_shuttle)` and `cfg(fuzzing)`, and never in a normal build.
//!
//! * No slot is reserved or undecided: whoever starts an insert ends it.
//! * No id is live in two slots. An id is its tag and its fingerprint.
//! * Marks cover what is live: the table's mark each entry's deadline, a claim's by one retention
//!   more, and some home's spill mark each bucket in which an entry lies.
//! * The books agree with a census, from the next tick on. Of claims they may tell more: a lease
//!   that was settled by nobody is in them until its tick has passed.

use std::collections::HashSet;

use crate::{
    bucket::SLOTS, clock::Clock, mark::MOST_DISTANCE, set::DedupSet, shard::Shard, slot::Meta,
    sync::Ordering, table::Table, timeline::deadline_ms,
};

impl<S, C: Clock> DedupSet<S, C> {
    /// Checks the set's structure. Call when nothing else is using it.
    ///
    /// # Errors
    ///
    /// What is wrong, in words.
    pub fn audit(&self) -> Result<(), String> {
        let now_ms = self.engine.time.now_ms();
        self.engine
            .shards
            .iter()
            .try_for_each(|shard| audit(shard, now_ms))
    }
}

fn audit(shard: &Shard, now_ms: u64) -> Result<(), String> {
    let (mut ids, mut done, mut in_flight) = (HashSet::new(), 0, 0);
    let next_ms = now_ms - now_ms % shard.wheel.tick_ms() + shard.wheel.tick_ms();
    for table in shard.tables().iter() {
        let buckets = table.buckets().count();
        for (index, bucket) in table.buckets().enumerate() {
            for slot in 0..SLOTS {
                // Relaxed, both: the caller waits for all writers, which orders him after them.
                let meta = Meta::from_bits(bucket.meta(slot).load(Ordering::Relaxed));
                let fingerprint = bucket.fingerprint(slot).load(Ordering::Relaxed);
                let wrong = |what: &str| Err(format!("{meta:?} in bucket {index}: {what}"));
                if !meta.is_live_at(now_ms) {
                    if !meta.is_takeable_at(now_ms) {
                        return wrong("neither decided nor free");
                    }
                    continue;
                }
                if !ids.insert((meta.id_bits(), fingerprint)) {
                    return wrong("the id is live twice");
                }
                let late_ms = if meta.is_held() {
                    shard.plan().span_ms
                } else {
                    0
                };
                if !table.is_alive_at(deadline_ms(meta.deadline_ms(), late_ms) - 1) {
                    return wrong("the table's mark does not cover it");
                }
                if !is_reached(table, buckets, index, now_ms) {
                    return wrong("no spill mark reaches it");
                }
                done += u64::from(meta.is_seen() && meta.deadline_ms() >= next_ms);
                in_flight += u64::from(meta.is_held());
            }
        }
    }
    let booked = (
        shard.wheel.at(next_ms).done,
        shard.wheel.at(now_ms).in_flight,
    );
    if booked.0 == done && booked.1 >= in_flight {
        Ok(())
    } else {
        Err(format!(
            "the books say {booked:?}, there are {done} done and {in_flight} claimed"
        ))
    }
}

/// Whether an id of some home is looked for in the bucket `index`.
fn is_reached(table: &Table, buckets: usize, index: usize, now_ms: u64) -> bool {
    (0..=MOST_DISTANCE.min(buckets - 1)).any(|distance| {
        let home = table.buckets().nth((index + buckets - distance) % buckets);
        home.is_some_and(|home| table.spilled(home, now_ms) >= distance)
    })
}
