//! A point in time that all processes of a storm mean alike.
//!
//! An `Instant` means nothing outside its process. On Unix the clock behind it is one for
//! the whole machine, and this is its reading. Elsewhere it is the time since the
//! process's first look, which is why a storm has one process there.

use std::{ops::Add, time::Duration};

/// Time since an origin that is the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    /// Whether other processes mean the same.
    pub(crate) const SHARED: bool = cfg!(unix);

    #[cfg(unix)]
    pub(crate) fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};
        let now = clock_gettime(ClockId::Monotonic);
        let s = u64::try_from(now.tv_sec).unwrap_or(0);
        let ns = u32::try_from(now.tv_nsec).unwrap_or(0);
        Self(Duration::new(s, ns))
    }

    #[cfg(not(unix))]
    pub(crate) fn now() -> Self {
        use std::{sync::LazyLock, time::Instant};
        static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(ORIGIN.elapsed())
    }

    pub(crate) fn from_nanos(ns: u64) -> Self {
        Self(Duration::from_nanos(ns))
    }

    /// Nanoseconds since the origin; enough for 584 years.
    pub(crate) fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
