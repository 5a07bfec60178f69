//! One spill mark: how far from home the ids of a bucket may lie, and until when.
//!
//! An id that finds its home bucket full goes to one of the next buckets. A mark in the *home*
//! bucket says so, and a look-up visits no more buckets than it says.
//!
//! ```text
//!  63          48 47                                     8 7        0
//! +--------------+----------------------------------------+----------+
//! |    unused    |              until (40, ms)            | distance |
//! +--------------+----------------------------------------+----------+
//! ```
//!
//! A mark is raised before anything is published under it, and it never sinks while it is alive.
//! Once `until` has passed it is dead, and the next raise starts it afresh.
//!
//! Each home has **two** marks that take turns ([`Turn`]): the mark of one stretch of time is left
//! alone during the next, so it dies and takes its distance with it. With a single mark, steady
//! churn would keep it alive for ever and its distance could only grow. An entry is covered by one
//! of the two for its whole life: the one that was raised when it was inserted, which its lease
//! remembers. A look-up honours both.
//!
//! This module is pure: no atomics, no clock.

use core::fmt;

use crate::slot::FOREVER_MS;

const DISTANCE_BITS: u32 = 8;
const DISTANCE_MASK: u64 = (1 << DISTANCE_BITS) - 1;

const _: () = assert!(
    FOREVER_MS.leading_zeros() >= DISTANCE_BITS,
    "until and distance share a word"
);

/// Which of a home's two marks covers an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Even,
    Odd,
}

impl Turn {
    /// The mark to raise at `now_ms`, where turns last `2^shift` ms each.
    pub(crate) const fn at(now_ms: u64, shift: u32) -> Self {
        if (now_ms >> shift) & 1 == 0 {
            Self::Even
        } else {
            Self::Odd
        }
    }
}

/// One spill mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpillMark(u64);

impl SpillMark {
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    const fn new(until_ms: u64, distance: usize) -> Self {
        Self((until_ms << DISTANCE_BITS) | distance as u64)
    }

    const fn until_ms(self) -> u64 {
        self.0 >> DISTANCE_BITS
    }

    const fn distance(self) -> usize {
        (self.0 & DISTANCE_MASK) as usize
    }

    /// How many buckets past home a look-up at `now_ms` has to visit; 0 when the mark is dead.
    pub(crate) const fn distance_at(self, now_ms: u64) -> usize {
        if self.until_ms() > now_ms {
            self.distance()
        } else {
            0
        }
    }

    /// The mark that also covers `distance` until `until_ms`; `None` where this one does already.
    pub(crate) fn raised(self, until_ms: u64, distance: usize, now_ms: u64) -> Option<Self> {
        let until_ms = until_ms.min(FOREVER_MS);
        let raised = if self.until_ms() > now_ms {
            Self::new(self.until_ms().max(until_ms), self.distance().max(distance))
        } else {
            Self::new(until_ms, distance)
        };
        (raised != self).then_some(raised)
    }
}

impl fmt::Debug for SpillMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} past home until {} ms",
            self.distance(),
            self.until_ms()
        )
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEVER: SpillMark = SpillMark::from_bits(0);

    #[test]
    fn dead_mark_starts_afresh() {
        let far = NEVER.raised(20, 5, 0).unwrap();
        assert_eq!(far.distance_at(19), 5);
        assert_eq!(far.distance_at(20), 0);
        let near = far.raised(40, 1, 20).unwrap();
        assert_eq!(near.distance_at(39), 1);
    }

    #[test]
    fn turns_alternate() {
        assert_eq!(Turn::at(0, 5), Turn::Even);
        assert_eq!(Turn::at(31, 5), Turn::Even);
        assert_eq!(Turn::at(32, 5), Turn::Odd);
        assert_eq!(Turn::at(64, 5), Turn::Even);
    }

    proptest! {
        #[test]
        fn live_mark_never_sinks(until in 0..=FOREVER_MS, distance in 0usize..256, more in 0..=FOREVER_MS, far in 0usize..256, now in 0..FOREVER_MS) {
            let mark = SpillMark::new(until, distance);
            let after = mark.raised(more, far, now).unwrap_or(mark);
            prop_assert!(after.until_ms() >= more);
            prop_assert!(after.distance() >= far);
            if until > now {
                prop_assert!(after.until_ms() >= until && after.distance() >= distance);
            }
            prop_assert!(after.raised(more, far, now).is_none(), "raising twice changes nothing");
        }
    }
}
