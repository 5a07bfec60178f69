//! The only door to atomics, fences, pauses and the published list.
//!
//! In a normal build everything here is `core`'s or a thin cover over `arc-swap`. Under
//! `cfg(hapax_loom)` and `cfg(hapax_shuttle)` the same names are the model checkers', so the code
//! that is checked is the code that ships. [`Published`] exists because no checker sees inside
//! `arc-swap`: its model is one atomic index into an append-only list, no stronger than the real
//! thing.

#[cfg(not(any(hapax_loom, hapax_shuttle)))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(hapax_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(hapax_shuttle, not(hapax_loom)))]
pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering, fence};

/// Counters that no decision depends on. Never modelled: they would only blow up the state space.
pub(crate) mod statistic {
    pub(crate) use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}

/// Lets a checker run somebody else before a word is read again. Nothing in a normal build: the
/// word has changed, so its writer is getting on.
#[inline]
pub(crate) fn look_again() {
    #[cfg(hapax_loom)]
    loom::thread::yield_now();
    #[cfg(all(hapax_shuttle, not(hapax_loom)))]
    shuttle::thread::yield_now();
}

/// A point of the protocol at which a stress test may stop a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(hapax_pause), allow(unreachable_pub))]
pub enum Step {
    /// The marks are raised, nothing is reserved.
    Marked,
    /// A slot was reserved, or lost to somebody faster.
    Reserved,
    /// The undecided entry can be seen.
    Published,
    /// The rescan is done; the entry is not committed.
    Rescanned,
    /// A holder has raised the marks and not read the clock.
    Raised,
    /// A new list of tables stands published, and nobody has used it.
    Grown,
    /// A table was closed and is still listed.
    Closed,
}

#[cfg(not(hapax_pause))]
#[inline]
pub(crate) fn step(_: Step) {}

#[cfg(hapax_pause)]
pub(crate) use hook::step;

/// Where a stress test hangs in its pauses; only under `cfg(hapax_pause)`.
#[cfg(hapax_pause)]
pub mod hook {
    pub use super::Step;
    use std::sync::OnceLock;

    type Hook = Box<dyn Fn(Step) + Send + Sync>;
    static HOOK: OnceLock<Hook> = OnceLock::new();

    /// Calls `hook` at every step of every thread from now on. The first caller wins.
    pub fn on_step(hook: impl Fn(Step) + Send + Sync + 'static) -> bool {
        HOOK.set(Box::new(hook)).is_ok()
    }

    pub(crate) fn step(at: Step) {
        if let Some(hook) = HOOK.get() {
            hook(at);
        }
    }
}

/// How many spins a pause may take before it gives the processor away instead.
#[cfg(not(any(hapax_loom, hapax_shuttle)))]
const MOST_SPINS_LOG2: u32 = 7;

/// Waits a moment before looking again at a rival's slot: bounded, randomised, longer each time.
///
/// Two racers that pause for the same time wake in lockstep and can undo each other again, so the
/// length is drawn from a generator seeded by where this racer stands.
#[derive(Debug)]
pub(crate) struct Backoff {
    #[cfg_attr(any(hapax_loom, hapax_shuttle), allow(dead_code))]
    random: u64,
    step: u32,
}

impl Backoff {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            random: seed | 1,
            step: 0,
        }
    }

    #[cold]
    #[cfg(not(any(hapax_loom, hapax_shuttle)))]
    pub(crate) fn pause(&mut self) {
        self.step = (self.step + 1).min(MOST_SPINS_LOG2);
        // Marsaglia's xorshift64; seeded differently in each thread by the address of its stack.
        self.random ^= core::ptr::from_ref(self).addr() as u64;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if self.step == MOST_SPINS_LOG2 {
            std::thread::yield_now();
            return;
        }
        for _ in 0..(self.random & ((1 << self.step) - 1)) {
            core::hint::spin_loop();
        }
    }

    #[cfg(hapax_loom)]
    pub(crate) fn pause(&mut self) {
        self.step += 1;
        loom::thread::yield_now();
    }

    #[cfg(all(hapax_shuttle, not(hapax_loom)))]
    pub(crate) fn pause(&mut self) {
        self.step += 1;
        shuttle::thread::yield_now();
    }
}

#[cfg(not(any(hapax_loom, hapax_shuttle)))]
mod published {
    use arc_swap::{ArcSwapOption, Guard};
    use std::sync::Arc;

    /// A value that is replaced as a whole. Readers keep what they loaded for as long as they
    /// hold the guard; what nobody holds any more is dropped by whoever lets go last.
    #[derive(Debug)]
    pub(crate) struct Published<T>(ArcSwapOption<T>);

    /// What a reader holds.
    pub(crate) type Loaded<T> = Guard<Option<Arc<T>>>;

    impl<T> Published<T> {
        pub(crate) fn nothing() -> Self {
            Self(ArcSwapOption::const_empty())
        }

        /// Loads what stands published; no weaker than an Acquire load of it.
        pub(crate) fn load(&self) -> Loaded<T> {
            self.0.load()
        }

        /// Replaces `seen` by `new`, unless somebody else has replaced it first.
        pub(crate) fn replace(&self, seen: &Loaded<T>, new: T) -> bool {
            let before = self.0.compare_and_swap(seen, Some(Arc::new(new)));
            match (&*before, &**seen) {
                (None, None) => true,
                (Some(before), Some(seen)) => Arc::ptr_eq(before, seen),
                _ => false,
            }
        }
    }
}

#[cfg(any(hapax_loom, hapax_shuttle))]
mod published {
    #[cfg(hapax_loom)]
    use loom::sync::atomic::{AtomicUsize, Ordering};
    #[cfg(not(hapax_loom))]
    use shuttle::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    /// The model: an atomic index into everything that was ever published. The list's own lock is
    /// invisible to the checker and is never held across one of its switch points.
    #[derive(Debug)]
    pub(crate) struct Published<T> {
        at: AtomicUsize,
        all: Mutex<Vec<Option<Arc<T>>>>,
    }

    /// What a reader holds.
    #[derive(Debug)]
    pub(crate) struct Loaded<T>(usize, Option<Arc<T>>);

    impl<T> core::ops::Deref for Loaded<T> {
        type Target = Option<Arc<T>>;
        fn deref(&self) -> &Option<Arc<T>> {
            &self.1
        }
    }

    impl<T> Published<T> {
        pub(crate) fn nothing() -> Self {
            Self {
                at: AtomicUsize::new(0),
                all: Mutex::new(vec![None]),
            }
        }

        pub(crate) fn load(&self) -> Loaded<T> {
            // Acquire: pairs with the Release in `replace`, which made the value reachable.
            let at = self.at.load(Ordering::Acquire);
            Loaded(at, self.all.lock().expect("no panic inside")[at].clone())
        }

        pub(crate) fn replace(&self, seen: &Loaded<T>, new: T) -> bool {
            let at = {
                let mut all = self.all.lock().expect("no panic inside");
                all.push(Some(Arc::new(new)));
                all.len() - 1
            };
            // AcqRel: Release hands the value to `load`; Acquire orders us after the one replaced.
            self.at
                .compare_exchange(seen.0, at, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        }
    }
}

pub(crate) use published::{Loaded, Published};
