//! Where an entry lies, and what was read there.

use core::fmt;

use crate::{bucket::SLOTS, slot::Meta};

/// Where an entry lies in its run. Ordered by distance, then slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u32);

impl Place {
    /// Slots are numbered in two bits.
    const SLOT_BITS: u32 = 2;

    /// The place in `slot` of the bucket `distance` past home.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // a reach is far below 2^30
    pub(crate) const fn new(distance: usize, slot: usize) -> Self {
        Self((distance as u32) << Self::SLOT_BITS | slot as u32)
    }
    #[inline]
    pub(crate) const fn distance(self) -> usize {
        (self.0 >> Self::SLOT_BITS) as usize
    }
    #[inline]
    pub(crate) const fn slot(self) -> usize {
        (self.0 & ((1 << Self::SLOT_BITS) - 1)) as usize
    }
}

const _: () = assert!(SLOTS <= 1 << Place::SLOT_BITS);

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "slot {} of the bucket {} past home",
            self.slot(),
            self.distance()
        )
    }
}

/// A slot, and the word that was read in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) place: Place,
    pub(crate) meta: Meta,
}
