//! The books of a shard: how many entries end in which tick.
//!
//! A ring is a row of counters, one per *tick* (a power of two of milliseconds, between 1/254 and
//! 1/127 of the span it covers). The wheel has three rings: done entries; claims, with ticks as
//! fine as leases are short; and the rare claims that are too long for those. An entry is booked
//! under the tick of its deadline before it is committed, and taken off again when it is released,
//! forgotten, moved to another deadline, or when its commit fails. Time does the rest: a counter
//! whose tick has passed simply stops counting. So the number of live entries is a sum over the
//! ring, no entry is ever visited, and nothing has to turn the wheel.
//!
//! ```text
//!  63              32 31               0
//! +------------------+------------------+
//! |       turn       |      count       |   tick = turn * RING + place in the ring
//! +------------------+------------------+
//! ```
//!
//! Always true:
//!
//! * The ring covers the longest span a deadline can lie ahead, so two ticks that matter at the
//!   same time never share a counter. Where a booker finds an older turn in its counter, that tick
//!   has passed: the same compare-exchange replaces it, and its count moves to `lapsed`. Where it
//!   finds a newer turn, its own tick has passed while it slept: it books under `lapsed`.
//! * An entry that was booked is in its counter while the counter shows its turn, else in `lapsed`.
//!   Taking it off looks in the same two places (a counter that is full, at four billion, books
//!   under `lapsed` too, and then the live sum falls short, never the whole). Nothing is counted twice, nothing drifts, and a
//!   sum over everything is the number of entries that were ever committed and not taken off.
//!
//! Sums are exact when nothing runs; a thread that was stopped between the two steps of a
//! replacement hides that tick's count from `lapsed` until it goes on, never from the live sum.

use core::iter::zip;

use crate::{
    slot::FOREVER_MS,
    sync::{AtomicU64, Ordering},
};

/// Ticks in the ring.
#[cfg(not(any(hapax_loom, hapax_shuttle)))]
const RING: u64 = 256;
/// Every load is a switch point to a checker.
#[cfg(any(hapax_loom, hapax_shuttle))]
const RING: u64 = 8;

const RING_SHIFT: u32 = RING.trailing_zeros();
const _: () = assert!(RING.is_power_of_two());

/// The turn of the last tick of all fits above, whatever the ring: 32 bits of count are left.
const TURN_SHIFT: u32 = u64::BITS - (FOREVER_MS.count_ones() - RING_SHIFT);
const COUNT_MASK: u64 = (1 << TURN_SHIFT) - 1;
const _: () = assert!(RING != 256 || TURN_SHIFT == 32);

/// What an entry is booked as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Done,
    InFlight,
    /// A claim longer than the fine ring covers.
    LongInFlight,
}

#[derive(Debug)]
pub(crate) struct Wheel {
    /// The longest lease that the fine ring covers.
    fine_span_ms: u64,
    done: Ring,
    in_flight: Ring,
    long_in_flight: Ring,
}

/// What the books say at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    /// Done and remembered.
    pub(crate) done: u64,
    /// Claimed, the lease running.
    pub(crate) in_flight: u64,
    /// Ended by time, by whichever of the two deadlines.
    pub(crate) ended: u64,
}

impl core::iter::Sum for Books {
    fn sum<I: Iterator<Item = Self>>(books: I) -> Self {
        books.fold(Self::default(), |sum, books| Self {
            done: sum.done + books.done,
            in_flight: sum.in_flight + books.in_flight,
            ended: sum.ended.wrapping_add(books.ended),
        })
    }
}

impl Wheel {
    /// Makes a wheel for deadlines that lie at most `span_ms` ahead of a reading, and leases that
    /// are mostly no longer than twice `lease_span_ms`.
    pub(crate) fn for_spans(span_ms: u64, lease_span_ms: u64) -> Self {
        let fine_span_ms = lease_span_ms.saturating_mul(2).min(span_ms);
        Self {
            fine_span_ms,
            done: Ring::covering(span_ms),
            in_flight: Ring::covering(fine_span_ms),
            long_in_flight: Ring::covering(span_ms),
        }
    }

    /// How long a tick of the done entries is, in milliseconds.
    pub(crate) const fn tick_ms(&self) -> u64 {
        1 << self.done.tick_shift
    }

    /// What to book a claim as whose lease ends `span_ms` after a reading.
    pub(crate) const fn kind_of_lease(&self, span_ms: u64) -> Kind {
        if span_ms <= self.fine_span_ms {
            Kind::InFlight
        } else {
            Kind::LongInFlight
        }
    }

    /// Books an entry that will end at `deadline_ms`. Call before the entry is committed.
    #[inline]
    pub(crate) fn book(&self, kind: Kind, deadline_ms: u64) {
        self.ring(kind).add(deadline_ms);
    }

    /// Takes off an entry that was booked under `deadline_ms`.
    pub(crate) fn take_off(&self, kind: Kind, deadline_ms: u64) {
        self.ring(kind).subtract(deadline_ms);
    }

    /// Adds up the books as of `now_ms`: 768 loads, no entry visited.
    pub(crate) fn at(&self, now_ms: u64) -> Books {
        let rings = [&self.done, &self.in_flight, &self.long_in_flight];
        let [done, fine, long] = rings.map(|ring| ring.sum(now_ms));
        Books {
            done: done.ahead,
            in_flight: fine.ahead + long.ahead,
            ended: done
                .passed
                .wrapping_add(fine.passed)
                .wrapping_add(long.passed),
        }
    }

    /// Bytes on the heap.
    pub(crate) const fn bytes() -> usize {
        3 * RING as usize * size_of::<AtomicU64>()
    }

    const fn ring(&self, kind: Kind) -> &Ring {
        match kind {
            Kind::Done => &self.done,
            Kind::InFlight => &self.in_flight,
            Kind::LongInFlight => &self.long_in_flight,
        }
    }
}

#[derive(Debug)]
struct Ring {
    tick_shift: u32,
    counters: Box<[AtomicU64]>,
    /// Booked under a tick whose counter has moved on. Wraps below zero for a moment when an entry
    /// is taken off before the counter's replacer has added its share.
    lapsed: AtomicU64,
}

struct Sum {
    ahead: u64,
    passed: u64,
}

const fn pack(turn: u64, count: u64) -> u64 {
    (turn << TURN_SHIFT) | count
}

const fn turn(counter: u64) -> u64 {
    counter >> TURN_SHIFT
}

const fn count(counter: u64) -> u64 {
    counter & COUNT_MASK
}

impl Ring {
    fn covering(span_ms: u64) -> Self {
        // Entries that matter lie in the tick of the reading, `span` ahead, or between: two ticks
        // more than the span itself has.
        let tick_shift = (0..u64::BITS)
            .find(|shift| (span_ms >> shift) + 2 <= RING)
            .expect("some power of two is large enough");
        let counters = (0..RING).map(|_| AtomicU64::new(0)).collect();
        Self {
            tick_shift,
            counters,
            lapsed: AtomicU64::new(0),
        }
    }

    fn counter(&self, tick: u64) -> &AtomicU64 {
        &self.counters[(tick & (RING - 1)) as usize]
    }

    #[inline]
    fn add(&self, deadline_ms: u64) {
        let tick = deadline_ms >> self.tick_shift;
        let (counter, mine) = (self.counter(tick), tick >> RING_SHIFT);
        // Relaxed, here and below: a counter guards nothing, and each is exact by itself. A reader
        // that wants exact sums waits for the writers, which orders it after them.
        let mut seen = counter.load(Ordering::Relaxed);
        loop {
            // Passed already; or so many in one tick that the field is full.
            if turn(seen) > mine || seen == pack(mine, COUNT_MASK) {
                // Relaxed: see above.
                self.lapsed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let (next, passed) = if turn(seen) == mine {
                (seen + 1, 0)
            } else {
                (pack(mine, 1), count(seen))
            };
            // Relaxed: see above.
            match counter.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if passed > 0 {
                        // Relaxed: see above.
                        self.lapsed.fetch_add(passed, Ordering::Relaxed);
                    }
                    return;
                }
                Err(now) => seen = now,
            }
        }
    }

    fn subtract(&self, deadline_ms: u64) {
        let tick = deadline_ms >> self.tick_shift;
        let (counter, mine) = (self.counter(tick), tick >> RING_SHIFT);
        // Relaxed, here and below: see `add`.
        let mut seen = counter.load(Ordering::Relaxed);
        while turn(seen) == mine {
            debug_assert!(count(seen) > 0, "taken off more often than booked");
            // Relaxed: see `add`.
            match counter.compare_exchange_weak(
                seen,
                seen - 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        debug_assert!(turn(seen) > mine, "a counter's turn never goes back");
        // Relaxed: see `add`.
        self.lapsed.fetch_sub(1, Ordering::Relaxed);
    }

    fn sum(&self, now_ms: u64) -> Sum {
        let now_tick = now_ms >> self.tick_shift;
        // Relaxed: see `add`.
        let mut sum = Sum {
            ahead: 0,
            passed: self.lapsed.load(Ordering::Relaxed),
        };
        for (place, counter) in zip(0.., &self.counters) {
            // Relaxed: see `add`.
            let seen = counter.load(Ordering::Relaxed);
            let tick = (turn(seen) << RING_SHIFT) | place;
            if tick >= now_tick {
                sum.ahead += count(seen);
            } else {
                sum.passed = sum.passed.wrapping_add(count(seen));
            }
        }
        sum
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn books(done: u64, in_flight: u64, ended: u64) -> Books {
        Books {
            done,
            in_flight,
            ended,
        }
    }

    #[test]
    fn entry_counts_until_its_tick_has_passed() {
        let wheel = Wheel::for_spans(1000, 1000);
        assert_eq!(wheel.tick_ms(), 4);
        wheel.book(Kind::Done, 1001);
        assert_eq!(wheel.at(0), books(1, 0, 0));
        assert_eq!(wheel.at(1001), books(1, 0, 0), "up to one tick late");
        assert_eq!(wheel.at(1004), books(0, 0, 1));
    }

    #[test]
    fn taking_off_undoes_booking_before_and_after_the_tick_passed() {
        for pause_ms in [0, 1004, 5000] {
            let wheel = Wheel::for_spans(1000, 1000);
            wheel.book(Kind::InFlight, 1001);
            wheel.book(Kind::InFlight, pause_ms + 1001);
            wheel.take_off(Kind::InFlight, 1001);
            wheel.take_off(Kind::InFlight, pause_ms + 1001);
            assert_eq!(wheel.at(pause_ms), books(0, 0, 0), "after {pause_ms} ms");
        }
    }

    #[test]
    fn next_turn_replaces_what_has_passed() {
        let wheel = Wheel::for_spans(1000, 1000);
        let turn_ms = wheel.tick_ms() * RING;
        for n in 0..10 {
            wheel.book(Kind::Done, n * turn_ms + 900);
        }
        assert_eq!(wheel.at(9 * turn_ms), books(1, 0, 9));
    }

    #[test]
    fn booker_that_slept_over_a_turn_counts_as_ended() {
        let wheel = Wheel::for_spans(1000, 1000);
        let turn_ms = wheel.tick_ms() * RING;
        wheel.book(Kind::Done, turn_ms + 900);
        wheel.book(Kind::Done, 900);
        assert_eq!(wheel.at(turn_ms), books(1, 0, 1));
        wheel.take_off(Kind::Done, 900);
        assert_eq!(wheel.at(turn_ms), books(1, 0, 0));
    }

    #[test]
    fn clock_may_jump_many_turns_and_to_the_end() {
        let wheel = Wheel::for_spans(1000, 1000);
        wheel.book(Kind::Done, 900);
        assert_eq!(wheel.at(FOREVER_MS - 1), books(0, 0, 1));
        wheel.book(Kind::Done, FOREVER_MS);
        assert_eq!(wheel.at(FOREVER_MS - 1), books(1, 0, 1));
    }

    #[test]
    fn ring_holds_the_whole_span_for_every_retention() {
        for span_ms in [
            2,
            10,
            253,
            254,
            255,
            256,
            1000,
            60_000,
            86_400_000,
            31_536_000_000,
        ] {
            let wheel = Wheel::for_spans(span_ms, span_ms);
            for now_ms in [0, 1, wheel.tick_ms() - 1, 12_345_678] {
                wheel.book(Kind::Done, now_ms);
                wheel.book(Kind::Done, now_ms + span_ms);
                assert_eq!(wheel.at(now_ms).done, 2, "span {span_ms} ms at {now_ms} ms");
                wheel.take_off(Kind::Done, now_ms);
                wheel.take_off(Kind::Done, now_ms + span_ms);
            }
        }
    }

    #[test]
    fn claim_too_long_for_the_fine_ring_shares_no_counter_with_the_present() {
        let wheel = Wheel::for_spans(1_000_000, 1000);
        let (short, long) = (wheel.kind_of_lease(2000), wheel.kind_of_lease(500_000));
        wheel.book(long, 500_000);
        (1..=2000).for_each(|deadline_ms| wheel.book(short, deadline_ms));
        assert_eq!(wheel.at(0), books(0, 2001, 0));
        assert_eq!(wheel.at(400_000), books(0, 1, 2000));
    }

    #[test]
    fn nothing_drifts_under_contention() {
        let (wheel, start) = (Wheel::for_spans(30, 30), Barrier::new(4));
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (wheel, start) = (&wheel, &start);
                scope.spawn(move || {
                    start.wait();
                    for n in 0..50_000u64 {
                        // Each thread is at a time of its own, so some sleep over whole turns.
                        let deadline_ms = n / 3 * (thread + 1);
                        wheel.book(Kind::Done, deadline_ms);
                        if n % 2 == 0 {
                            wheel.take_off(Kind::Done, deadline_ms);
                        }
                    }
                });
            }
        });
        assert_eq!(wheel.at(FOREVER_MS - 1), books(0, 0, 100_000));
    }
}
