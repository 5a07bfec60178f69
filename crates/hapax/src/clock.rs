//! The time source: what a set needs of it, the system's, and one that tests move by hand.

use core::time::Duration;
use std::sync::Arc;

use crate::sync::statistic::{AtomicU64, Ordering};

/// A monotonic time source.
///
/// A set reads its clock a few times per call and keeps whole milliseconds since it was made.
/// What a clock owes the set:
///
/// * it never goes backwards, and stays coherent across threads: a reading that happens after
///   another one is not less;
/// * a reading is not moved before a fence that precedes it in the program (a system call or a
///   `vDSO` read is fine; a raw time-stamp counter needs its own barrier);
/// * it may stand still, and it may jump ahead by any amount.
///
/// # Examples
///
/// ```
/// use hapax::{Clock, DedupSet, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let set = DedupSet::builder()
///     .retention(Duration::from_secs(60))
///     .clock(clock.clone())
///     .build()?;
/// assert!(set.check_and_mark("evt_1"));
/// clock.advance(Duration::from_secs(60) + clock.resolution() * 2 + Duration::from_millis(1));
/// assert!(set.check_and_mark("evt_1"), "forgotten, so first again");
/// # Ok::<(), hapax::BuildError>(())
/// ```
pub trait Clock: Send + Sync {
    /// Reads the time since some fixed instant of the clock's choosing.
    fn now(&self) -> Duration;

    /// Tells how far a reading may lag behind the instant at which it is taken.
    ///
    /// The set adds it to every deadline, so that an id is never forgotten early. Less than one
    /// millisecond counts as one, the grain in which a set keeps its deadlines. Read once, when
    /// the set is built; more than an hour is refused there.
    fn resolution(&self) -> Duration;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Duration {
        (**self).now()
    }
    fn resolution(&self) -> Duration {
        (**self).resolution()
    }
}

/// The cheapest monotonic clock that is right on this platform; what a set uses by default.
///
/// On Linux and Android this is `CLOCK_MONOTONIC_COARSE`, which the kernel advances at its timer
/// tick (1 to 10 ms) and which costs a few nanoseconds to read. Its resolution is the tick as the
/// kernel states it plus 1 ms. Elsewhere it is [`InstantClock`].
///
/// A virtual machine whose processors are all taken away for longer than a tick may see a reading
/// that lags further than the stated resolution until its next timer interrupt. The set stays
/// right on its own clock: one winner, and nobody forgotten before the *clock* has moved on by
/// the retention. Measured by another clock, an id marked in such a moment may be forgotten early
/// by as much as the excess. Where that matters, use [`InstantClock`].
///
/// Neither clock counts the time a machine spends suspended.
///
/// # Examples
///
/// ```
/// use hapax::{Clock, SystemClock};
///
/// let clock = SystemClock::new();
/// let before = clock.now();
/// assert!(clock.now() >= before);
/// assert!(clock.resolution().as_millis() >= 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SystemClock(system::Source);

impl SystemClock {
    /// Makes the clock; all of them share one time line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Duration {
        self.0.now()
    }
    fn resolution(&self) -> Duration {
        self.0.resolution()
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use core::time::Duration;
    use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

    #[derive(Clone, Debug, Default)]
    pub(super) struct Source;

    impl Source {
        #[inline]
        pub(super) fn now(&self) -> Duration {
            duration(clock_gettime(ClockId::MonotonicCoarse))
        }

        pub(super) fn resolution(&self) -> Duration {
            duration(clock_getres(ClockId::MonotonicCoarse)) + Duration::from_millis(1)
        }
    }

    /// The monotonic clock counts from boot, so neither field is ever negative.
    #[inline]
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    fn duration(time: Timespec) -> Duration {
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use super::Clock;
    pub(super) use super::InstantClock as Source;
    use core::time::Duration;

    impl Source {
        pub(super) fn now(&self) -> Duration {
            Clock::now(self)
        }
        pub(super) fn resolution(&self) -> Duration {
            Clock::resolution(self)
        }
    }
}

/// [`std::time::Instant`] as a clock: finer than [`SystemClock`], and several times dearer.
///
/// Its resolution is 1 ms, the grain of a set's deadlines.
///
/// # Examples
///
/// ```
/// use hapax::{DedupSet, InstantClock};
/// use std::time::Duration;
///
/// let set = DedupSet::builder()
///     .retention(Duration::from_secs(1))
///     .clock(InstantClock::new())
///     .build()?;
/// assert!(set.check_and_mark("evt_1"));
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct InstantClock {
    origin: std::time::Instant,
}

impl InstantClock {
    /// Makes a clock that starts at zero now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }
}

impl Default for InstantClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for InstantClock {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
}

/// A clock that moves only when told to; clones share the time. For tests.
///
/// # Examples
///
/// ```
/// use hapax::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let same = clock.clone();
/// clock.advance(Duration::from_millis(1500));
/// assert_eq!(same.now(), Duration::from_millis(1500));
/// assert_eq!(same.resolution(), Duration::from_millis(1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now_ms: Arc<AtomicU64>,
}

impl ManualClock {
    /// Makes a clock that stands at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock ahead by `by`, in whole milliseconds; the rest of a millisecond is cut off.
    ///
    /// At the end of its range, 584 million years, it stands still.
    pub fn advance(&self, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        // SeqCst, both: so that a test's clock is as coherent as a real one in every thread.
        let moved = self
            .now_ms
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now_ms| {
                Some(now_ms.saturating_add(by_ms))
            });
        debug_assert!(moved.is_ok());
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        // SeqCst: see `advance`.
        Duration::from_millis(self.now_ms.load(Ordering::SeqCst))
    }
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
}
