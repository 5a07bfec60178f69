//! The expiring steady state: the number of live ids stays, every new id takes the place of one that
//! has just expired.
//!
//! Every contender has its own clock, so real time must pass. It is cut into slots. In each slot as
//! many new ids arrive as expire in it, in one burst; only the calls of the burst are timed, the rest
//! of the slot is waited out. A contender whose bursts take longer than the slots cannot hold this
//! rate, and says so instead of being measured at another one.

use crate::{
    contender::{Contender, Row, Setup},
    ids,
};
use std::{
    hint,
    time::{Duration, Instant},
};

/// Slots in one retention.
const SLOTS: u32 = 40;

/// The shortest slot: several ticks of a coarse clock.
const SHORTEST_SLOT: Duration = Duration::from_millis(20);

/// Time between two arrivals at most sizes: a quarter of a million ids a second, which every
/// contender can hold that does not look at every entry.
const BETWEEN_IDS: Duration = Duration::from_micros(4);

/// Calls that are timed together.
const STRETCH: usize = 256;

/// A contender in its steady state.
pub struct Steady<'a> {
    row: &'a Row,
    set: Box<dyn Contender>,
    slot: Duration,
    per_slot: u64,
    next_id: u64,
    next_slot: Instant,
    left_in_slot: u64,
}

/// The contender cannot hold the rate that keeps the number of live ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSlow {
    /// Calls per second that would have been needed.
    pub needed_per_second: u64,
    /// Time of one call until it was given up.
    pub per_call: Duration,
}

impl<'a> Steady<'a> {
    /// Fills a set with `live` ids at the rate at which they will expire, and one retention more, so
    /// that ids have begun to expire.
    ///
    /// # Errors
    ///
    /// `TooSlow` when the calls of one slot take four times as long as the slot.
    pub fn start(row: &'a Row, live: usize) -> Result<Self, TooSlow> {
        let slot = SHORTEST_SLOT.max(BETWEEN_IDS * live as u32 / SLOTS);
        let set = (row.build)(&Setup {
            retention: slot * SLOTS,
            capacity: live,
        });
        let mut steady = Self {
            row,
            set,
            slot,
            per_slot: (live as u64 / u64::from(SLOTS)).max(1),
            next_id: 0,
            next_slot: Instant::now(),
            left_in_slot: 0,
        };
        steady.play(2 * u64::from(SLOTS) * steady.per_slot)?;
        Ok(steady)
    }

    /// Makes `calls` calls, each with a new id, and returns the time they took, waiting apart.
    ///
    /// # Errors
    ///
    /// `TooSlow` when the calls of one slot take four times as long as the slot.
    ///
    /// # Panics
    ///
    /// When a new id is called a duplicate.
    pub fn play(&mut self, calls: u64) -> Result<Duration, TooSlow> {
        let mut taken = Duration::ZERO;
        let mut left = calls;
        while left > 0 {
            if self.left_in_slot == 0 {
                self.wait_for_slot();
            }
            let now = left.min(self.left_in_slot);
            taken += self.burst(now)?;
            self.left_in_slot -= now;
            left -= now;
        }
        Ok(taken)
    }

    fn wait_for_slot(&mut self) {
        while Instant::now() < self.next_slot {
            hint::spin_loop();
        }
        // A slot that was missed is not made up for: the rate stays.
        self.next_slot = (self.next_slot + self.slot).max(Instant::now());
        self.left_in_slot = self.per_slot;
    }

    fn burst(&mut self, calls: u64) -> Result<Duration, TooSlow> {
        let new = ids::range(self.next_id, self.next_id + calls);
        self.next_id += calls;
        let (mut taken, mut made) = (Duration::ZERO, 0);
        for stretch in new.chunks(STRETCH) {
            let start = Instant::now();
            let firsts = self.set.mark_all(stretch);
            taken += start.elapsed();
            assert_eq!(firsts, stretch.len(), "{} answered wrongly", self.row.name);
            made += stretch.len() as u32;
            if taken > 4 * self.slot {
                return Err(TooSlow {
                    needed_per_second: (self.per_slot as f64 / self.slot.as_secs_f64()) as u64,
                    per_call: taken / made,
                });
            }
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::BASELINE;

    #[test]
    fn the_mutex_map_cannot_hold_a_high_rate() {
        let Err(slow) = Steady::start(BASELINE, 200_000) else {
            panic!("a quarter of a million looks at many thousand ids, each second");
        };
        assert_eq!(slow.needed_per_second, 250_000);
    }
}
