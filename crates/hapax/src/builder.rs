//! The settings of a set, their defaults, and the one place where they are checked.

use core::{hash::BuildHasher, time::Duration};

use crate::{
    bucket::{MOST_BUCKETS, SLOTS},
    build_error::BuildError,
    clock::{Clock, SystemClock},
    counters::{Counters, parallelism},
    engine::Engine,
    hash::{HashPair, MOST_SHARDS, Prefixed, Seeds},
    mark::Epochs,
    set::DedupSet,
    shard::{Plan, Shard},
    timeline::Timeline,
};

const LEAST_SPAN: Duration = Duration::from_millis(1);
const MOST_RETENTION: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const MOST_RESOLUTION: Duration = Duration::from_secs(60 * 60);

/// A day: what most senders need, and a number to notice where it was forgotten.
const DEFAULT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer than a handler that is well, shorter than a sender's patience.
const DEFAULT_LEASE: Duration = Duration::from_secs(30);

/// Spill marks compare epochs within half of 24 bits; of so long ones that is 97 days.
const LEAST_EPOCH_MS: u64 = 1000;

/// Buckets of a shard that nobody sized: 3 KiB.
const SMALL_BUCKETS: usize = 48;
/// Below so many entries to a shard, chance fills some much more than others.
const ENTRIES_WORTH_A_SHARD: usize = 8192;
/// Shards per thread of the machine, so that two threads rarely meet in one.
const SHARDS_PER_THREAD: usize = 4;

/// Settings of a [`DedupSet`], checked by [`build`](Self::build).
///
/// # Examples
///
/// ```
/// use hapax::{DedupSet, WhenFull};
/// use std::time::Duration;
///
/// let seen = DedupSet::builder()
///     .retention(Duration::from_secs(96 * 60 * 60))
///     .lease(Duration::from_secs(60))
///     .max_entries(10_000_000)
///     .when_full(WhenFull::Refuse)
///     .build()?;
/// assert_eq!(seen.default_lease(), Duration::from_secs(60));
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<S = Seeds, C = SystemClock> {
    retention: Duration,
    lease: Option<Duration>,
    capacity: usize,
    max_entries: Option<usize>,
    shards: Option<usize>,
    when_full: WhenFull,
    hash: S,
    clock: C,
}

/// What an insert does when the set is at its limit.
///
/// # Examples
///
/// ```
/// use hapax::{DedupSet, WhenFull};
/// use std::time::Duration;
///
/// let seen = DedupSet::builder()
///     .retention(Duration::from_secs(60))
///     .max_entries(1000)
///     .when_full(WhenFull::Refuse)
///     .build()?;
/// let refused = (0..100_000).filter(|id| seen.try_check_and_mark(id).is_err()).count();
/// assert_eq!(refused as u64, seen.stats().refused);
/// assert_eq!(seen.stats().forgotten_early, 0);
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// Takes the place of the done id that would be forgotten next, among those that share the
    /// newcomer's reach, and counts it in [`Stats::forgotten_early`](crate::Stats). Claims are
    /// never pushed out; where there are only claims the newcomer is refused.
    #[default]
    ForgetOldest,
    /// Refuses the newcomer and keeps every promise made to those who are in.
    Refuse,
}

pub(crate) fn check_retention(given: Duration, most: Duration) -> Result<(), BuildError> {
    if given < LEAST_SPAN {
        Err(BuildError::RetentionTooShort {
            given,
            least: LEAST_SPAN,
        })
    } else if given > most {
        Err(BuildError::RetentionTooLong { given, most })
    } else {
        Ok(())
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            retention: DEFAULT_RETENTION,
            lease: None,
            capacity: 0,
            max_entries: None,
            shards: None,
            when_full: WhenFull::default(),
            hash: Seeds::random(),
            clock: SystemClock::new(),
        }
    }
}

impl<S, C> Builder<S, C> {
    /// Sets how long a done id is remembered: 1 ms to 365 days. Default: 24 hours.
    ///
    /// Choose it longer than the sender keeps retrying.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::builder().retention(Duration::from_millis(10)).build()?;
    /// assert_eq!(seen.default_retention(), Duration::from_millis(10));
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets how long a claim lasts unless it is settled or extended: 1 ms to the retention.
    /// Default: 30 s or the retention, whichever is less.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::builder().lease(Duration::from_secs(5)).build()?;
    /// assert_eq!(seen.default_lease(), Duration::from_secs(5));
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Sizes the first tables for `entries` ids, so that the set need not grow to hold them, and
    /// never shrinks below. Default: 0, a set that starts small.
    ///
    /// Costs about 40 bytes per id from ten thousand ids on; the pages stay untouched until
    /// they are used.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// let seen = DedupSet::builder().capacity(50_000).build()?;
    /// let before = seen.stats().bytes;
    /// (0..50_000).for_each(|id| drop(seen.check_and_mark(&id)));
    /// assert_eq!(seen.stats().bytes, before, "it has not grown");
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn capacity(mut self, entries: usize) -> Self {
        self.capacity = entries;
        self
    }

    /// Bounds the memory: tables grow until so many random ids fit, and no further. At least 1.
    /// Default: none; memory itself is the limit.
    ///
    /// Up to `entries` ids, nothing is forgotten early or refused. Beyond, tables have some slack,
    /// and then [`when_full`](Self::when_full) decides.
    /// [`DedupSet::max_bytes`] tells what the limit comes to.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// let seen = DedupSet::builder().max_entries(10_000).build()?;
    /// (0..10_000).for_each(|id| assert!(seen.check_and_mark(&id)));
    /// assert_eq!(seen.stats().forgotten_early, 0);
    /// (0..1_000_000).for_each(|id| drop(seen.check_and_mark(&id)));
    /// assert!(seen.stats().bytes <= seen.max_bytes() as u64);
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = Some(entries);
        self
    }

    /// Sets the number of shards: 1 to 1024, rounded up to a power of two. Default: four per
    /// thread of the machine, fewer for a small capacity or limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// let seen = DedupSet::builder().shards(1).build()?;
    /// assert_eq!(seen.stats().tables, 1);
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub const fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// Says what happens at the limit. Default: [`WhenFull::ForgetOldest`].
    ///
    /// # Examples
    ///
    /// See [`WhenFull`].
    pub const fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Hashes ids with `hasher` instead of `ahash`.
    ///
    /// Ids that it does not tell apart are one id to the set; a constant hasher makes all ids
    /// equal. One that piles many ids up in few places makes tables grow for nothing; bound it by
    /// [`max_entries`](Self::max_entries). Ids chosen by a stranger want a hasher with a random
    /// key. A hasher that may be written to only once cannot take the prefix of [`Prefixed`] and
    /// will not do.
    ///
    /// # Examples
    ///
    /// See [`Prefixed`].
    pub fn hasher<H: BuildHasher>(self, hasher: H) -> Builder<Prefixed<H>, C> {
        let Self {
            retention,
            lease,
            capacity,
            max_entries,
            shards,
            when_full,
            hash: _,
            clock,
        } = self;
        let hash = Prefixed::random(hasher);
        Builder {
            retention,
            lease,
            capacity,
            max_entries,
            shards,
            when_full,
            hash,
            clock,
        }
    }

    /// Reads the time from `clock` instead of the system's.
    ///
    /// # Examples
    ///
    /// See [`Clock`].
    pub fn clock<K: Clock>(self, clock: K) -> Builder<S, K> {
        let Self {
            retention,
            lease,
            capacity,
            max_entries,
            shards,
            when_full,
            hash,
            clock: _,
        } = self;
        Builder {
            retention,
            lease,
            capacity,
            max_entries,
            shards,
            when_full,
            hash,
            clock,
        }
    }

    /// Checks the settings and makes the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::{BuildError, DedupSet};
    /// assert_eq!(DedupSet::builder().shards(0).build().unwrap_err(), BuildError::NoShards);
    /// ```
    ///
    /// # Errors
    ///
    /// A [`BuildError`] that names the first setting that is out of range, and its limit.
    pub fn build(self) -> Result<DedupSet<S, C>, BuildError>
    where
        S: HashPair,
        C: Clock,
    {
        check_retention(self.retention, MOST_RETENTION)?;
        let lease = self.checked_lease()?;
        let resolution = self.clock.resolution();
        if resolution > MOST_RESOLUTION {
            let (given, most) = (resolution, MOST_RESOLUTION);
            return Err(BuildError::ResolutionTooCoarse { given, most });
        }
        let shards = self.checked_shards()?;
        let (base_buckets, top_buckets) = self.checked_buckets(shards)?;

        let time = Timeline::start(self.clock, resolution);
        let (span_ms, lease_span_ms) = (time.span_ms(self.retention), time.span_ms(lease));
        let plan = Plan {
            base_buckets,
            top_buckets,
            span_ms,
            lease_span_ms,
            // What a claim is covered for when it is made: its lease, and one retention more.
            epochs: Epochs::covering(span_ms + lease_span_ms, LEAST_EPOCH_MS),
            forget_oldest: self.when_full == WhenFull::ForgetOldest,
        };
        let counters = Counters::for_this_machine();
        let made = (0..shards)
            .map(|_| Shard::new(plan).map(Into::into))
            .collect();
        let Some(made): Option<Box<[_]>> = made else {
            return Err(BuildError::OutOfMemory {
                bytes: plan.base_bytes().saturating_mul(shards),
            });
        };
        let most_bytes = plan
            .most_bytes()
            .saturating_mul(shards)
            .saturating_add(size_of_val::<[_]>(&made) + counters.bytes());
        let retention = self.retention;
        let engine = Engine {
            shards: made,
            time,
            counters,
            retention,
            lease,
            most_bytes,
        };
        Ok(DedupSet::from_parts(self.hash, engine))
    }

    fn checked_lease(&self) -> Result<Duration, BuildError> {
        match self.lease {
            None => Ok(DEFAULT_LEASE.min(self.retention)),
            Some(given) if given < LEAST_SPAN => Err(BuildError::LeaseTooShort {
                given,
                least: LEAST_SPAN,
            }),
            Some(given) if given > self.retention => Err(BuildError::LeaseTooLong {
                given,
                most: self.retention,
            }),
            Some(given) => Ok(given),
        }
    }

    fn checked_shards(&self) -> Result<usize, BuildError> {
        match self.shards {
            Some(0) => Err(BuildError::NoShards),
            Some(given) if given > MOST_SHARDS => Err(BuildError::TooManyShards {
                given,
                most: MOST_SHARDS,
            }),
            Some(given) => Ok(given.next_power_of_two()),
            None => {
                let wanted = (SHARDS_PER_THREAD * parallelism()).next_power_of_two();
                let limit = self.max_entries.unwrap_or(usize::MAX);
                let sized = if self.capacity == 0 {
                    limit
                } else {
                    self.capacity.min(limit)
                };
                let worth = (sized / ENTRIES_WORTH_A_SHARD).max(1);
                // The largest power of two that is at most `worth`.
                let most = 1 << worth.ilog2();
                Ok(wanted.min(most).min(MOST_SHARDS))
            }
        }
    }

    /// Buckets of the base table and of the largest.
    fn checked_buckets(&self, shards: usize) -> Result<(usize, usize), BuildError> {
        let most = most_entries(shards);
        let capacity = self.capacity;
        if capacity > most {
            return Err(BuildError::CapacityTooLarge {
                given: capacity,
                most,
            });
        }
        let top = match self.max_entries {
            None => MOST_BUCKETS,
            Some(0) => return Err(BuildError::NoEntries),
            Some(given) if given > most => {
                return Err(BuildError::MaxEntriesTooLarge { given, most });
            }
            Some(given) if given < capacity => {
                return Err(BuildError::MaxEntriesBelowCapacity {
                    given,
                    least: capacity,
                });
            }
            Some(given) => buckets_for(given, shards),
        };
        let base = if capacity == 0 {
            SMALL_BUCKETS
        } else {
            buckets_for(capacity, shards)
        };
        Ok((base.min(top), top))
    }
}

/// Buckets per shard so that `entries` random ids fit without a shard having to grow.
///
/// The fullest shard gets some more than its share: three standard deviations of the binomial and a
/// little for the very small. At five ninths of the slots, runs are still short.
fn buckets_for(entries: usize, shards: usize) -> usize {
    let share = entries.div_ceil(shards);
    let fullest = share + 3 * share.isqrt() + 8;
    (fullest.div_ceil(SLOTS) * 9).div_ceil(5).min(MOST_BUCKETS)
}

/// The most entries that `shards` largest tables are sized for.
fn most_entries(shards: usize) -> usize {
    // The inverse of `buckets_for`, rounded down generously.
    (MOST_BUCKETS / 9 * 5 * SLOTS / 100 * 99).saturating_mul(shards)
}
