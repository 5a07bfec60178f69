//! A slot that is ours and not committed: write, publish, commit, or give back.
//!
//! Whoever made a slot `RESERVED` is the only one who may store to it; these are the only plain
//! stores in the protocol. Once published it may be killed, which makes it reserved again, still
//! for the same owner.

use crate::{
    hash::Probe,
    slot::Meta,
    sync::{self, AtomicU64, Ordering, Step},
};

/// A slot of ours that is not committed. Dropped, it is nobody's again: also when the user's clock
/// panics.
#[derive(Debug)]
pub(crate) struct Reservation<'t> {
    meta: &'t AtomicU64,
    fingerprint: &'t AtomicU64,
    /// The word we last wrote.
    mine: Meta,
}

impl<'t> Reservation<'t> {
    pub(crate) const fn new(meta: &'t AtomicU64, fingerprint: &'t AtomicU64, mine: Meta) -> Self {
        Self {
            meta,
            fingerprint,
            mine,
        }
    }

    /// Writes the fingerprint and sleeps for ever.
    #[cfg(all(test, hapax_loom))]
    pub(crate) fn abandon_unpublished(self, probe: Probe) {
        self.write(probe);
        core::mem::forget(self);
    }

    /// Writes the fingerprint and lets everybody see the undecided entry.
    #[inline]
    pub(crate) fn publish(&mut self, probe: Probe, deadline_ms: u64) {
        self.write(probe);
        self.mine = self.mine.published(deadline_ms, probe.tag());
        // Release: pairs with the Acquire in `read`, which must see the fingerprint and all that
        // the caller wrote before it marked. A plain store: only the owner writes a reserved slot.
        self.meta.store(self.mine.bits(), Ordering::Release);
        sync::step(Step::Published);
    }

    #[inline]
    fn write(&self, probe: Probe) {
        // Release: pairs with the Acquire in `read`: a reader of this fingerprint must not find
        // the word of the tenant before.
        self.fingerprint
            .store(probe.fingerprint(), Ordering::Release);
    }

    /// Decides the insert. **This is the instant at which it takes effect.** `None` where a rival
    /// has killed it; the slot is free again then.
    #[inline]
    pub(crate) fn commit(self, held: bool) -> Option<Meta> {
        let decided = self.mine.committed(held);
        // Relaxed: `publish` has released all there is to see.
        let won = self.meta.compare_exchange(
            self.mine.bits(),
            decided.bits(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // Killed: reserved, and ours to free.
            return None;
        }
        core::mem::forget(self);
        Some(decided)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        // Release: whoever takes the slot next, and the id with it, comes after our attempt.
        // Reserved, undecided or killed, the slot is ours, so there is nothing to compare: a rival
        // who is late to kill finds another word. A swap and no store: in the models a late kill
        // could pass over a store.
        self.meta.swap(self.mine.freed().bits(), Ordering::Release);
    }
}
