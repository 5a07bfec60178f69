//! What happens to an entry after it was committed: complete, extend, release, forget, clear.
//!
//! Each is one compare-exchange from the exact word that was seen, and takes effect at it. The two
//! that lengthen an entry's life must also be sure that nobody has looked past it meanwhile:
//!
//! * A look-up skips an entry only where its table's mark or its home's spill mark has passed, by
//!   a clock reading taken before the mark was loaded. A claim's marks reach one retention beyond
//!   its lease. So whoever skipped a claim has read a clock past *lease end + retention*.
//! * The holder raises the marks, **then** passes a fence, **then** reads the clock, and refuses
//!   from *lease end + retention* on. Of his fence and the look-up's, one comes first: either the
//!   look-up sees the raised marks, finds the claim and frees it or answers with it, or the holder
//!   reads no earlier time than the look-up did, and refuses.
//!
//! So a late `complete` that nobody has overtaken succeeds, and one that was overtaken cannot.

use crate::{
    bucket::SLOTS,
    clock::Clock,
    hash::Probe,
    insert::Token,
    place::Found,
    shard::Shard,
    slot::Meta,
    sync::{self, AtomicU64, Ordering, Step, fence},
    table::Table,
    timeline::{Timeline, deadline_ms},
    wheel::Kind,
};

/// The claim is not this holder's any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost;

/// Turns a claim into a done entry that is remembered for `span_ms` from now.
pub(crate) fn complete<C: Clock>(
    shard: &Shard,
    token: Token,
    span_ms: u64,
    time: &Timeline<C>,
) -> Result<(), Lost> {
    let tables = shard.tables();
    let table = tables.by_serial(token.table).ok_or(Lost)?;
    let ends_ms = deadline_ms(time.now_ms(), span_ms);
    raise_and_judge(shard, table, token, ends_ms, time)?;

    shard.wheel.book(Kind::Done, ends_ms);
    // Release: pairs with the Acquire in a look-up: a caller told *duplicate* sees what the holder
    // has done.
    let done = token.meta.completed(ends_ms);
    if exchange(
        table.meta(token.home, token.place),
        token.meta,
        done,
        Ordering::Release,
    ) {
        shard.wheel.take_off(token.kind, token.meta.deadline_ms());
        Ok(())
    } else {
        shard.wheel.take_off(Kind::Done, ends_ms);
        Err(Lost)
    }
}

/// Moves the end of a lease to `span_ms` from now; never to an earlier instant.
pub(crate) fn extend<C: Clock>(
    shard: &Shard,
    token: Token,
    span_ms: u64,
    time: &Timeline<C>,
) -> Result<Token, Lost> {
    let tables = shard.tables();
    let table = tables.by_serial(token.table).ok_or(Lost)?;
    let slot = table.meta(token.home, token.place);
    // Relaxed: only so that a lost holder pins no marks; the compare-exchange decides.
    if slot.load(Ordering::Relaxed) != token.meta.bits() {
        return Err(Lost);
    }
    let now_ms = time.now_ms();
    let ends_ms = deadline_ms(now_ms, span_ms).max(token.meta.deadline_ms());
    raise_and_judge(
        shard,
        table,
        token,
        deadline_ms(ends_ms, shard.plan().span_ms),
        time,
    )?;

    // By the end that it really gets: the old one may be later than what was asked for.
    let kind = shard.wheel.kind_of_lease(ends_ms.saturating_sub(now_ms));
    shard.wheel.book(kind, ends_ms);
    // Relaxed: nothing of the holder's work is handed on yet.
    let longer = token.meta.extended(ends_ms);
    if exchange(slot, token.meta, longer, Ordering::Relaxed) {
        shard.wheel.take_off(token.kind, token.meta.deadline_ms());
        Ok(Token {
            kind,
            meta: longer,
            ..token
        })
    } else {
        shard.wheel.take_off(kind, ends_ms);
        Err(Lost)
    }
}

/// Raises a claim's marks, fences, and only then judges by the clock whether it is too late.
fn raise_and_judge<C: Clock>(
    shard: &Shard,
    table: &Table,
    token: Token,
    until_ms: u64,
    time: &Timeline<C>,
) -> Result<(), Lost> {
    table.raise(until_ms).map_err(|_| Lost)?;
    if token.place.distance() > 0 {
        let now_ms = time.now_ms();
        table.raise_spill(token.home, token.place.distance(), until_ms, now_ms);
    }
    sync::step(Step::Raised);
    // SeqCst: pairs with both fences of every insert, after which it looks for copies.
    fence(Ordering::SeqCst);
    let now_ms = time.now_ms();
    // SeqCst: the reading must not be taken for one after what follows.
    fence(Ordering::SeqCst);
    let too_late_ms = deadline_ms(token.meta.deadline_ms(), shard.plan().span_ms);
    if now_ms < too_late_ms {
        Ok(())
    } else {
        Err(Lost)
    }
}

/// Gives a claim up: the id is nobody's again. Changes nothing if somebody has overtaken it.
pub(crate) fn release(shard: &Shard, token: Token) -> bool {
    let tables = shard.tables();
    let Some(table) = tables.by_serial(token.table) else {
        return false;
    };
    let slot = table.meta(token.home, token.place);
    // Release: pairs with the Acquire in a look-up: the next to claim the id sees what this holder
    // has done so far.
    let released = exchange(slot, token.meta, token.meta.freed(), Ordering::Release);
    if released {
        shard.wheel.take_off(token.kind, token.meta.deadline_ms());
    }
    released
}

/// Takes a claim whose holder was told that it is lost off the books: it is counted as lost.
pub(crate) fn write_off(shard: &Shard, token: Token) {
    shard.wheel.take_off(token.kind, token.meta.deadline_ms());
}

/// Whether an id is claimed or done at some instant inside the call.
pub(crate) fn contains<C: Clock>(shard: &Shard, probe: Probe, time: &Timeline<C>) -> bool {
    find(shard, probe, time, |_, _| ()).is_some()
}

/// Forgets an id that is done. Leaves one in flight alone.
pub(crate) fn forget<C: Clock>(shard: &Shard, probe: Probe, time: &Timeline<C>) -> bool {
    loop {
        let outcome = find(shard, probe, time, |table, found| {
            if found.meta.is_held() {
                return Some(false);
            }
            let slot = table.meta(table.home(probe), found.place);
            forget_slot(shard, slot, found.meta).then_some(true)
        });
        match outcome {
            None => return false,
            Some(Some(forgotten)) => return forgotten,
            Some(None) => sync::look_again(),
        }
    }
}

/// Forgets everything that is done, each id at an instant of its own, and reports each.
pub(crate) fn clear<C: Clock>(shard: &Shard, time: &Timeline<C>, mut cleared: impl FnMut()) {
    let now_ms = time.now_ms();
    for table in shard.tables().iter() {
        for bucket in table.buckets() {
            for slot in (0..SLOTS).map(|slot| bucket.meta(slot)) {
                loop {
                    // Relaxed: the compare-exchange decides.
                    let meta = Meta::from_bits(slot.load(Ordering::Relaxed));
                    if !meta.is_seen() || !meta.is_live_at(now_ms) {
                        break;
                    }
                    if forget_slot(shard, slot, meta) {
                        cleared();
                        break;
                    }
                    sync::look_again();
                }
            }
        }
    }
}

fn forget_slot(shard: &Shard, slot: &AtomicU64, meta: Meta) -> bool {
    // Release: pairs with the Acquire in a look-up: who is first next comes after the forgetter.
    let forgotten = exchange(slot, meta, meta.freed(), Ordering::Release);
    if forgotten {
        shard.wheel.take_off(Kind::Done, meta.deadline_ms());
    }
    forgotten
}

/// Runs `with` on the live entry of an id, if there is one.
fn find<C: Clock, R>(
    shard: &Shard,
    probe: Probe,
    time: &Timeline<C>,
    with: impl FnOnce(&Table, Found) -> R,
) -> Option<R> {
    let now_ms = time.now_ms();
    let tables = shard.tables();
    for table in tables
        .newest_first()
        .filter(|table| table.is_alive_at(now_ms))
    {
        if let Some(found) = table.find(probe, now_ms) {
            return Some(with(table, found));
        }
    }
    None
}

fn exchange(slot: &AtomicU64, from: Meta, to: Meta, success: Ordering) -> bool {
    slot.compare_exchange(from.bits(), to.bits(), success, Ordering::Relaxed)
        .is_ok()
}
