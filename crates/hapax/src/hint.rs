//! The word that names the table which takes new ids.
//!
//! ```text
//!  63         40 39                    0
//! +-------------+-----------------------+
//! |    moves    |   serial of a table   |
//! +-------------+-----------------------+
//! ```
//!
//! It is counted how often the hint was moved, so that two equal words mean that it has not moved
//! in between, not even there and back: what [`insert`](crate::insert) relies on. The count wraps:
//! whoever sleeps through exactly 2^24 moves takes them for none. A shard moves its hint a few
//! times in a tick of its wheel at most, so that is a sleep of hours, in one call, to the move.

use core::fmt;

const SERIAL_BITS: u32 = 40;
const SERIAL_MASK: u64 = (1 << SERIAL_BITS) - 1;
const ONE_MOVE: u64 = 1 << SERIAL_BITS;
const _: () = assert!(ONE_MOVE & SERIAL_MASK == 0 && u64::BITS - SERIAL_BITS == 24);

/// The last number that a table may have. At one a millisecond it lasts 34 years; after that the
/// shard does not grow any more.
pub(crate) const LAST_SERIAL: u64 = SERIAL_MASK;

/// Names a table, and a stretch of time in which it was the one to take new ids.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint(u64);

impl Hint {
    /// At the base table, never moved.
    pub(crate) const BASE: Self = Self(0);

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
    #[inline]
    pub(crate) const fn serial(self) -> u64 {
        self.0 & SERIAL_MASK
    }
    /// The word after one more move.
    pub(crate) const fn moved_to(self, serial: u64) -> Self {
        debug_assert!(serial <= LAST_SERIAL);
        Self((self.0 & !SERIAL_MASK).wrapping_add(ONE_MOVE) | serial)
    }
}

impl fmt::Debug for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moves = self.0 >> SERIAL_BITS;
        write!(f, "table {} after {moves} moves", self.serial())
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_move_gives_the_same_word() {
        let there = Hint::BASE.moved_to(7);
        let back = there.moved_to(0);
        assert_eq!((there.serial(), back.serial()), (7, 0));
        assert_ne!(back, Hint::BASE, "there and back is not the same");
        assert_ne!(back.moved_to(0), back, "nor is a move to where it was");
        assert_eq!(Hint::from_bits(back.bits()), back);
    }

    #[test]
    fn count_wraps_and_leaves_the_serial_alone() {
        let hint = Hint::from_bits(!SERIAL_MASK | 3);
        assert_eq!(hint.moved_to(LAST_SERIAL).bits(), LAST_SERIAL);
    }

    #[test]
    fn debug_tells_table_and_moves() {
        let hint = Hint::BASE.moved_to(3).moved_to(5);
        assert_eq!(format!("{hint:?}"), "table 5 after 2 moves");
    }
}
