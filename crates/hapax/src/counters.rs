//! Event counters that every thread bumps without meeting the others.
//!
//! A counter that all threads add to is a cache line that all threads fight for; a hot id that is
//! a duplicate a million times a second would make it the slowest thing in the set. So counters
//! come in *stripes*, each on lines of its own, and reading adds them up.
//!
//! Threads are numbered as they come, and a number is never dealt out twice. The first few own a
//! stripe each: nobody else ever writes it, so adding to it is a load and a store. The others
//! share some more stripes, by atomic addition.

use core::cell::Cell;
use crossbeam_utils::CachePadded;

use crate::sync::statistic::{AtomicU64, AtomicUsize, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Duplicate,
    Busy,
    Released,
    Forgotten,
    Cleared,
    ForgottenEarly,
    LostLease,
    Refused,
    Unrecorded,
}

const EVENTS: usize = Event::Unrecorded as usize + 1;

/// Enough for a large machine, and few enough to add up.
const MOST_OWNED: usize = 64;
/// A power of two.
const SHARED: usize = 4;

type Stripe = CachePadded<[AtomicU64; EVENTS]>;

#[derive(Debug)]
pub(crate) struct Counters {
    owned: Box<[Stripe]>,
    shared: [Stripe; SHARED],
}

impl Counters {
    pub(crate) fn for_this_machine() -> Self {
        // A few more than run at once: the main thread and its like take numbers too.
        let owned = (parallelism() + 6).min(MOST_OWNED);
        Self {
            owned: (0..owned).map(|_| Stripe::default()).collect(),
            shared: Default::default(),
        }
    }

    #[inline]
    pub(crate) fn add(&self, event: Event) {
        let number = thread_number();
        if let Some(stripe) = self.owned.get(number) {
            let count = &stripe[event as usize];
            // Relaxed, all here: a statistic guards nothing; a reader that wants it exact waits
            // for the writers. No addition is lost: this thread is the only one to write.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            let stripe = &self.shared[number & (SHARED - 1)];
            // Relaxed: as above, but with other writers.
            stripe[event as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn sum(&self, event: Event) -> u64 {
        let stripes = self.owned.iter().chain(&self.shared);
        // Relaxed: see `add`.
        stripes
            .map(|stripe| stripe[event as usize].load(Ordering::Relaxed))
            .sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[_]>(&self.owned) + size_of_val(&self.shared)
    }
}

/// How many threads this machine runs at once; 1 where it does not say.
pub(crate) fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A small number of this thread's own, dealt out on its first event.
#[inline]
fn thread_number() -> usize {
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    match NUMBER.get() {
        usize::MAX => {
            let number = next_number();
            NUMBER.set(number);
            number
        }
        number => number,
    }
}

#[cold]
fn next_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only that each thread draws another number matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_thread_counts() {
        let counters = Counters::for_this_machine();
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| (0..1000).for_each(|_| counters.add(Event::Busy)));
            }
        });
        assert_eq!(counters.sum(Event::Busy), 100_000);
        assert_eq!(counters.sum(Event::Duplicate), 0);
    }

    #[test]
    fn threads_get_numbers_of_their_own() {
        let mine = thread_number();
        assert_eq!(thread_number(), mine);
        let other = std::thread::spawn(thread_number).join().expect("no panic");
        assert_ne!(mine, other);
    }
}
