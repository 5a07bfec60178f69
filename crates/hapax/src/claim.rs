//! Claims: an id in flight, and the lease that its holder settles.

use core::{fmt, time::Duration};
use std::{error::Error, sync::Arc};

use crate::{
    clock::{Clock, SystemClock},
    counters::Event,
    engine::Engine,
    hash::{HashPair, Seeds},
    insert::Token,
    retention::Retention,
    set::DedupSet,
    settle::{self, Lost},
    shard::Shard,
};

/// What became of a claim.
///
/// # Examples
///
/// ```
/// use hapax::{Claim, DedupSet};
/// use std::time::Duration;
///
/// let seen = DedupSet::new(Duration::from_secs(60));
/// let answer = match seen.claim("evt_1")? {
///     Claim::First(lease) => lease.complete().map(|()| "processed"),
///     Claim::InFlight { .. } => Ok("come back later"),
///     Claim::Duplicate => Ok("known"),
/// };
/// assert_eq!(answer, Ok("processed"));
/// # Ok::<(), hapax::Full>(())
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped gives the id up"]
pub enum Claim<L> {
    /// The id is yours. Complete the lease when its work is done.
    First(L),
    /// Somebody else has the id.
    InFlight {
        /// When their lease ends, unless they extend it; the clock's resolution included.
        remaining: Duration,
    },
    /// The id is done.
    Duplicate,
}

impl<L> Claim<L> {
    /// Changes what a first claim holds.
    #[inline]
    pub(crate) fn map<M>(self, with: impl FnOnce(L) -> M) -> Claim<M> {
        match self {
            Self::First(lease) => Claim::First(with(lease)),
            Self::InFlight { remaining } => Claim::InFlight { remaining },
            Self::Duplicate => Claim::Duplicate,
        }
    }
}

/// The set may hold no more, and could make no room for this id.
///
/// # Examples
///
/// ```
/// assert_eq!(hapax::Full.to_string(), "the set is full: this id is not remembered");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the set is full: this id is not remembered")
    }
}

impl Error for Full {}

/// The lease ended, and the id is not this holder's any more; the call has changed nothing.
///
/// # Examples
///
/// ```
/// use hapax::{Claim, DedupSet, LeaseLost, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let seen = DedupSet::builder()
///     .retention(Duration::from_secs(60))
///     .clock(clock.clone())
///     .build()?;
/// let Claim::First(slow) = seen.claim_for("evt_1", Duration::from_secs(1))? else { panic!() };
/// clock.advance(Duration::from_secs(2));
/// assert!(seen.check_and_mark("evt_1"), "the lease is over, so somebody else is first");
/// assert_eq!(slow.complete(), Err(LeaseLost));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseLost;

impl fmt::Display for LeaseLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease ended before it was settled")
    }
}

impl Error for LeaseLost {}

/// A claim as its lease keeps it: the shard, and the token until it is used up.
#[derive(Debug)]
pub(crate) struct Held {
    shard: usize,
    token: Option<Token>,
}

impl Held {
    pub(crate) const fn new(shard: usize, token: Token) -> Self {
        Self {
            shard,
            token: Some(token),
        }
    }

    fn shard<'c, C>(&self, engine: &'c Engine<C>) -> &'c Shard {
        &engine.shards[self.shard]
    }

    fn complete<C: Clock>(&mut self, engine: &Engine<C>, span_ms: u64) -> Result<(), LeaseLost> {
        let token = self.token.ok_or(LeaseLost)?;
        let completed = settle::complete(self.shard(engine), token, span_ms, &engine.time);
        // Only now: had the user's clock panicked, the lease would still be ours to give up.
        self.token = None;
        completed.map_err(|Lost| self.lost(engine, token))
    }

    fn extend<C: Clock>(&mut self, engine: &Engine<C>, lease: Duration) -> Result<(), LeaseLost> {
        let token = self.token.ok_or(LeaseLost)?;
        let span_ms = engine.lease_span_ms(lease);
        let extended = settle::extend(self.shard(engine), token, span_ms, &engine.time);
        self.token = extended.ok();
        extended.map(drop).map_err(|Lost| self.lost(engine, token))
    }

    fn release<C>(&mut self, engine: &Engine<C>) {
        if let Some(token) = self.token.take()
            && settle::release(self.shard(engine), token)
        {
            engine.counters.add(Event::Released);
        }
    }

    fn lost<C>(&self, engine: &Engine<C>, token: Token) -> LeaseLost {
        settle::write_off(self.shard(engine), token);
        engine.counters.add(Event::LostLease);
        LeaseLost
    }
}

macro_rules! settling {
    ($core:ident, $($of:tt)+) => {
        impl<$($of)+ {
            /// Marks the id as done, remembered for the set's retention from now.
            ///
            /// Takes effect at the compare-exchange of the id's slot. Succeeds also after the
            /// lease has ended, as long as nobody has overtaken it.
            ///
            /// # Examples
            ///
            /// ```
            /// # use hapax::{Claim, DedupSet};
            /// # use std::{sync::Arc, time::Duration};
            /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
            #[doc = concat!("let Claim::First(lease) = seen.", stringify!($core), "(\"evt_1\")? else { panic!() };")]
            /// lease.complete()?;
            /// assert!(!seen.check_and_mark("evt_1"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`LeaseLost`]: somebody else has claimed or marked the id since the lease ended, or
            /// more than the set's retention has passed since then.
            pub fn complete(mut self) -> Result<(), LeaseLost> {
                let span_ms = self.engine().longest_span_ms();
                self.settle(|held, engine| held.complete(engine, span_ms))
            }

            /// Marks the id as done, remembered for a retention of its own, as
            /// [`complete`](Self::complete).
            ///
            /// # Examples
            ///
            /// ```
            /// # use hapax::{Claim, DedupSet};
            /// # use std::{sync::Arc, time::Duration};
            /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
            /// let briefly = seen.retention(Duration::from_secs(1))?;
            #[doc = concat!("let Claim::First(lease) = seen.", stringify!($core), "(\"evt_1\")? else { panic!() };")]
            /// lease.complete_for(briefly)?;
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`LeaseLost`], as [`complete`](Self::complete).
            pub fn complete_for(mut self, retention: Retention) -> Result<(), LeaseLost> {
                let span_ms = self.engine().span_ms_of(retention);
                self.settle(|held, engine| held.complete(engine, span_ms))
            }

            /// Gives the id up, so that the next to claim it is first. Dropping does the same.
            ///
            /// After somebody has overtaken the lease this changes nothing.
            ///
            /// # Examples
            ///
            /// ```
            /// # use hapax::{Claim, DedupSet};
            /// # use std::{sync::Arc, time::Duration};
            /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
            #[doc = concat!("let Claim::First(lease) = seen.", stringify!($core), "(\"evt_1\")? else { panic!() };")]
            /// lease.release();
            /// assert!(matches!(seen.claim("evt_1")?, Claim::First(_)));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn release(self) {
                drop(self);
            }

            /// Moves the end of the lease to `lease` from now, clamped to 1 ms … the set's
            /// retention; never to an earlier instant.
            ///
            /// Succeeds also after the lease has ended, as long as nobody has overtaken it. A
            /// claim that is extended for ever keeps its table in memory for ever.
            ///
            /// # Examples
            ///
            /// ```
            /// # use hapax::{Claim, DedupSet};
            /// # use std::{sync::Arc, time::Duration};
            /// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
            #[doc = concat!("let Claim::First(mut lease) = seen.", stringify!($core), "(\"evt_1\")? else { panic!() };")]
            /// lease.extend(Duration::from_secs(50))?;
            /// lease.complete()?;
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`LeaseLost`], as [`complete`](Self::complete); the lease is of no use then.
            pub fn extend(&mut self, lease: Duration) -> Result<(), LeaseLost> {
                self.settle(|held, engine| held.extend(engine, lease))
            }
        }
    };
}

/// A claimed id, borrowed from its set. Complete it, or drop it to give the id up.
///
/// # Examples
///
/// ```
/// use hapax::{Claim, DedupSet, Lease, LeaseLost};
/// use std::time::Duration;
///
/// fn work(lease: Lease<'_>) -> Result<(), LeaseLost> {
///     // a `?` or a panic here would drop the lease
///     lease.complete()
/// }
///
/// let seen = DedupSet::new(Duration::from_secs(60));
/// if let Claim::First(lease) = seen.claim("evt_1")? {
///     work(lease)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a lease that is dropped gives the id up"]
pub struct Lease<'a, C: Clock = SystemClock> {
    engine: &'a Engine<C>,
    held: Held,
}

impl<'a, C: Clock> Lease<'a, C> {
    pub(crate) const fn new(engine: &'a Engine<C>, held: Held) -> Self {
        Self { engine, held }
    }

    fn engine(&self) -> &Engine<C> {
        self.engine
    }

    fn settle<R>(&mut self, with: impl FnOnce(&mut Held, &Engine<C>) -> R) -> R {
        with(&mut self.held, self.engine)
    }
}

settling!(claim, C: Clock> Lease<'_, C>);

impl<C: Clock> fmt::Debug for Lease<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.held).finish()
    }
}

impl<C: Clock> Drop for Lease<'_, C> {
    fn drop(&mut self) {
        self.held.release(self.engine);
    }
}

/// A claimed id that keeps its set alive: move it into a task or a queue, and complete it there.
///
/// # Examples
///
/// ```
/// use hapax::{Claim, DedupSet, OwnedLease};
/// use std::{collections::VecDeque, sync::Arc, time::Duration};
///
/// let seen = Arc::new(DedupSet::new(Duration::from_secs(60)));
/// let mut queue: VecDeque<OwnedLease> = VecDeque::new();
/// if let Claim::First(lease) = seen.claim_owned("evt_1")? {
///     queue.push_back(lease);
/// }
/// for lease in queue.drain(..) {
///     lease.complete()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a lease that is dropped gives the id up"]
pub struct OwnedLease<S: HashPair = Seeds, C: Clock = SystemClock> {
    set: Arc<DedupSet<S, C>>,
    held: Held,
}

impl<S: HashPair, C: Clock> OwnedLease<S, C> {
    pub(crate) const fn new(set: Arc<DedupSet<S, C>>, held: Held) -> Self {
        Self { set, held }
    }

    fn engine(&self) -> &Engine<C> {
        &self.set.engine
    }

    fn settle<R>(&mut self, with: impl FnOnce(&mut Held, &Engine<C>) -> R) -> R {
        with(&mut self.held, &self.set.engine)
    }
}

settling!(claim_owned, S: HashPair, C: Clock> OwnedLease<S, C>);

impl<S: HashPair, C: Clock> fmt::Debug for OwnedLease<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedLease").field(&self.held).finish()
    }
}

impl<S: HashPair, C: Clock> Drop for OwnedLease<S, C> {
    fn drop(&mut self) {
        self.held.release(&self.set.engine);
    }
}
