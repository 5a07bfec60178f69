//! One meta word: who owns a slot, until when, and for which id.
//!
//! A slot is two words. The *fingerprint* word holds 64 bits of the id's hash. The *meta* word,
//! packed here, holds everything that must change together with one compare-exchange:
//!
//! ```text
//!  63                                    24 23          11 10      3 2   0
//! +----------------------------------------+--------------+---------+-----+
//! |            deadline (40, ms)           |   tag (13)   | ver (8) | st  |
//! +----------------------------------------+--------------+---------+-----+
//! ```
//!
//! | state | meaning | who may change it |
//! |---|---|---|
//! | `FREE` | nobody's | anyone, to `RESERVED` |
//! | `RESERVED` | one inserter is writing the fingerprint, or was killed | that inserter only |
//! | `TENTATIVE` | the fingerprint can be read, the insert is not decided | the inserter, to `SEEN` or `HELD`; anyone, to `RESERVED` (a kill) |
//! | `HELD` | claimed; the deadline is the end of the lease | the holder of this exact word; anyone after the deadline |
//! | `SEEN` | done; the deadline is the end of the retention | anyone after the deadline, or to forget it |
//!
//! Always true: a word of zeroes is a free slot, so a zeroed table is an empty table. The version
//! counts tenancies, so a compare-exchange from a word of an earlier tenant fails. Whoever holds a
//! slot as `RESERVED` is the only one who may store to it; every other change is a
//! compare-exchange from the exact word that was seen.
//!
//! This module is pure: no atomics, no clock.

use core::fmt;

/// The last instant a deadline can name, in milliseconds since the set was made: 34.8 years.
///
/// The clock is clamped below it, so an entry that carries it never expires.
pub(crate) const FOREVER_MS: u64 = (1 << DEADLINE_BITS) - 1;

const STATE_BITS: u32 = 3;
const VERSION_BITS: u32 = 8;
const TAG_BITS: u32 = 13;
const DEADLINE_BITS: u32 = 40;

const VERSION_SHIFT: u32 = STATE_BITS;
const TAG_SHIFT: u32 = VERSION_SHIFT + VERSION_BITS;
const DEADLINE_SHIFT: u32 = TAG_SHIFT + TAG_BITS;

const _: () = assert!(DEADLINE_SHIFT + DEADLINE_BITS == u64::BITS);

const STATE_MASK: u64 = (1 << STATE_BITS) - 1;
const VERSION_ONE: u64 = 1 << VERSION_SHIFT;
const VERSION_MASK: u64 = ((1 << VERSION_BITS) - 1) << VERSION_SHIFT;
const TAG_MASK: u64 = ((1 << TAG_BITS) - 1) << TAG_SHIFT;

const FREE: u64 = 0b000;
const RESERVED: u64 = 0b001;
const TENTATIVE: u64 = 0b010;
const HELD: u64 = 0b011;
const SEEN: u64 = 0b100;

/// The 13 tag bits of an id, already where the meta word wants them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Takes the low 13 bits of `hash`.
    pub(crate) const fn from_hash(hash: u64) -> Self {
        Self((hash << TAG_SHIFT) & TAG_MASK)
    }
}

/// One meta word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta(u64);

impl Meta {
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// The instant from which this entry no longer counts, in milliseconds.
    pub(crate) const fn deadline_ms(self) -> u64 {
        self.0 >> DEADLINE_SHIFT
    }

    pub(crate) const fn is_tentative(self) -> bool {
        self.0 & STATE_MASK == TENTATIVE
    }

    pub(crate) const fn is_held(self) -> bool {
        self.0 & STATE_MASK == HELD
    }

    pub(crate) const fn is_seen(self) -> bool {
        self.0 & STATE_MASK == SEEN
    }

    /// The bits that name the id, with the fingerprint.
    #[cfg(any(hapax_pause, hapax_shuttle, fuzzing))]
    pub(crate) const fn id_bits(self) -> u64 {
        self.0 & TAG_MASK
    }

    /// Whether the slot's fingerprint belongs to this word and the word carries `tag`.
    ///
    /// `TENTATIVE`, `HELD` and `SEEN` are the three states from `0b010` up.
    pub(crate) const fn may_be(self, tag: Tag) -> bool {
        self.0 & TAG_MASK == tag.0 && self.0 & STATE_MASK >= TENTATIVE
    }

    /// Whether a committed entry still counts at `now_ms`: the deadline itself is outside.
    pub(crate) const fn is_live_at(self, now_ms: u64) -> bool {
        self.0 & STATE_MASK >= HELD && self.deadline_ms() > now_ms
    }

    /// Whether a newcomer may reserve this slot: free, or committed and over.
    pub(crate) const fn is_takeable_at(self, now_ms: u64) -> bool {
        let state = self.0 & STATE_MASK;
        state == FREE || (state >= HELD && self.deadline_ms() <= now_ms)
    }

    /// The next tenant's word while it writes its fingerprint. The version moves on.
    pub(crate) const fn reserved(self) -> Self {
        Self(self.next_version() | RESERVED)
    }

    /// What a reserved slot becomes when its fingerprint can be read.
    pub(crate) const fn published(self, deadline_ms: u64, tag: Tag) -> Self {
        Self((deadline_ms << DEADLINE_SHIFT) | tag.0 | (self.0 & VERSION_MASK) | TENTATIVE)
    }

    /// What a rival makes of a tentative slot: its owner's again, and only its owner's.
    ///
    /// Not `FREE`: the slot must not change hands under an owner that was descheduled, or its
    /// late commit could find an equal word of somebody else.
    pub(crate) const fn killed(self) -> Self {
        Self((self.0 & VERSION_MASK) | RESERVED)
    }

    /// What a tentative slot becomes when its insert is decided.
    pub(crate) const fn committed(self, held: bool) -> Self {
        Self((self.0 & !STATE_MASK) | if held { HELD } else { SEEN })
    }

    /// What a claim becomes when its holder is done.
    pub(crate) const fn completed(self, deadline_ms: u64) -> Self {
        Self((deadline_ms << DEADLINE_SHIFT) | (self.0 & TAG_MASK) | self.next_version() | SEEN)
    }

    /// What a claim becomes when its lease is extended.
    pub(crate) const fn extended(self, deadline_ms: u64) -> Self {
        Self((deadline_ms << DEADLINE_SHIFT) | (self.0 & !(u64::MAX << DEADLINE_SHIFT)))
    }

    /// Nobody's, with the version moved on.
    pub(crate) const fn freed(self) -> Self {
        Self(self.next_version() | FREE)
    }

    const fn next_version(self) -> u64 {
        self.0.wrapping_add(VERSION_ONE) & VERSION_MASK
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 & STATE_MASK {
            FREE => "FREE",
            RESERVED => "RESERVED",
            TENTATIVE => "TENTATIVE",
            HELD => "HELD",
            SEEN => "SEEN",
            _ => "INVALID",
        };
        let version = (self.0 & VERSION_MASK) >> VERSION_SHIFT;
        let tag = (self.0 & TAG_MASK) >> TAG_SHIFT;
        write!(
            f,
            "{state} v{version} tag {tag:#06x} until {} ms",
            self.deadline_ms()
        )
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:#06x})", self.0 >> TAG_SHIFT)
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tentative(deadline_ms: u64, tag: u64, version: u64) -> Meta {
        let free = Meta::from_bits((version & 0xff) << VERSION_SHIFT);
        free.reserved().published(deadline_ms, Tag::from_hash(tag))
    }

    #[test]
    fn zeroed_word_is_free() {
        let zero = Meta::from_bits(0);
        assert!(zero.is_takeable_at(0));
        assert!(!zero.may_be(Tag::from_hash(0)));
        assert!(!zero.is_live_at(0));
    }

    #[test]
    fn only_free_or_ended_slots_can_be_taken() {
        let word = tentative(50, 3, 9);
        assert!(!word.is_takeable_at(100), "an undecided slot has an owner");
        assert!(
            !word.killed().is_takeable_at(100),
            "a killed slot still has its owner"
        );
        for held in [false, true] {
            assert!(!word.committed(held).is_takeable_at(49));
            assert!(
                word.committed(held).is_takeable_at(50),
                "the deadline itself is outside"
            );
            assert!(word.committed(held).freed().is_takeable_at(0));
        }
    }

    #[test]
    fn debug_names_state_version_tag_and_deadline() {
        let text = format!("{:?}", tentative(50, 3, 9).committed(true));
        assert_eq!(text, "HELD v10 tag 0x0003 until 50 ms");
    }

    /// The word taken apart by arithmetic: state, version, tag, deadline.
    fn apart(meta: Meta) -> [u64; 4] {
        let bits = meta.bits();
        [
            bits % 8,
            bits / 8 % 256,
            bits / 2048 % 8192,
            bits / 16_777_216,
        ]
    }

    proptest! {
        #[test]
        fn any_word_reads_and_moves_as_its_four_numbers_do(
            bits: u64, small in 0u64..8, now_ms in 0..=FOREVER_MS, later_ms in 0..=FOREVER_MS, hash: u64,
        ) {
            // Any word, also one that no call would write; half of them with a state that has a name.
            let meta = Meta::from_bits(if hash & 1 == 0 { bits } else { bits & !STATE_MASK | small });
            let [state, version, tag, deadline] = apart(meta);
            let next = (version + 1) % 256;
            let other = Tag::from_hash(hash);
            let mine = Tag::from_hash(tag);

            prop_assert_eq!(meta.deadline_ms(), deadline);
            prop_assert_eq!(meta.is_tentative(), state == 2);
            prop_assert_eq!(meta.is_held(), state == 3);
            prop_assert_eq!(meta.is_seen(), state == 4);
            prop_assert_eq!(meta.may_be(mine), state >= 2);
            prop_assert_eq!(meta.may_be(other), state >= 2 && hash % 8192 == tag);
            for now_ms in [now_ms, deadline, deadline.saturating_sub(1)] {
                let is_over = deadline <= now_ms;
                prop_assert_eq!(meta.is_live_at(now_ms), state >= 3 && !is_over);
                prop_assert_eq!(meta.is_takeable_at(now_ms), state == 0 || state >= 3 && is_over);
            }

            prop_assert_eq!(apart(meta.reserved()), [1, next, 0, 0]);
            prop_assert_eq!(apart(meta.published(later_ms, other)), [2, version, hash % 8192, later_ms]);
            prop_assert_eq!(apart(meta.killed()), [1, version, 0, 0]);
            prop_assert_eq!(apart(meta.committed(true)), [3, version, tag, deadline]);
            prop_assert_eq!(apart(meta.committed(false)), [4, version, tag, deadline]);
            prop_assert_eq!(apart(meta.completed(later_ms)), [4, next, tag, later_ms]);
            prop_assert_eq!(apart(meta.extended(later_ms)), [state, version, tag, later_ms]);
            prop_assert_eq!(apart(meta.freed()), [0, next, 0, 0]);
        }

        #[test]
        fn fields_survive_every_move(deadline in 0..=FOREVER_MS, later in 0..=FOREVER_MS, hash: u64, version: u64) {
            let tag = Tag::from_hash(hash);
            let word = tentative(deadline, hash, version);
            prop_assert!(word.is_tentative() && word.may_be(tag));
            prop_assert_eq!(word.deadline_ms(), deadline);

            let held = word.committed(true);
            prop_assert!(held.is_held() && held.may_be(tag));
            prop_assert_eq!(held.deadline_ms(), deadline);

            let longer = held.extended(later);
            prop_assert!(longer.is_held() && longer.may_be(tag));
            prop_assert_eq!(longer.deadline_ms(), later);
            prop_assert_eq!(longer.extended(deadline), held);

            let done = longer.completed(deadline);
            prop_assert!(done.is_seen() && done.may_be(tag));
            prop_assert_eq!(done.deadline_ms(), deadline);
            prop_assert_eq!(done.next_version(), done.freed().bits());
            prop_assert_ne!(done.bits() & VERSION_MASK, held.bits() & VERSION_MASK);
        }

        #[test]
        fn every_tenancy_moves_the_version(bits: u64) {
            let word = Meta::from_bits(bits);
            prop_assert_eq!(word.reserved().bits() & VERSION_MASK, word.next_version());
            prop_assert_eq!(word.freed().bits() & VERSION_MASK, word.next_version());
            prop_assert_eq!(word.killed().bits() & VERSION_MASK, bits & VERSION_MASK);
        }

        #[test]
        fn another_tag_never_matches(a: u64, b: u64) {
            let (a, b) = (Tag::from_hash(a), Tag::from_hash(b));
            prop_assume!(a != b);
            prop_assert!(!tentative(1, 0, 0).published(1, a).committed(false).may_be(b));
        }
    }
}
