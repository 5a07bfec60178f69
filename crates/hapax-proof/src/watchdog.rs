//! A call that never returns is a failure, not a test that hangs.
//!
//! The set reads its clock in every attempt of a call, so a call that goes round
//! for ever reads it for ever. [`Watched`] counts the readings of each thread since
//! its last [`begin_call`] and panics when there are absurdly many.

use std::{cell::Cell, time::Duration};

use hapax::Clock;

/// More readings than any call makes, however many rivals it has.
const MOST_READINGS: u32 = 200_000;

thread_local! {
    static READINGS: Cell<u32> = const { Cell::new(0) };
}

/// Notes that this thread begins a call.
pub fn begin_call() {
    READINGS.set(0);
}

/// A clock that panics when a call reads it without end.
#[derive(Clone, Debug)]
pub struct Watched<C>(pub C);

impl<C: Clock> Clock for Watched<C> {
    fn now(&self) -> Duration {
        let readings = READINGS.get() + 1;
        assert!(
            readings < MOST_READINGS,
            "one call has read the clock {readings} times: it does not end"
        );
        READINGS.set(readings);
        self.0.now()
    }

    fn resolution(&self) -> Duration {
        self.0.resolution()
    }
}
