//! **The protocol**: how an id is inserted so that exactly one caller is told *first*.
//!
//! Nothing is locked and nothing is ever moved. An inserter
//!
//! 1. reads the clock, then the hint, the tables and their marks, and **scans** every slot the id
//!    can be in, with a sequentially consistent **fence** before the tables that the hint does not
//!    name; a live entry of the id is the answer;
//! 2. **raises the marks** that cover the slot it is going to use, in the table the hint names;
//! 3. **reserves** that slot, writes the fingerprint, and **publishes** it as undecided;
//! 4. passes a **fence**, starts again if the hint has moved, and **rescans** everything in this
//!    table that is marked *now*: a live entry of the id wins; of two undecided ones the lower
//!    place wins, and the winner kills the loser;
//! 5. **commits** by compare-exchange. That instant is when the insert takes effect.
//!
//! **Why one winner.** *In one table*, two inserters of one id both publish before they rescan,
//! with a fence between. The fences have an order, so the one whose fence is later sees what the
//! other has published. Whoever sees the other undecided either yields to it or kills it, by
//! place, and places are ordered, so not both go on. Whoever sees the other decided reports a
//! duplicate. And a rescan misses nothing: every mark that covers an entry was raised before the
//! entry was published, hence before its inserter's fence.
//!
//! *In two tables*, the two have read different hints, one earlier in the order of its moves. The
//! earlier goes on only if it still finds its hint after its second fence. So that fence comes
//! before the first fence of the later, which has read a hint from after the move; and so the
//! later, when it scans the other tables, sees what the earlier has published there. It reports a
//! duplicate, or kills what is undecided and starts again. (If the later sees only one table, the
//! other was closed before: what was in it is over.)
//!
//! An ended entry of the id is freed by whoever comes by, so that a late holder cannot bring it
//! back. *Raise the mark, publish, fence, look at everything marked*: insert, spill, growth and
//! shrinking all rest on this one sentence.
//!
//! **Why it ends.** No step waits for another thread. A slot that a descheduled thread has
//! reserved is merely not free; what it has published can be killed. Inserts of different ids are
//! lock-free. A race on one id is obstruction-free, with a randomised pause after each collision.
//!
//! **Expiry** costs nothing: an entry whose deadline has passed *is* a free slot.

use crate::{
    clock::Clock,
    counters::{Counters, Event},
    hash::Probe,
    hint::Hint,
    list::Tables,
    place::{Found, Place},
    shard::{Grown, Shard},
    slot::Meta,
    sync::{self, Backoff, Ordering, Step, fence},
    table::{Closed, Look, Room, Table, Verdict},
    timeline::{Timeline, deadline_ms},
    wheel::Kind,
};

/// What an insert is for: a mark, or a claim.
///
/// Two types rather than a flag, so that a mark compiles to code that knows nothing of claims.
pub(crate) trait Goal: Copy {
    /// What the caller gets who is first.
    type First;
    const IS_CLAIM: bool;

    /// From the reading to the deadline.
    fn span_ms(self) -> u64;
    /// What the entry is booked as.
    fn kind(self) -> Kind;
    fn first(self, entry: impl FnOnce() -> Token) -> Self::First;
}

/// To be done, and remembered for as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) span_ms: u64,
}

/// To be in flight, for a lease as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    span_ms: u64,
    kind: Kind,
}

impl Goal for Mark {
    type First = ();
    const IS_CLAIM: bool = false;

    fn span_ms(self) -> u64 {
        self.span_ms
    }
    fn kind(self) -> Kind {
        Kind::Done
    }
    fn first(self, _: impl FnOnce() -> Token) {}
}

impl Claimed {
    pub(crate) fn for_span(shard: &Shard, span_ms: u64) -> Self {
        Self {
            span_ms,
            kind: shard.wheel.kind_of_lease(span_ms),
        }
    }
}

impl Goal for Claimed {
    type First = Token;
    const IS_CLAIM: bool = true;

    fn span_ms(self) -> u64 {
        self.span_ms
    }
    fn kind(self) -> Kind {
        self.kind
    }
    fn first(self, entry: impl FnOnce() -> Token) -> Token {
        entry()
    }
}

/// Where a claim was committed, and the exact word. No word recurs while its holder may still use
/// it, so the word is the proof that the claim is still his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) table: u64,
    pub(crate) home: usize,
    pub(crate) place: Place,
    /// What the entry is booked as.
    pub(crate) kind: Kind,
    pub(crate) meta: Meta,
}

/// How an insert ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<F> {
    First(F),
    Duplicate,
    InFlight { remaining_ms: u64 },
    Full,
}

/// One insert into one shard.
#[derive(Debug)]
pub(crate) struct Insert<'s, C, G> {
    pub(crate) shard: &'s Shard,
    pub(crate) time: &'s Timeline<C>,
    pub(crate) counters: &'s Counters,
    pub(crate) probe: Probe,
    pub(crate) goal: G,
}

/// How one attempt ended.
enum Attempt<F> {
    Decided(Answer<F>),
    /// Another inserter of the same id has the better right.
    Yield,
    StartAgain,
}

/// What the first scan found.
enum Scan<'t> {
    Live(Meta),
    Undecided(&'t Table, Found),
    Room(Found),
    NoRoom,
}

impl<C: Clock, G: Goal> Insert<'_, C, G> {
    #[inline]
    pub(crate) fn run(&self) -> Answer<G::First> {
        let mut backoff = Backoff::new(self.probe.seed());
        let mut is_retry = false;
        loop {
            // The clock first: a mark read before it could be raised and relied on in between.
            let now_ms = self.time.now_ms();
            if !is_retry {
                // Before the hint is read: the first id after a silent spell must not go to, and
                // so keep, the table of the last burst. Once per call: tidying may move the hint
                // down again that this call has moved up, because its own run is full.
                self.shard.tidy_if_due(now_ms);
                is_retry = true;
            }
            let hint = self.shard.hint();
            let tables = self.shard.tables();
            let Some(current) = self.shard.current(&tables, hint) else {
                continue;
            };
            let scanned = if tables.grown().is_empty() {
                // The usual case, written out so that it can be compiled into the caller.
                self.scan_current(current, now_ms)
            } else {
                self.scan_all(&tables, current, now_ms)
            };
            let target = match scanned {
                Scan::Live(meta) => return known(meta, now_ms),
                Scan::Undecided(table, rival) => {
                    // Its owner gets a moment; then it is sent back to start again.
                    backoff.pause();
                    table.kill(self.probe, rival);
                    continue;
                }
                Scan::Room(found) => found,
                Scan::NoRoom => match self.make_room(&tables, hint, current) {
                    Room::StartAgain => continue,
                    Room::Taken(victim) => victim,
                    Room::None => return Answer::Full,
                },
            };
            match self.attempt(hint, current, now_ms, target) {
                Attempt::Decided(answer) => return answer,
                Attempt::Yield => backoff.pause(),
                Attempt::StartAgain => {}
            }
        }
    }

    /// Step 1 where there is one table.
    #[inline]
    fn scan_current<'t>(&self, current: &'t Table, now_ms: u64) -> Scan<'t> {
        let mut nearest = None;
        match current.look_for_room(self.probe, now_ms, &mut nearest) {
            Look::Live(found) => Scan::Live(found.meta),
            Look::Undecided(found) => Scan::Undecided(current, found),
            Look::Absent => nearest.map_or(Scan::NoRoom, Scan::Room),
        }
    }

    /// Step 1 where there are several: looks through every table that is alive, the current one
    /// and then the newest first, where most ids are; for room only in the current one, or old
    /// tables and far places would never drain. What is over in the others is freed now; nobody
    /// will look there again.
    #[inline(never)]
    fn scan_all<'t>(&self, tables: &'t Tables<'_>, current: &'t Table, now_ms: u64) -> Scan<'t> {
        let in_current = self.scan_current(current, now_ms);
        if matches!(in_current, Scan::Live(_) | Scan::Undecided(..)) {
            return in_current;
        }
        // SeqCst: pairs with the fence after `publish` of whoever uses another table: either he
        // finds the hint moved, or we see here what he has published. And with those of `complete`
        // and `extend`: either we see the marks they raised, or they read no earlier time than we.
        fence(Ordering::SeqCst);
        for table in tables.newest_first() {
            if table.serial() == current.serial() || !table.is_alive_at(now_ms) {
                continue;
            }
            match table.judge_copies(self.probe, now_ms, None) {
                Verdict::Alone => {}
                Verdict::Live(meta) => return Scan::Live(meta),
                Verdict::Yield(found) => return Scan::Undecided(table, found),
            }
        }
        in_current
    }

    /// Grows, or finds whom to push out. What it pushes out it has read after the clock, and will
    /// take by compare-exchange, so a scan that is out of date costs nobody his place.
    #[cold]
    fn make_room(&self, tables: &Tables<'_>, hint: Hint, current: &Table) -> Room {
        let now_ms = self.time.now_ms();
        if self.shard.grow(tables, hint, current, now_ms) == Grown::Moved {
            return Room::StartAgain;
        }
        current.earliest_done(self.probe, now_ms, self.shard.plan().forget_oldest)
    }

    /// Steps 2 to 5, for one target slot. Out of line, so that a look-up that finds a duplicate
    /// does not pay for its registers.
    #[inline(never)]
    fn attempt(
        &self,
        hint: Hint,
        current: &Table,
        now_ms: u64,
        target: Found,
    ) -> Attempt<G::First> {
        let (shard, probe, kind) = (self.shard, self.probe, self.goal.kind());
        let home = current.home(probe);
        let raise_marks = |ends_ms: u64| {
            // A claim is covered for one retention more, the latest that a `complete` may come.
            let more_ms = if G::IS_CLAIM { shard.plan().span_ms } else { 0 };
            let covered_ms = deadline_ms(ends_ms, more_ms);
            current.raise(covered_ms)?;
            if target.place.distance() > 0 {
                current.raise_spill(home, target.place.distance(), covered_ms, now_ms);
            }
            Ok::<(), Closed>(())
        };

        // 2. Mark.
        let mut ends_ms = deadline_ms(now_ms, self.goal.span_ms());
        if raise_marks(ends_ms).is_err() {
            return Attempt::StartAgain;
        }
        sync::step(Step::Marked);

        // 3. Reserve, publish.
        let Some(mut slot) = current.reserve(probe, target) else {
            return Attempt::StartAgain;
        };
        if !target.meta.is_takeable_at(now_ms) {
            shard.wheel.take_off(Kind::Done, target.meta.deadline_ms());
            self.counters.add(Event::ForgottenEarly);
        }
        if G::IS_CLAIM {
            // Slept until its own end? Then its word could equal one that an earlier holder of the
            // same end still has in his hand. Nobody who holds a token of this slot can share an
            // end that counts from a reading made after the slot was reserved.
            let later_ms = self.time.now_ms();
            if later_ms >= ends_ms {
                ends_ms = deadline_ms(later_ms, self.goal.span_ms());
                if raise_marks(ends_ms).is_err() {
                    return Attempt::StartAgain;
                }
            }
        }
        slot.publish(probe, ends_ms);

        // 4. Fence, rescan. SeqCst: pairs with the same fence of every rival in this table, with
        // the one in `scan_all` of every rival in another, and with those of `complete` and
        // `extend`: of any two, one sees what the other did before.
        fence(Ordering::SeqCst);
        if !shard.is_still(hint) {
            return Attempt::StartAgain;
        }
        let verdict = current.judge_copies(probe, now_ms, Some(target.place));
        sync::step(Step::Rescanned);
        match verdict {
            Verdict::Alone => {}
            Verdict::Live(meta) => return Attempt::Decided(known(meta, now_ms)),
            Verdict::Yield(_) => return Attempt::Yield,
        }

        // 5. Commit. Booked before, so that whoever ends the entry finds it in the books.
        shard.wheel.book(kind, ends_ms);
        let Some(meta) = slot.commit(G::IS_CLAIM) else {
            shard.wheel.take_off(kind, ends_ms);
            return Attempt::StartAgain;
        };
        let table = current.serial();
        let entry = || Token {
            table,
            home,
            place: target.place,
            kind,
            meta,
        };
        Attempt::Decided(Answer::First(self.goal.first(entry)))
    }
}

fn known<F>(meta: Meta, now_ms: u64) -> Answer<F> {
    if meta.is_held() {
        Answer::InFlight {
            remaining_ms: meta.deadline_ms() - now_ms,
        }
    } else {
        Answer::Duplicate
    }
}
