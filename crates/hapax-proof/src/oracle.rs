//! The sequential oracle: every answer of the set against the naive map.
//!
//! One thread, a clock that only the script moves, and one call after another:
//! so every answer, every remaining time and every counter is exact, and the
//! first difference is reported with the call that showed it. Where the set has
//! an audit (under `cfg(hapax_pause)` and when fuzzing), its whole structure is
//! checked after each call too.

use std::{mem, sync::Arc, time::Duration};

use hapax::{Claim, DedupSet, Full, LeaseLost, ManualClock, Prefixed, Retention, Stats};

use crate::{
    collide::Collide,
    difference::{Compared, Difference, same, within},
    exactness::Exactness,
    lease::AnyLease,
    limit::{AtLimit, Limit, Told},
    naive::{Books, Holder, Id, Known, Naive},
    script::{Op, Script, Shape, Span},
    watchdog::{Watched, begin_call},
};

/// The clock never leaves the set's 34 years: what happens there is not exact.
const LAST_MS: u64 = 30 * 365 * 86_400_000;

pub(crate) type Set = DedupSet<Prefixed<Collide>, Watched<ManualClock>>;

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
    run(script, None, exactness).map(drop)
}

/// Runs a script on a set with a limit, and on the naive map, and compares:
/// every answer, and who had to make room (see [`limit`](crate::limit)). Returns
/// the books, which tell whether the script reached the limit at all.
///
/// # Errors
///
/// The first [`Difference`].
///
/// # Panics
///
/// If a set of the script's shape cannot be built.
pub fn compare_at_limit(
    script: &Script,
    limit: Limit,
    exactness: Exactness,
) -> Result<Books, Difference> {
    run(script, Some(limit), exactness)
}

fn run(script: &Script, limit: Option<Limit>, exactness: Exactness) -> Result<Books, Difference> {
    let clock = ManualClock::new();
    let set = Arc::new(build(&script.shape, limit, clock.clone()));
    let mut run = Run {
        set: &set,
        clock,
        shape: script.shape,
        exactness,
        naive: Naive::new(exactness.extra_ms),
        limit: limit.map(|limit| AtLimit::new(limit, &script.shape)),
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
        if let Some(limit) = &run.limit {
            limit.nobody_missing(&set, &run.naive).map_err(found)?;
        }
        #[cfg(any(hapax_pause, hapax_shuttle, fuzzing))]
        set.audit().map_err(found)?;
    }
    run.finish().map_err(|what| Difference {
        step: script.ops.len(),
        op: None,
        what,
    })?;
    Ok(run.naive.books)
}

fn build(shape: &Shape, limit: Option<Limit>, clock: ManualClock) -> Set {
    let builder = DedupSet::builder()
        .retention(Duration::from_millis(shape.retention_ms))
        .lease(Duration::from_millis(shape.lease_ms))
        .capacity(shape.capacity)
        .shards(shape.shards)
        .hasher(Collide {
            colliding: shape.colliding,
        })
        .clock(Watched(clock));
    let builder = match limit {
        Some(limit) => limit.of(builder, shape),
        None => builder,
    };
    builder
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
    limit: Option<AtLimit>,
    leases: Vec<Open<'s>>,
    filled: u64,
}

impl<'s> Run<'s> {
    fn step(&mut self, op: Op) -> Compared {
        let retention_ms = self.shape.retention_ms;
        match op {
            Op::Mark(id) => {
                let first = self.set.check_and_mark(&u64::from(id));
                self.marked(id.into(), retention_ms, first)
            }
            Op::TryMark(id) => match self.set.try_check_and_mark(&u64::from(id)) {
                Ok(first) => self.marked(id.into(), retention_ms, first),
                Err(Full) => self.told(id.into(), Told::Full),
            },
            Op::MarkFor(id, span) => {
                let Some((retention, ms)) = self.retention(span)? else {
                    return Ok(());
                };
                let first = self.set.check_and_mark_for(&u64::from(id), retention);
                self.marked(id.into(), ms, first)
            }
            Op::MarkMany(id) => {
                let ids = [id, id + 1, id, id + 2].map(Id::from);
                // At a limit one by one: it is to be seen which of them pushed whom out.
                let at_once = if self.limit.is_some() { 1 } else { ids.len() };
                ids.chunks(at_once)
                    .try_for_each(|ids| self.mark_many(ids, retention_ms))
            }
            Op::Fill(ids) => (0..ids).try_for_each(|_| self.fill(retention_ms)),
            Op::Claim(id) => {
                let claim = self.set.claim(&u64::from(id));
                self.claimed(id.into(), self.shape.lease_ms, claim, AnyLease::Borrowed)
            }
            Op::ClaimFor(id, span) => {
                let ms = self.lease_ms(span);
                let claim = self.set.claim_for(&u64::from(id), self.asked(span));
                self.claimed(id.into(), ms, claim, AnyLease::Borrowed)
            }
            Op::ClaimOwned(id) => {
                let claim = self.set.claim_owned(&u64::from(id));
                self.claimed(id.into(), self.shape.lease_ms, claim, AnyLease::Owned)
            }
            Op::ClaimOwnedFor(id, span) => {
                let ms = self.lease_ms(span);
                let claim = self.set.claim_owned_for(&u64::from(id), self.asked(span));
                self.claimed(id.into(), ms, claim, AnyLease::Owned)
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

    fn mark_many(&mut self, ids: &[Id], retention_ms: u64) -> Compared {
        let mut answers = vec![true; 9];
        self.set.check_and_mark_many(ids, &mut answers);
        same("number of answers", ids.len(), answers.len())?;
        ids.iter()
            .zip(answers)
            .try_for_each(|(&id, first)| self.marked(id, retention_ms, first))
    }

    fn fill(&mut self, retention_ms: u64) -> Compared {
        self.filled += 1;
        let id = 1_000 + self.filled;
        if self.limit.as_ref().is_some_and(|l| l.is_claimed(id)) {
            let claim = self.set.claim(&id);
            return self.claimed(id, self.shape.lease_ms, claim, AnyLease::Borrowed);
        }
        let first = self.set.check_and_mark(&id);
        self.marked(id, retention_ms, first)
    }

    fn marked(&mut self, id: Id, retention_ms: u64, first: bool) -> Compared {
        let known = self.naive.mark(id, retention_ms);
        same("first", known == Known::No, first)?;
        self.told(id, Told::of(known))
    }

    /// Follows what the answer to one insert means at the limit.
    fn told(&mut self, id: Id, told: Told) -> Compared {
        match &mut self.limit {
            Some(limit) => limit.follow(self.set, &mut self.naive, id, told),
            None if told == Told::Full => Err("full, without a limit".into()),
            None => Ok(()),
        }
    }

    fn claimed<L>(
        &mut self,
        id: Id,
        lease_ms: u64,
        claim: Result<Claim<L>, Full>,
        lease: impl FnOnce(L) -> AnyLease<'s>,
    ) -> Compared {
        let Ok(claim) = claim else {
            return self.told(id, Told::Full);
        };
        let (known, serial) = self.naive.claim(id, lease_ms);
        let compared = match (known, claim) {
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
        };
        compared.and_then(|()| self.told(id, Told::of(known)))
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
        let early = books.forgotten_early;
        same("stats.forgotten_early", early, stats.forgotten_early)?;
        same("stats.refused", books.refused, stats.refused)?;
        same("stats.unrecorded", books.unrecorded, stats.unrecorded)?;
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
