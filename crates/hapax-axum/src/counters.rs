//! What the layer has counted since it was built.
//!
//! Plain sums for a status page. No counter orders anything: a snapshot may see a
//! completion whose *first* it misses by a moment.

use crate::Reason;
use std::{
    ops::AddAssign,
    sync::atomic::{AtomicU64, Ordering},
};

/// A snapshot of the layer's counters. Add several to sum over layers.
///
/// Deliveries are counted, or items where the body is a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Claims won: the handler was called.
    pub first: u64,
    /// Copies of a done delivery.
    pub duplicate: u64,
    /// Copies of a delivery in flight.
    pub in_flight: u64,
    /// Handlers called without a claim, by policy.
    pub unchecked: u64,
    /// Claims completed.
    pub completed: u64,
    /// Claims released, whatever the cause.
    pub released: u64,
    /// Claims whose lease had run out, or whose store could not be told.
    pub lost: u64,
    /// Claims that a handler took over. They count again when they settle.
    pub handed_over: u64,
    /// Batches without an item: answered as a duplicate is, and nothing ran.
    pub empty: u64,
    /// Panics from the claim on: of handlers, of the functions that judge an answer or
    /// answer a duplicate, of a store. Those before it are refusals
    /// ([`Reason::CheckPanicked`]).
    pub panicked: u64,
    /// Handlers stopped at their limit.
    pub timed_out: u64,
    /// Handlers stopped because the sender hung up or the service shut down.
    pub cancelled: u64,
    /// Handshakes answered by the layer.
    pub handshakes: u64,
    /// Requests passed on without a look, by their method.
    pub passed: u64,
    /// Handlers running now.
    pub running: u64,
    /// Requests refused, by reason.
    pub rejected: Rejections,
}

/// Counts refused requests by [`Reason`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejections([u64; Reason::ALL.len()]);

impl Rejections {
    /// Returns how many were refused for `reason`.
    #[must_use]
    pub fn get(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns how many were refused in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns each reason with its count, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.iter().copied().zip(self.0)
    }
}

impl AddAssign<&Self> for Counters {
    fn add_assign(&mut self, other: &Self) {
        self.first += other.first;
        self.duplicate += other.duplicate;
        self.in_flight += other.in_flight;
        self.unchecked += other.unchecked;
        self.completed += other.completed;
        self.released += other.released;
        self.lost += other.lost;
        self.handed_over += other.handed_over;
        self.empty += other.empty;
        self.panicked += other.panicked;
        self.timed_out += other.timed_out;
        self.cancelled += other.cancelled;
        self.handshakes += other.handshakes;
        self.passed += other.passed;
        self.running += other.running;
        for (sum, more) in self.rejected.0.iter_mut().zip(other.rejected.0) {
            *sum += more;
        }
    }
}

/// The counters themselves.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    pub(crate) first: Count,
    pub(crate) duplicate: Count,
    pub(crate) in_flight: Count,
    pub(crate) unchecked: Count,
    pub(crate) completed: Count,
    pub(crate) released: Count,
    pub(crate) lost: Count,
    pub(crate) handed_over: Count,
    pub(crate) empty: Count,
    pub(crate) panicked: Count,
    pub(crate) timed_out: Count,
    pub(crate) cancelled: Count,
    pub(crate) handshakes: Count,
    pub(crate) passed: Count,
    pub(crate) running: Count,
    rejected: [Count; Reason::ALL.len()],
}

impl Counting {
    pub(crate) fn reject(&self, reason: Reason) {
        self.rejected[reason as usize].add(1);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        Counters {
            first: self.first.get(),
            duplicate: self.duplicate.get(),
            in_flight: self.in_flight.get(),
            unchecked: self.unchecked.get(),
            completed: self.completed.get(),
            released: self.released.get(),
            lost: self.lost.get(),
            handed_over: self.handed_over.get(),
            empty: self.empty.get(),
            panicked: self.panicked.get(),
            timed_out: self.timed_out.get(),
            cancelled: self.cancelled.get(),
            handshakes: self.handshakes.get(),
            passed: self.passed.get(),
            running: self.running.get(),
            rejected: Rejections(std::array::from_fn(|i| self.rejected[i].get())),
        }
    }
}

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        // Relaxed: no partner; the sum is all that is read, and it orders nothing.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, n: u64) {
        // Relaxed: no partner; as `add`.
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // Relaxed: no partner; a snapshot promises no order between counters.
        self.0.load(Ordering::Relaxed)
    }
}
