//! The public type: hashes an id, picks its shard, and says what the shard found.

use core::{hash::Hash, time::Duration};
use std::sync::Arc;

use crate::{
    builder::Builder,
    claim::{Claim, Full, Held, Lease, OwnedLease},
    clock::{Clock, SystemClock},
    counters::Event,
    engine::Engine,
    hash::{HashPair, Probe, Seeds},
    insert::{Answer, Claimed, Goal, Insert, Mark},
    retention::Retention,
    settle,
    shard::Shard,
};

/// A concurrent set of event ids that remembers each for a fixed time and then forgets it.
///
/// Share it in an [`Arc`]; every method takes `&self`, and none ever waits for another thread.
/// An id is anything that is [`Hash`], borrowed: `&str`, `&String` and `str` are the same id.
/// The set keeps 77 bits of a keyed hash and never the id itself.
///
/// What it promises, and what not, is on the page [`design::guarantees`](crate::design::guarantees);
/// what it costs on [`design::sizing`](crate::design::sizing).
///
/// # Examples
///
/// ```
/// use hapax::DedupSet;
/// use std::{sync::Arc, time::Duration};
///
/// let seen = Arc::new(DedupSet::new(Duration::from_secs(60 * 60)));
/// assert!(seen.check_and_mark("evt_1"), "first time");
/// assert!(!seen.check_and_mark("evt_1"), "duplicate");
/// assert!(!seen.check_and_mark(&String::from("evt_1")), "the same id");
/// ```
///
/// Better where processing can fail: claim, work, complete.
///
/// ```
/// use hapax::{Claim, DedupSet};
/// use std::time::Duration;
///
/// let seen = DedupSet::new(Duration::from_secs(60 * 60));
/// match seen.claim("evt_1")? {
///     Claim::First(lease) => {
///         // charge the card; on an early return or a panic the lease is dropped, and a retry runs
///         lease.complete()?;
///     }
///     Claim::InFlight { remaining } => println!("somebody is at it, ask again in {remaining:?}"),
///     Claim::Duplicate => println!("done before"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DedupSet<S = Seeds, C = SystemClock> {
    pub(crate) hash: S,
    pub(crate) engine: Engine<C>,
}

impl DedupSet {
    /// Makes a set that remembers each id for `retention`, with every other setting at its default.
    ///
    /// It starts at less than 4 KiB per shard, books apart, and grows as long as there is memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::DedupSet;
    /// use std::time::Duration;
    ///
    /// let seen = DedupSet::new(Duration::from_secs(24 * 60 * 60));
    /// assert!(seen.is_empty());
    /// ```
    ///
    /// # Panics
    ///
    /// If `retention` is shorter than 1 ms or longer than 365 days, or if there is no memory for
    /// an empty set. [`builder`](Self::builder) returns an error instead.
    #[must_use]
    pub fn new(retention: Duration) -> Self {
        match Self::builder().retention(retention).build() {
            Ok(set) => set,
            Err(error) => panic!("{error}"),
        }
    }

    /// Starts a set with settings of its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::DedupSet;
    /// use std::time::Duration;
    ///
    /// let seen = DedupSet::builder()
    ///     .retention(Duration::from_secs(24 * 60 * 60))
    ///     .capacity(100_000)
    ///     .build()?;
    /// assert!(seen.check_and_mark("evt_1"));
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    #[must_use = "a builder does nothing until `build`"]
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl<S, C> DedupSet<S, C> {
    pub(crate) const fn from_parts(hash: S, engine: Engine<C>) -> Self {
        Self { hash, engine }
    }
}

impl<S: HashPair, C: Clock> DedupSet<S, C> {
    /// Marks an id as seen, and says whether this was the first time.
    ///
    /// Returns `true` to exactly one caller while the id is remembered. Returns `false` to all
    /// others, also while the id is claimed and in flight. Where the set has no room left and may
    /// make none ([`WhenFull::Refuse`](crate::WhenFull), or only claims to push out), it returns
    /// `true` without remembering the id, rather than lose an event, and counts it in
    /// [`Stats::unrecorded`](crate::Stats).
    ///
    /// This is *at most once*: if what follows fails, a retry of the event is skipped all the
    /// same. Use [`claim`](Self::claim) where that loses events.
    ///
    /// Takes effect at the compare-exchange that commits the entry. The retention counts from a
    /// clock reading inside the call. Constant time; allocates nothing, except when a shard grows.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// assert!(seen.check_and_mark("evt_1"));
    /// assert!(!seen.check_and_mark("evt_1"));
    /// assert!(seen.check_and_mark(&("tenant", 7)), "any `Hash` type is an id");
    /// ```
    #[inline]
    pub fn check_and_mark<Q: Hash + ?Sized>(&self, id: &Q) -> bool {
        self.mark(Probe::of(self.hash.pair(id)), self.longest_span_ms())
    }

    /// Marks an id as seen for a retention of its own.
    ///
    /// Answers as [`check_and_mark`](Self::check_and_mark). A duplicate keeps the deadline that
    /// the first mark gave it. An entry with a long retention keeps its table in memory that long.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Clock, DedupSet, ManualClock};
    /// # use std::time::Duration;
    /// let clock = ManualClock::new();
    /// let seen = DedupSet::builder().retention(Duration::from_secs(3600)).clock(clock.clone()).build()?;
    /// let minute = seen.retention(Duration::from_secs(60))?;
    /// assert!(seen.check_and_mark_for("evt_1", minute));
    /// clock.advance(Duration::from_secs(61));
    /// assert!(seen.check_and_mark("evt_1"), "forgotten after a minute");
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    #[inline]
    pub fn check_and_mark_for<Q: Hash + ?Sized>(&self, id: &Q, retention: Retention) -> bool {
        self.mark(Probe::of(self.hash.pair(id)), self.span_ms_of(retention))
    }

    /// Marks an id as seen, or says that there was no room for it.
    ///
    /// Returns `Ok(true)` the first time and `Ok(false)` for a duplicate, as
    /// [`check_and_mark`](Self::check_and_mark).
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// assert_eq!(seen.try_check_and_mark("evt_1"), Ok(true));
    /// assert_eq!(seen.try_check_and_mark("evt_1"), Ok(false));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`]: the id is neither known nor remembered now.
    #[inline]
    pub fn try_check_and_mark<Q: Hash + ?Sized>(&self, id: &Q) -> Result<bool, Full> {
        let mark = Mark {
            span_ms: self.longest_span_ms(),
        };
        match self.insert(Probe::of(self.hash.pair(id)), mark) {
            Answer::First(_) => Ok(true),
            Answer::Duplicate | Answer::InFlight { .. } => {
                self.engine.counters.add(Event::Duplicate);
                Ok(false)
            }
            Answer::Full => {
                self.engine.counters.add(Event::Refused);
                Err(Full)
            }
        }
    }

    /// Claims an id for the set's default lease: nobody else gets it while you work.
    ///
    /// Returns [`Claim::First`] with a lease to exactly one caller while the id is remembered.
    /// Complete the lease when the work is done; dropped, it gives the id up, so that a retry
    /// runs. Returns [`Claim::InFlight`] while another lease runs, and [`Claim::Duplicate`] once
    /// the id is done.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Claim, DedupSet};
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// let Claim::First(lease) = seen.claim("evt_1")? else { panic!("nobody else is here") };
    /// assert!(matches!(seen.claim("evt_1")?, Claim::InFlight { .. }));
    /// lease.complete()?;
    /// assert!(matches!(seen.claim("evt_1")?, Claim::Duplicate));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`]: the set may hold no more, and the id is not known to it.
    #[inline]
    pub fn claim<Q: Hash + ?Sized>(&self, id: &Q) -> Result<Claim<Lease<'_, C>>, Full> {
        self.claim_for(id, self.engine.lease)
    }

    /// Claims an id for a lease of its own, clamped to 1 ms … the set's retention.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Claim, DedupSet};
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// let claim = seen.claim_for("evt_1", Duration::from_secs(5))?;
    /// assert!(matches!(claim, Claim::First(_)));
    /// # Ok::<(), hapax::Full>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`], as [`claim`](Self::claim).
    #[inline]
    pub fn claim_for<Q: Hash + ?Sized>(
        &self,
        id: &Q,
        lease: Duration,
    ) -> Result<Claim<Lease<'_, C>>, Full> {
        Ok(self
            .claim_slot(id, lease)?
            .map(|held| Lease::new(&self.engine, held)))
    }

    /// Claims an id for the default lease; the lease keeps the set alive and can be moved into a
    /// task or a queue.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Claim, DedupSet};
    /// # use std::{sync::Arc, time::Duration};
    /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
    /// let Claim::First(lease) = seen.claim_owned("evt_1")? else { panic!("nobody else is here") };
    /// let worker = std::thread::spawn(move || lease.complete());
    /// worker.join().expect("no panic")?;
    /// assert!(!seen.check_and_mark("evt_1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`], as [`claim`](Self::claim).
    pub fn claim_owned<Q: Hash + ?Sized>(
        self: &Arc<Self>,
        id: &Q,
    ) -> Result<Claim<OwnedLease<S, C>>, Full> {
        self.claim_owned_for(id, self.engine.lease)
    }

    /// Claims an id for a lease of its own, clamped to 1 ms … the set's retention, as
    /// [`claim_owned`](Self::claim_owned).
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{Claim, DedupSet};
    /// # use std::{sync::Arc, time::Duration};
    /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
    /// let claim = seen.claim_owned_for("evt_1", Duration::from_secs(5))?;
    /// assert!(matches!(claim, Claim::First(_)));
    /// # Ok::<(), hapax::Full>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Full`], as [`claim`](Self::claim).
    pub fn claim_owned_for<Q: Hash + ?Sized>(
        self: &Arc<Self>,
        id: &Q,
        lease: Duration,
    ) -> Result<Claim<OwnedLease<S, C>>, Full> {
        Ok(self
            .claim_slot(id, lease)?
            .map(|held| OwnedLease::new(Arc::clone(self), held)))
    }

    /// Says whether an id is remembered: done, or claimed and in flight.
    ///
    /// By the time you act on it the answer may be old; use
    /// [`check_and_mark`](Self::check_and_mark) to decide who processes an event.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// assert!(!seen.contains("evt_1"));
    /// seen.check_and_mark("evt_1");
    /// assert!(seen.contains("evt_1"));
    /// ```
    #[inline]
    pub fn contains<Q: Hash + ?Sized>(&self, id: &Q) -> bool {
        let probe = Probe::of(self.hash.pair(id));
        settle::contains(self.shard(probe), probe, &self.engine.time)
    }

    /// Forgets an id that is done, so that the next to mark or claim it is first.
    ///
    /// Returns whether there was such an id. An id in flight is left alone: `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// seen.check_and_mark("evt_1");
    /// assert!(seen.forget("evt_1"));
    /// assert!(!seen.forget("evt_1"));
    /// assert!(seen.check_and_mark("evt_1"));
    /// ```
    pub fn forget<Q: Hash + ?Sized>(&self, id: &Q) -> bool {
        let probe = Probe::of(self.hash.pair(id));
        let forgotten = settle::forget(self.shard(probe), probe, &self.engine.time);
        if forgotten {
            self.engine.counters.add(Event::Forgotten);
        }
        forgotten
    }

    /// Forgets every id that is done, each at an instant of its own; leaves claims alone.
    ///
    /// An id that is marked while this runs may be forgotten too, even twice if it is marked
    /// again. The one operation that visits entries: its time grows with the memory in use.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// seen.check_and_mark("evt_1");
    /// seen.clear();
    /// assert!(seen.is_empty());
    /// ```
    pub fn clear(&self) {
        for shard in &self.engine.shards {
            let count = || self.engine.counters.add(Event::Cleared);
            settle::clear(shard, &self.engine.time, count);
        }
    }

    #[inline]
    pub(crate) fn shard(&self, probe: Probe) -> &Shard {
        &self.engine.shards[probe.shard(self.engine.shards.len())]
    }

    #[inline]
    fn insert<G: Goal>(&self, probe: Probe, goal: G) -> Answer<G::First> {
        let engine = &self.engine;
        let shard = self.shard(probe);
        Insert {
            shard,
            time: &engine.time,
            counters: &engine.counters,
            probe,
            goal,
        }
        .run()
    }

    #[inline]
    pub(crate) fn mark(&self, probe: Probe, span_ms: u64) -> bool {
        match self.insert(probe, Mark { span_ms }) {
            Answer::First(_) => true,
            Answer::Duplicate | Answer::InFlight { .. } => {
                self.engine.counters.add(Event::Duplicate);
                false
            }
            Answer::Full => {
                self.engine.counters.add(Event::Unrecorded);
                true
            }
        }
    }

    fn claim_slot<Q: Hash + ?Sized>(&self, id: &Q, lease: Duration) -> Result<Claim<Held>, Full> {
        let probe = Probe::of(self.hash.pair(id));
        let shard = self.shard(probe);
        let claimed = Claimed::for_span(shard, self.engine.lease_span_ms(lease));
        match self.insert(probe, claimed) {
            Answer::First(token) => Ok(Claim::First(Held::new(
                probe.shard(self.engine.shards.len()),
                token,
            ))),
            Answer::InFlight { remaining_ms } => {
                self.engine.counters.add(Event::Busy);
                Ok(Claim::InFlight {
                    remaining: Duration::from_millis(remaining_ms),
                })
            }
            Answer::Duplicate => {
                self.engine.counters.add(Event::Duplicate);
                Ok(Claim::Duplicate)
            }
            Answer::Full => {
                self.engine.counters.add(Event::Refused);
                Err(Full)
            }
        }
    }

    #[inline]
    pub(crate) fn longest_span_ms(&self) -> u64 {
        self.engine.longest_span_ms()
    }

    fn span_ms_of(&self, retention: Retention) -> u64 {
        self.engine.span_ms_of(retention)
    }
}
