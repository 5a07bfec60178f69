//! Expiry for the maps that have none: a deadline is kept as the value and judged on the next call.
//!
//! All hand-written wrappers read the clock that hapax reads. A map must not lose to a clock: what
//! another clock costs is shown once, in the row `hapax_instant`.

use super::Setup;
use ::hapax::{Clock, SystemClock};

/// When an id stops counting, in milliseconds on the clock of the set.
pub(super) type DeadlineMs = u64;

/// The clock of a set and its retention.
#[derive(Debug)]
pub(super) struct Deadlines {
    clock: SystemClock,
    retention_ms: u64,
}

impl Deadlines {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            clock: SystemClock::new(),
            retention_ms: u64::try_from(setup.retention.as_millis())
                .expect("retentions of the suites fit"),
        }
    }

    /// The time of this call.
    pub(super) fn now(&self) -> u64 {
        let now = self.clock.now();
        now.as_secs() * 1_000 + u64::from(now.subsec_millis())
    }

    /// When an id marked at `now` stops counting. The clock shows the start of its own tick, so one
    /// millisecond more makes the window never too short.
    pub(super) fn after(&self, now: u64) -> DeadlineMs {
        now + self.retention_ms + 1
    }
}
