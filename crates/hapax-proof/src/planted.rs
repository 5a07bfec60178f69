//! The set with a known bug planted between it and its callers.
//!
//! A means of proof that has never refused anything proves nothing. Each [`Bug`]
//! is built from the set's public calls alone, so it can be planted in any set;
//! `tests/planted.rs` states which means must notice which bug.

use std::{
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use hapax::{BuildError, Claim, Clock, DedupSet, Full, Lease, Prefixed, Stats};

use crate::{collide::Collide, script::Shape, watchdog::Watched};

/// A bug to be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Looks, then marks, in two steps: two callers may both be first.
    LooksThenMarks,
    /// Remembers for 5 ms less than asked.
    ForgetsEarly,
    /// Remembers for 10 ms more than asked.
    RemembersLate,
    /// Judges by the clock reading before the current one.
    ReadsClockLate,
    /// Tells every holder that completing worked.
    CompletesForAnyone,
    /// Tells every holder that extending worked.
    ExtendsForAnyone,
    /// A holder who is told that he has lost the id takes the mark away from
    /// whoever has overtaken him.
    LostHolderFrees,
    /// A released lease stays until it ends.
    KeepsReleased,
    /// `forget` says that it forgot whatever `contains` knows.
    ForgetsInFlight,
    /// `forget` says so and does nothing.
    ForgetsInWordsOnly,
    /// `clear` does nothing.
    ClearsNothing,
    /// A copy of an id in flight is told that it is done.
    CallsInFlightDone,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::LooksThenMarks,
        Self::ForgetsEarly,
        Self::RemembersLate,
        Self::ReadsClockLate,
        Self::CompletesForAnyone,
        Self::ExtendsForAnyone,
        Self::LostHolderFrees,
        Self::KeepsReleased,
        Self::ForgetsInFlight,
        Self::ForgetsInWordsOnly,
        Self::ClearsNothing,
        Self::CallsInFlightDone,
    ];
}

/// A clock that can show the reading before the current one.
#[derive(Debug)]
struct Lagging<C> {
    clock: Watched<C>,
    lags: bool,
    last_ms: AtomicU64,
}

impl<C: Clock> Clock for Lagging<C> {
    fn now(&self) -> Duration {
        let now = self.clock.now();
        if !self.lags {
            return now;
        }
        // Relaxed: a planted bug orders nothing.
        let last = self.last_ms.swap(now.as_millis() as u64, Ordering::Relaxed);
        Duration::from_millis(last)
    }

    fn resolution(&self) -> Duration {
        self.clock.resolution()
    }
}

/// The set as its callers in a plan see it: itself, or with one bug.
pub struct Subject<C: Clock> {
    set: DedupSet<Prefixed<Collide>, Lagging<C>>,
    bug: Option<Bug>,
    retention_ms: u64,
}

impl<C: Clock> Subject<C> {
    /// Builds a set of this shape.
    ///
    /// # Errors
    ///
    /// A [`BuildError`] where the shape is not within the builder's limits.
    pub fn new(shape: &Shape, clock: C, bug: Option<Bug>) -> Result<Self, BuildError> {
        let retention_ms = match bug {
            Some(Bug::ForgetsEarly) => shape.retention_ms.saturating_sub(5).max(1),
            Some(Bug::RemembersLate) => shape.retention_ms + 10,
            _ => shape.retention_ms,
        };
        let set = DedupSet::builder()
            .retention(Duration::from_millis(retention_ms))
            .lease(Duration::from_millis(shape.lease_ms.min(retention_ms)))
            .capacity(shape.capacity)
            .shards(shape.shards)
            .hasher(Collide {
                colliding: shape.colliding,
            })
            .clock(Lagging {
                clock: Watched(clock),
                lags: bug == Some(Bug::ReadsClockLate),
                last_ms: AtomicU64::new(0),
            })
            .build()?;
        Ok(Self {
            set,
            bug,
            retention_ms,
        })
    }

    /// Marks the id; `true` says first.
    #[must_use]
    pub fn mark(&self, id: u64) -> bool {
        if self.bug == Some(Bug::LooksThenMarks) {
            if self.set.contains(&id) {
                return false;
            }
            std::thread::yield_now();
            self.set.check_and_mark(&id);
            return true;
        }
        self.set.check_and_mark(&id)
    }

    /// Marks the id for at most so many ms; `true` says first.
    #[must_use]
    pub fn mark_for(&self, id: u64, ms: u64) -> bool {
        match self
            .set
            .retention(Duration::from_millis(ms.min(self.retention_ms)))
        {
            Ok(retention) => self.set.check_and_mark_for(&id, retention),
            Err(_) => self.mark(id),
        }
    }

    /// Claims the id for so many ms.
    ///
    /// # Errors
    ///
    /// [`Full`] where the set is at its limit; nothing has happened then.
    pub fn claim(&self, id: u64, lease_ms: u64) -> Result<Claim<Holder<'_, C>>, Full> {
        let claim = self.set.claim_for(&id, Duration::from_millis(lease_ms))?;
        Ok(match claim {
            Claim::First(lease) => Claim::First(Holder {
                subject: self,
                id,
                lease,
            }),
            Claim::InFlight { .. } if self.bug == Some(Bug::CallsInFlightDone) => Claim::Duplicate,
            Claim::InFlight { remaining } => Claim::InFlight { remaining },
            Claim::Duplicate => Claim::Duplicate,
        })
    }

    /// Tells whether the id is known.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        self.set.contains(&id)
    }

    /// Forgets the id if it is done; tells whether it was.
    #[must_use]
    pub fn forget(&self, id: u64) -> bool {
        match self.bug {
            Some(Bug::ForgetsInFlight) => self.set.forget(&id) || self.set.contains(&id),
            Some(Bug::ForgetsInWordsOnly) => self.set.contains(&id),
            _ => self.set.forget(&id),
        }
    }

    /// Forgets every id that is done.
    pub fn clear(&self) {
        if self.bug != Some(Bug::ClearsNothing) {
            self.set.clear();
        }
    }

    /// Lets the set tidy up.
    pub fn tick(&self) {
        self.set.tick();
    }

    /// What the set has counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.set.stats()
    }
}

/// A lease on one id of a [`Subject`].
pub struct Holder<'s, C: Clock> {
    subject: &'s Subject<C>,
    id: u64,
    lease: Lease<'s, Lagging<C>>,
}

impl<C: Clock> Holder<'_, C> {
    /// The id that is held.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Completes, to be remembered for so many ms; `false` says that the lease
    /// was lost.
    #[must_use]
    pub fn complete(self, retention_ms: Option<u64>) -> bool {
        let Self { subject, id, lease } = self;
        let retention = retention_ms.and_then(|ms| {
            let ms = ms.min(subject.retention_ms);
            subject.set.retention(Duration::from_millis(ms)).ok()
        });
        let answer = match retention {
            Some(retention) => lease.complete_for(retention),
            None => lease.complete(),
        };
        if answer.is_err() && subject.bug == Some(Bug::LostHolderFrees) {
            subject.set.forget(&id);
        }
        answer.is_ok() || subject.bug == Some(Bug::CompletesForAnyone)
    }

    /// Extends to so many ms from now; `false` says that the lease was lost.
    #[must_use]
    pub fn extend(&mut self, by_ms: u64) -> bool {
        let answer = self.lease.extend(Duration::from_millis(by_ms));
        answer.is_ok() || self.subject.bug == Some(Bug::ExtendsForAnyone)
    }

    /// Gives the id back.
    pub fn release(self) {
        if self.subject.bug == Some(Bug::KeepsReleased) {
            mem::forget(self.lease);
        } else {
            self.lease.release();
        }
    }

    /// Goes away without giving the id back, as a crashed process does.
    pub fn abandon(self) {
        mem::forget(self.lease);
    }
}
