//! The sequential oracle: every answer of the set against the naive map.
//!
//! One thread, a clock that only the script moves, and one call after another:
//! so every answer, every remaining time and every counter is exact, and the
//! first difference is reported with the call that showed it. Where the set has
//! an audit (under `cfg(hapax_pause)` and when fuzzing), its whole structure is
//! checked after each call too.

use std::{fmt, mem, sync::Arc, time::Duration};

use hapax::{Claim, DedupSet, LeaseLost, ManualClock, Prefixed, Retention, Stats};

use crate::{
    collide::Collide,
    exactness::Exactness,
    lease::AnyLease,
    naive::{Holder, Id, Known, Naive},
    script::{Op, Script, Shape, Span},
    watchdog::{Watched, begin_call},
};

/// The clock never leaves the set's 34 years: what happens there is not exact.
const LAST_MS: u64 = 30 * 365 * 86_400_000;

/// The first difference between the set and the naive map.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which call of the script showed it.
    pub step: usize,
    /// That call; `None` after the last one.
    pub op: Option<Op>,
    /// What the naive map says, and what the set said.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "step {}, {op:?}: {}", self.step, self.what),
            None => write!(f, "after {} steps: {}", self.step, self.what),
        }
    }
}

impl std::error::Error for Difference {}

type Set = DedupSet<Prefixed<Collide>, Watched<ManualClock>>;

/// Runs a script on a set and on the naive map, and compares.
///
/// # Errors
///
/// The first [`Difference`].
///
/// # Panics
///
/// If a set of the script's shape cannot be built.
pub fn compare(script: &Script, exactness: Exactness) -> Result<(), Difference> {
    let clock = ManualClock::new();
    let set = Arc::new(build(&script.shape, clock.clone()));
    let mut run = Run {
        set: &set,
        clock,
        shape: script.shape,
        exactness,
        naive: Naive::new(exactness.extra_ms),
        leases: Vec::new(),
        filled: 0,
    };
    for (step, &op) in script.ops.iter().enumerate() {
        let found = |what| Difference {
            step,
            op: Some(op),
            what,
        };
        begin_call();
        run.step(op).map_err(found)?;
        run.compare_counts().map_err(found)?;
        #[cfg(any(hapax_pause, hapax_shuttle, fuzzing))]
        set.audit().map_err(found)?;
    }
    run.finish().map_err(|what| Difference {
        step: script.ops.len(),
        op: None,
        what,
    })
}

fn build(shape: &Shape, clock: ManualClock) -> Set {
    DedupSet::builder()
        .retention(Duration::from_millis(shape.retention_ms))
        .lease(Duration::from_millis(shape.lease_ms))
        .capacity(shape.capacity)
        .shards(shape.shards)
        .hasher(Collide {
            colliding: shape.colliding,
        })
        .clock(Watched(clock))
        .build()
        .expect("every shape of a script is within the builder's limits")
}

/// A lease of either form, with what the naive map knows it by.
struct Open<'s> {
    id: Id,
    serial: u64,
    lease: AnyLease<'s>,
}

struct Run<'s> {
    set: &'s Arc<Set>,
    clock: ManualClock,
    shape: Shape,
    exactness: Exactness,
    naive: Naive,
    leases: Vec<Open<'s>>,
    filled: u64,
}

type Compared = Result<(), String>;

fn same<T: PartialEq + fmt::Debug>(what: &str, naive: T, set: T) -> Compared {
    if naive == set {
        Ok(())
    } else {
        Err(format!("{what}: expected {naive:?}, the set says {set:?}"))
    }
}

fn within(what: &str, naive: u64, more: u64, set: u64) -> Compared {
    if (naive..=naive + more).contains(&set) {
        Ok(())
    } else {
        Err(format!(
            "{what}: expected {naive} and at most {more} more, the set says {set}"
        ))
    }
}

impl<'s> Run<'s> {
    fn step(&mut self, op: Op) -> Compared {
        let retention_ms = self.shape.retention_ms;
        match op {
            Op::Mark(id) => {
                let first = self.set.check_and_mark(&u64::from(id));
                self.marked(id, retention_ms, first)
            }
            Op::TryMark(id) => {
                let answer = self.set.try_check_and_mark(&u64::from(id));
                self.marked(id, retention_ms, answer.map_err(|full| full.to_string())?)
            }
            Op::MarkFor(id, span) => {
                let Some((retention, ms)) = self.retention(span)? else {
                    return Ok(());
                };
                let first = self.set.check_and_mark_for(&u64::from(id), retention);
                self.marked(id, ms, first)
            }
            Op::MarkMany(id) => {
                let ids = [id, id + 1, id, id + 2];
                let mut answers = vec![true; 9];
                self.set
                    .check_and_mark_many(&ids.map(u64::from), &mut answers);
                same("number of answers", ids.len(), answers.len())?;
                ids.iter()
                    .zip(answers)
                    .try_for_each(|(&id, first)| self.marked(id, retention_ms, first))
            }
            Op::Fill(ids) => (0..ids).try_for_each(|_| {
                self.filled += 1;
                let id = 1_000 + self.filled;
                let first = self.set.check_and_mark(&id);
                let naive = self.naive.mark(id, retention_ms) == Known::No;
                same("first mark of a new id", naive, first)
            }),
            Op::Claim(id) => {
                let claim = self.set.claim(&u64::from(id));
                self.claimed(id, self.shape.lease_ms, claim, AnyLease::Borrowed)
            }
            Op::ClaimFor(id, span) => {
                let ms = self.lease_ms(span);
                let claim = self.set.claim_for(&u64::from(id), self.asked(span));
                self.claimed(id, ms, claim, AnyLease::Borrowed)
            }
            Op::ClaimOwned(id) => {
                let claim = self.set.claim_owned(&u64::from(id));
                self.claimed(id, self.shape.lease_ms, claim, AnyLease::Owned)
            }
            Op::ClaimOwnedFor(id, span) => {
                let ms = self.lease_ms(span);
                let claim = self.set.claim_owned_for(&u64::from(id), self.asked(span));
                self.claimed(id, ms, claim, AnyLease::Owned)
            }
            Op::Complete(nth) => self.complete(nth, None),
            Op::CompleteFor(nth, span) => match self.retention(span)? {
                Some(retention) => self.complete(nth, Some(retention)),
                None => Ok(()),
            },
            Op::Release(nth) => {
                self.give_back(nth, AnyLease::release);
                Ok(())
            }
            Op::Drop(nth) => {
                self.give_back(nth, drop);
                Ok(())
            }
            Op::Abandon(nth) => {
                if let Some(open) = self.take(nth) {
                    mem::forget(open.lease);
                }
                Ok(())
            }
            Op::Extend(nth, span) => self.extend(nth, span),
            Op::Contains(id) => {
                let naive = self.naive.known(id.into()) != Known::No;
                same("contains", naive, self.set.contains(&u64::from(id)))
            }
            Op::Forget(id) => {
                let naive = self.naive.forget(id.into());
                same("forget", naive, self.set.forget(&u64::from(id)))
            }
            Op::Clear => {
                self.naive.clear();
                self.set.clear();
                Ok(())
            }
            Op::Tick => {
                self.set.tick();
                Ok(())
            }
            Op::Advance(span) => {
                let ms = self.shape.ms(span);
                if self.naive.now_ms() + ms < LAST_MS {
                    self.naive.advance(ms);
                    self.clock.advance(Duration::from_millis(ms));
                }
                Ok(())
            }
        }
    }

    fn marked(&mut self, id: u16, retention_ms: u64, first: bool) -> Compared {
        let known = self.naive.mark(id.into(), retention_ms);
        same("first", known == Known::No, first)
    }

    fn claimed<L, E: fmt::Display>(
        &mut self,
        id: u16,
        lease_ms: u64,
        claim: Result<Claim<L>, E>,
        lease: impl FnOnce(L) -> AnyLease<'s>,
    ) -> Compared {
        let claim = claim.map_err(|full| format!("claim: {full}"))?;
        let id = Id::from(id);
        let (known, serial) = self.naive.claim(id, lease_ms);
        match (known, claim) {
            (Known::No, Claim::First(granted)) => {
                let lease = lease(granted);
                self.leases.push(Open { id, serial, lease });
                Ok(())
            }
            (Known::Done, Claim::Duplicate) => Ok(()),
            (Known::InFlight { remaining_ms }, Claim::InFlight { remaining }) => {
                same("remaining", Duration::from_millis(remaining_ms), remaining)
            }
            (known, Claim::First(_)) => Err(format!("claim: expected {known:?}, the set: First")),
            (known, Claim::InFlight { .. }) => {
                Err(format!("claim: expected {known:?}, the set: InFlight"))
            }
            (known, Claim::Duplicate) => {
                Err(format!("claim: expected {known:?}, the set: Duplicate"))
            }
        }
    }

    fn take(&mut self, nth: u8) -> Option<Open<'s>> {
        let open = self.leases.len();
        (open > 0).then(|| self.leases.swap_remove(usize::from(nth) % open))
    }

    fn complete(&mut self, nth: u8, retention: Option<(Retention, u64)>) -> Compared {
        let Some(Open { id, serial, lease }) = self.take(nth) else {
            return Ok(());
        };
        let ms = retention.map_or(self.shape.retention_ms, |(_, ms)| ms);
        let answer = match retention {
            Some((retention, _)) => lease.complete_for(retention),
            None => lease.complete(),
        };
        if self.holder_was_told("complete", id, serial, answer)? {
            self.naive.complete(id, ms);
        }
        Ok(())
    }

    fn extend(&mut self, nth: u8, span: Span) -> Compared {
        let ms = self.lease_ms(span);
        let by = self.asked(span);
        let open = self.leases.len();
        if open == 0 {
            return Ok(());
        }
        let Open { id, serial, lease } = &mut self.leases[usize::from(nth) % open];
        let answer = lease.extend(by);
        let (id, serial) = (*id, *serial);
        if self.holder_was_told("extend", id, serial, answer)? {
            self.naive.extend(id, ms);
        }
        Ok(())
    }

    /// Compares what a holder was told; tells whether he still held the id.
    fn holder_was_told(
        &mut self,
        what: &str,
        id: Id,
        serial: u64,
        answer: Result<(), LeaseLost>,
    ) -> Result<bool, String> {
        match self.naive.holder(id, serial) {
            Holder::Holds => same(what, Ok(()), answer)?,
            Holder::Lost => same(what, Err(LeaseLost), answer)?,
            Holder::Late if answer.is_err() => self.naive.lose(id),
            Holder::Late => {}
        }
        Ok(answer.is_ok())
    }

    fn give_back(&mut self, nth: u8, how: impl FnOnce(AnyLease<'s>)) {
        if let Some(Open { id, serial, lease }) = self.take(nth) {
            how(lease);
            self.naive.release(id, serial);
        }
    }

    /// The validated retention for one call, and its ms; `None` where the set
    /// refuses it, as it must outside 1 ms to its own.
    fn retention(&self, span: Span) -> Result<Option<(Retention, u64)>, String> {
        let ms = self.shape.ms(span);
        let legal = (1..=self.shape.retention_ms).contains(&ms);
        let retention = self.set.retention(Duration::from_millis(ms));
        same("a retention is valid", legal, retention.is_ok())?;
        Ok(retention.ok().map(|retention| (retention, ms)))
    }

    /// A lease for one call, as the set clamps it.
    fn lease_ms(&self, span: Span) -> u64 {
        self.shape.ms(span).clamp(1, self.shape.retention_ms)
    }

    /// The lease to ask for: the set clamps it.
    fn asked(&self, span: Span) -> Duration {
        Duration::from_millis(self.shape.ms(span))
    }

    fn compare_counts(&mut self) -> Compared {
        let tick_ms = self.tick_ms();
        let census = self.naive.census(tick_ms);
        let stats = self.set.stats();
        let books = self.naive.books;
        within("stats.live", census.live, census.fading, stats.live)?;
        let (in_flight, fading) = (census.in_flight, census.fading);
        within("stats.in_flight", in_flight, fading, stats.in_flight)?;
        let len = self.set.len() as u64;
        within("len", census.live, census.fading, len)?;
        same("is_empty", len == 0, self.set.is_empty())?;
        same("stats.first", books.first, stats.first)?;
        same(
            "stats.duplicate + stats.busy",
            books.not_first,
            stats.duplicate + stats.busy,
        )?;
        same("stats.forgotten", books.forgotten, stats.forgotten)?;
        same("stats.cleared", books.cleared, stats.cleared)?;
        same("stats.forgotten_early", 0, stats.forgotten_early)?;
        same("stats.refused", 0, stats.refused)?;
        same("stats.unrecorded", 0, stats.unrecorded)?;
        if self.exactness.books_at_every_instant {
            accounted(&stats)?;
        }
        let late = stats.released.wrapping_sub(books.released);
        if late > books.released_late {
            return Err(format!(
                "stats.released: expected {} to {}, the set says {}",
                books.released,
                books.released + books.released_late,
                stats.released
            ));
        }
        Ok(())
    }

    /// How long the set may go on counting an entry that has ended: one tick of
    /// its books, about 1/128 of the retention and at least 1 ms.
    fn tick_ms(&self) -> u64 {
        (self.shape.retention_ms / 120).max(1)
    }

    /// Lets everything end, and checks that every *first* is accounted for.
    fn finish(&mut self) -> Compared {
        for Open { id, serial, lease } in mem::take(&mut self.leases) {
            drop(lease);
            self.naive.release(id, serial);
        }
        let rest_ms = self.shape.retention_ms + 2 * self.tick_ms() + 4;
        self.naive.advance(rest_ms);
        self.clock.advance(Duration::from_millis(rest_ms));
        self.set.tick();
        same("len when all is over", 0, self.set.len())?;
        let stats = self.set.stats();
        accounted(&stats)?;
        same("stats.live when all is over", 0, stats.live)?;
        Ok(())
    }
}

/// Every *first* is live, or it is known how it ended.
pub(crate) fn accounted(stats: &Stats) -> Compared {
    let ended = stats.expired
        + stats.released
        + stats.forgotten
        + stats.cleared
        + stats.forgotten_early
        + stats.lost_leases;
    if stats.first == stats.live + ended {
        Ok(())
    } else {
        Err(format!("a first is not accounted for: {stats:?}"))
    }
}
