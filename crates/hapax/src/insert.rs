//! **The protocol**: how an id is inserted so that exactly one caller is told *first*.
//!
//! Nothing is locked and nothing is ever moved. An inserter
//!
//! 1. reads the clock, then the tables and their marks, and **scans** every slot the id can be
//!    in; a live entry of it is the answer;
//! 2. **raises the marks** that cover the slot it is going to use;
//! 3. **reserves** that slot, writes the fingerprint, and **publishes** it as undecided;
//! 4. passes a sequentially consistent **fence** and **rescans** everything that is marked *now*:
//!    a live entry of the id wins; of two undecided ones the lower position wins, and the winner
//!    kills the loser; an ended entry is freed, so that a late holder cannot bring it back;
//! 5. **commits** by compare-exchange. That instant is when the insert takes effect.
//!
//! **Why one winner.** Two inserters of one id both publish before they rescan, with a fence
//! between. The fences have an order, so the one whose fence is later sees what the other has
//! published. Whoever sees the other undecided either yields to it or kills it, by position, and
//! positions are ordered, so not both go on. Whoever sees the other decided reports a duplicate.
//! And a rescan misses nothing: every mark that covers an entry was raised before the entry was
//! published, hence before its inserter's fence; a new list of tables was named in `newest` before
//! anything was published in its tables. *Raise the mark, publish, fence, rescan everything
//! marked*: insert, spill, growth and shrinking all rest on this one sentence.
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
    mark::Turn,
    shard::{Grown, Shard, Tables},
    slot::Meta,
    sync::{self, Backoff, Ordering, Step, fence},
    table::{Closed, Found, Look, Place, Room, Table, Verdict},
    timeline::{Timeline, deadline_ms},
    wheel::Kind,
};

/// What the caller wants in the set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) kind: Kind,
    /// From the reading to the deadline.
    pub(crate) span_ms: u64,
}

impl Want {
    /// A claim whose lease ends `span_ms` after the reading.
    pub(crate) fn claim(shard: &Shard, span_ms: u64) -> Self {
        Self {
            kind: shard.wheel.kind_of_lease(span_ms),
            span_ms,
        }
    }
}

/// How an insert ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    First(Token),
    Duplicate,
    InFlight { remaining_ms: u64 },
    Full,
}

/// Where an entry was committed, and the exact word. No word recurs while its holder may still
/// use it, so the word is the proof that a claim is still his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) table: u64,
    pub(crate) home: usize,
    pub(crate) place: Place,
    /// The spill mark that covers the entry.
    pub(crate) turn: Turn,
    /// What the entry is booked as.
    pub(crate) kind: Kind,
    pub(crate) meta: Meta,
}

/// One insert into one shard.
#[derive(Debug)]
pub(crate) struct Insert<'s, C> {
    pub(crate) shard: &'s Shard,
    pub(crate) time: &'s Timeline<C>,
    pub(crate) counters: &'s Counters,
    pub(crate) probe: Probe,
    pub(crate) want: Want,
}

/// How one attempt ended.
enum Attempt {
    Decided(Answer),
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

impl<C: Clock> Insert<'_, C> {
    #[inline]
    pub(crate) fn run(&self) -> Answer {
        let mut backoff = Backoff::new(self.probe.seed());
        loop {
            // The clock first: a mark read before it could be raised and relied on in between.
            let now_ms = self.time.now_ms();
            // Before the hint is read: the first id after a silent spell must not go to, and so
            // keep, the table of the last burst.
            self.shard.tidy_if_due(now_ms);
            let hint = self.shard.hint();
            let tables = self.shard.tables();
            let current = self.shard.current(&tables, hint);
            let target = match self.scan(&tables, current, now_ms) {
                Scan::Live(meta) => return known(meta, now_ms),
                Scan::Undecided(table, rival) => {
                    // Its owner gets a moment; then it is sent back to start again.
                    backoff.pause();
                    table.kill(self.probe, rival);
                    continue;
                }
                Scan::Room(found) => found,
                Scan::NoRoom => match self.make_room(&tables, current) {
                    Room::StartAgain => continue,
                    Room::Taken(victim) => victim,
                    Room::None => return Answer::Full,
                },
            };
            match self.attempt(&tables, current, now_ms, target) {
                Attempt::Decided(answer) => return answer,
                Attempt::Yield => backoff.pause(),
                Attempt::StartAgain => {}
            }
        }
    }

    /// Step 1: looks through every table that is alive; for room only in the current one, or old
    /// tables and far places would never drain.
    #[inline]
    fn scan<'t>(&self, tables: &'t Tables<'_>, current: &'t Table, now_ms: u64) -> Scan<'t> {
        let mut nearest = None;
        if let Some(decided) = self.scan_table(tables.base(), current, now_ms, &mut nearest) {
            return decided;
        }
        for table in tables.grown() {
            if let Some(decided) = self.scan_table(table, current, now_ms, &mut nearest) {
                return decided;
            }
        }
        nearest.map_or(Scan::NoRoom, Scan::Room)
    }

    #[inline]
    fn scan_table<'t>(
        &self,
        table: &'t Table,
        current: &Table,
        now_ms: u64,
        nearest: &mut Option<Found>,
    ) -> Option<Scan<'t>> {
        let look = if table.serial() == current.serial() {
            table.look_for_room(self.probe, now_ms, nearest)
        } else if table.is_alive_at(now_ms) {
            table.look(self.probe, now_ms)
        } else {
            return None;
        };
        match look {
            Look::Live(found) => Some(Scan::Live(found.meta)),
            Look::Undecided(found) => Some(Scan::Undecided(table, found)),
            Look::Absent => None,
        }
    }

    /// Grows, or finds whom to push out. What it pushes out it has read after the clock, and will
    /// take by compare-exchange, so a scan that is out of date costs nobody his place.
    #[cold]
    fn make_room(&self, tables: &Tables<'_>, current: &Table) -> Room {
        let now_ms = self.time.now_ms();
        if self.shard.grow(tables, current, now_ms) == Grown::Moved {
            return Room::StartAgain;
        }
        current.earliest_done(self.probe, now_ms, self.shard.plan().forget_oldest)
    }

    /// Steps 2 to 5, for one target slot. Out of line, so that a look-up that finds a duplicate
    /// does not pay for its registers.
    #[inline(never)]
    fn attempt(&self, tables: &Tables<'_>, current: &Table, now_ms: u64, target: Found) -> Attempt {
        let (shard, probe, kind) = (self.shard, self.probe, self.want.kind);
        let is_claim = kind != Kind::Done;
        let home = current.home(probe);
        let turn = Turn::at(now_ms, shard.plan().turn_shift);
        let raise_marks = |ends_ms: u64| {
            // A claim is covered for one retention more, the latest that a `complete` may come.
            let more_ms = if is_claim { shard.plan().span_ms } else { 0 };
            let covered_ms = deadline_ms(ends_ms, more_ms);
            current.raise(covered_ms)?;
            if target.place.distance > 0 {
                current.raise_spill(home, turn, target.place.distance, covered_ms, now_ms);
            }
            Ok::<(), Closed>(())
        };

        // 2. Mark.
        let mut ends_ms = deadline_ms(now_ms, self.want.span_ms);
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
        if is_claim {
            // Slept until its own end? Then its word could equal one that an earlier holder of the
            // same end still has in his hand. Nobody who holds a token of this slot can share an
            // end that counts from a reading made after the slot was reserved.
            let later_ms = self.time.now_ms();
            if later_ms >= ends_ms {
                ends_ms = deadline_ms(later_ms, self.want.span_ms);
                if raise_marks(ends_ms).is_err() {
                    return Attempt::StartAgain;
                }
            }
        }
        slot.publish(probe, ends_ms);

        // 4. Fence, rescan. SeqCst: pairs with the same fence of every rival, and with those of
        // `complete` and `extend`: of any two, one sees what the other did before.
        fence(Ordering::SeqCst);
        let verdict = if shard.is_current(tables) {
            self.rescan(tables, current, now_ms, target.place)
        } else {
            self.rescan(&shard.tables(), current, now_ms, target.place)
        };
        sync::step(Step::Rescanned);
        match verdict {
            Verdict::Alone => {}
            Verdict::Live(meta) => return Attempt::Decided(known(meta, now_ms)),
            Verdict::Yield => return Attempt::Yield,
        }

        // 5. Commit. Booked before, so that whoever ends the entry finds it in the books.
        shard.wheel.book(kind, ends_ms);
        let Some(meta) = slot.commit(is_claim) else {
            shard.wheel.take_off(kind, ends_ms);
            return Attempt::StartAgain;
        };
        let token = Token {
            table: current.serial(),
            home,
            place: target.place,
            turn,
            kind,
            meta,
        };
        Attempt::Decided(Answer::First(token))
    }

    /// Step 4, over the tables as they are after the fence, and our own whatever its mark says.
    #[inline]
    fn rescan(&self, tables: &Tables<'_>, current: &Table, now_ms: u64, own: Place) -> Verdict {
        let others = tables
            .iter()
            .filter(|table| table.serial() != current.serial());
        for table in others.filter(|table| table.is_alive_at(now_ms)) {
            match table.rescan(self.probe, now_ms, current.serial(), own) {
                Verdict::Alone => {}
                other => return other,
            }
        }
        current.rescan(self.probe, now_ms, current.serial(), own)
    }
}

fn known(meta: Meta, now_ms: u64) -> Answer {
    if meta.is_held() {
        Answer::InFlight {
            remaining_ms: meta.deadline_ms() - now_ms,
        }
    } else {
        Answer::Duplicate
    }
}
