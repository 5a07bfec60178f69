//! The set's own time: whole milliseconds since it was made, clamped so that nothing wraps.
//!
//! Readings are cut to whole milliseconds. A deadline is a reading, plus the millisecond that may
//! have been cut off, plus the clock's resolution and the span, rounded up. An entry counts while
//! `reading < deadline`. So an id marked at a reading `r` counts at least until `r + span`, and is
//! gone at `r + span + 2 * resolution + 1 ms`, where a resolution below 1 ms counts as 1 ms.
//! Readings stop one millisecond short of [`FOREVER_MS`]; a deadline that would lie beyond stops
//! at it, and that entry never expires.

use core::time::Duration;

use crate::{clock::Clock, slot::FOREVER_MS};

/// The least a resolution counts for: the grain in which deadlines are kept.
const GRAIN: Duration = Duration::from_millis(1);

/// A clock, read in milliseconds since the set was made.
#[derive(Debug)]
pub(crate) struct Timeline<C> {
    clock: C,
    origin_ms: u64,
    resolution: Duration,
}

impl<C: Clock> Timeline<C> {
    /// Starts now. `resolution` is the clock's, read once by the caller.
    pub(crate) fn start(clock: C, resolution: Duration) -> Self {
        let origin_ms = whole_ms(clock.now());
        Self {
            clock,
            origin_ms,
            resolution: resolution.max(GRAIN),
        }
    }

    /// Reads the clock. This is user code: it may panic, and it must not run while a slot is
    /// reserved without a guard.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        whole_ms(self.clock.now())
            .saturating_sub(self.origin_ms)
            .min(FOREVER_MS - 1)
    }

    /// What to add to a reading so that the sum lies at least `span` after the reading's instant.
    pub(crate) fn span_ms(&self, span: Duration) -> u64 {
        let rounding = Duration::from_nanos(999_999);
        let span = span
            .saturating_add(self.resolution)
            .saturating_add(rounding);
        whole_ms(span.saturating_add(GRAIN))
    }

    #[cfg(all(test, hapax_loom))]
    pub(crate) const fn clock(&self) -> &C {
        &self.clock
    }
}

/// `now_ms + span_ms`, stopped at [`FOREVER_MS`].
#[inline]
pub(crate) const fn deadline_ms(now_ms: u64, span_ms: u64) -> u64 {
    let deadline_ms = now_ms.saturating_add(span_ms);
    if deadline_ms < FOREVER_MS {
        deadline_ms
    } else {
        FOREVER_MS
    }
}

#[inline]
fn whole_ms(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1000)
        .saturating_add(u64::from(time.subsec_millis()))
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use crate::ManualClock;

    fn with_resolution(resolution: Duration) -> Timeline<ManualClock> {
        Timeline::start(ManualClock::new(), resolution)
    }

    #[test]
    fn reading_starts_at_zero_and_stops_below_forever() {
        let clock = ManualClock::new();
        clock.advance(Duration::from_secs(5));
        let time = Timeline::start(clock.clone(), GRAIN);
        assert_eq!(time.now_ms(), 0);
        clock.advance(Duration::from_millis(7));
        assert_eq!(time.now_ms(), 7);
        clock.advance(Duration::MAX);
        assert_eq!(time.now_ms(), FOREVER_MS - 1);
    }

    #[test]
    fn spans_carry_the_resolution_and_the_cut_and_round_up() {
        let coarse = with_resolution(Duration::from_millis(5));
        assert_eq!(coarse.span_ms(Duration::from_millis(10)), 16);
        assert_eq!(coarse.span_ms(Duration::from_nanos(10_000_001)), 17);
        let fine = with_resolution(Duration::from_nanos(1));
        assert_eq!(
            fine.span_ms(Duration::from_millis(10)),
            12,
            "a millisecond is the grain"
        );
        assert_eq!(fine.span_ms(Duration::MAX), whole_ms(Duration::MAX));
    }

    #[test]
    fn spans_keep_both_promises_whatever_is_cut_off() {
        for resolution_us in [1, 1000, 1100, 1500, 4000, 4999] {
            let resolution = Duration::from_micros(resolution_us);
            let counted = resolution.max(GRAIN);
            let time = with_resolution(resolution);
            for span_us in [1000, 1001, 1999, 10_000, 10_500] {
                let span = Duration::from_micros(span_us);
                for cut_us in [0, 1, 500, 999] {
                    // A reading of `cut_us`, which the set takes for zero, of an instant that lies
                    // up to one resolution later.
                    let reading = Duration::from_micros(cut_us);
                    let gone = Duration::from_millis(time.span_ms(span));
                    assert!(gone >= reading + resolution + span, "early");
                    assert!(gone <= reading + span + 2 * counted + GRAIN, "late");
                }
            }
        }
    }

    #[test]
    fn deadlines_stop_at_forever() {
        assert_eq!(deadline_ms(10, 20), 30);
        assert_eq!(deadline_ms(FOREVER_MS - 1, 20), FOREVER_MS);
        assert_eq!(deadline_ms(u64::MAX, u64::MAX), FOREVER_MS);
    }
}
