//! A set without its hasher: what a lease needs to be settled.

use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::{
    clock::Clock, counters::Counters, retention::Retention, shard::Shard, timeline::Timeline,
};

pub(crate) struct Engine<C> {
    pub(crate) shards: Box<[CachePadded<Shard>]>,
    pub(crate) time: Timeline<C>,
    pub(crate) counters: Counters,
    pub(crate) retention: Duration,
    pub(crate) lease: Duration,
    pub(crate) most_bytes: usize,
}

impl<C> Engine<C> {
    #[inline]
    pub(crate) fn longest_span_ms(&self) -> u64 {
        self.shards[0].plan().span_ms
    }
}

impl<C: Clock> Engine<C> {
    pub(crate) fn span_ms_of(&self, retention: Retention) -> u64 {
        self.time.span_ms(retention.0).min(self.longest_span_ms())
    }

    /// A lease clamped to what the set takes: 1 ms to its retention.
    pub(crate) fn lease_span_ms(&self, lease: Duration) -> u64 {
        self.time
            .span_ms(lease.clamp(Duration::from_millis(1), self.retention))
    }
}
