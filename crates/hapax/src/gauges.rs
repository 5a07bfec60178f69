//! What a set says of itself, and the upkeep that an idle one may be asked for.

use core::{fmt, time::Duration};

use crate::{clock::Clock, hash::HashPair, set::DedupSet, stats::Stats, wheel::Books};

impl<S: HashPair, C: Clock> DedupSet<S, C> {
    /// Gives memory back that is not needed any more, without waiting for the next insert.
    ///
    /// Inserts do this by themselves, a little at a time. A service that falls silent for long
    /// may call it now and then; it does nothing when there is nothing to do.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Clock, DedupSet, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let seen = DedupSet::builder().retention(Duration::from_secs(60)).clock(clock.clone()).build()?;
    /// let empty = seen.stats().bytes;
    /// (0..100_000).for_each(|id| drop(seen.check_and_mark(&id)));
    /// clock.advance(Duration::from_secs(120));
    /// seen.tick();
    /// assert_eq!(seen.stats().bytes, empty);
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub fn tick(&self) {
        // More than a shard can have tables, so that racing threads cannot keep us here.
        const MOST_STEPS: usize = 128;
        for shard in &self.engine.shards {
            (0..MOST_STEPS)
                .take_while(|_| shard.tidy(self.engine.time.now_ms()))
                .count();
        }
    }

    /// Counts the ids that are remembered, those in flight among them, without visiting them.
    ///
    /// Entries that ended stop counting when their tick of the books has passed: exact to within
    /// about 1/128 of the retention (at least 1 ms) when nothing runs, and late by as much.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// seen.check_and_mark("evt_1");
    /// assert_eq!(seen.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        let books = self.books();
        usize::try_from(books.done + books.in_flight).unwrap_or(usize::MAX)
    }

    /// Says whether [`len`](Self::len) is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// assert!(DedupSet::new(Duration::from_secs(60)).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads all counters. Visits no entry; a few thousand loads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// seen.check_and_mark("evt_1");
    /// seen.check_and_mark("evt_1");
    /// let stats = seen.stats();
    /// assert_eq!((stats.first, stats.duplicate, stats.live), (1, 1, 1));
    /// ```
    pub fn stats(&self) -> Stats {
        Stats::of(&self.engine, self.books())
    }

    /// The retention the set was made with.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// assert_eq!(seen.default_retention(), Duration::from_secs(60));
    /// ```
    pub const fn default_retention(&self) -> Duration {
        self.engine.retention
    }

    /// The lease that [`claim`](Self::claim) gives.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// assert_eq!(DedupSet::new(Duration::from_secs(60)).default_lease(), Duration::from_secs(30));
    /// assert_eq!(DedupSet::new(Duration::from_millis(10)).default_lease(), Duration::from_millis(10));
    /// ```
    pub const fn default_lease(&self) -> Duration {
        self.engine.lease
    }

    /// The most bytes this set will ever use, however many ids come.
    ///
    /// The sum, over all shards, of one table of every size up to the one that
    /// [`max_entries`](crate::Builder::max_entries) needs, and of the books.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::builder()
    ///     .retention(Duration::from_secs(60))
    ///     .max_entries(1_000_000)
    ///     .build()?;
    /// assert!(seen.max_bytes() < 100_000_000);
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn max_bytes(&self) -> usize {
        self.engine.most_bytes
    }

    fn books(&self) -> Books {
        let now_ms = self.engine.time.now_ms();
        self.engine
            .shards
            .iter()
            .map(|shard| shard.wheel.at(now_ms))
            .sum()
    }
}

impl<S, C> fmt::Debug for DedupSet<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DedupSet")
            .field("retention", &self.engine.retention)
            .field("lease", &self.engine.lease)
            .field("shards", &self.engine.shards.len())
            .finish_non_exhaustive()
    }
}
