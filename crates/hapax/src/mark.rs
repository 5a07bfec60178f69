//! One spill mark: how far from home the ids of a bucket may lie, and until when.
//!
//! An id that finds its home bucket full goes to one of the next buckets. The mark in the *home*
//! bucket says so, and a look-up visits no more buckets than it says.
//!
//! A mark is a staircase that goes down in time. Time is cut into epochs, a few to a retention,
//! and the mark holds eight steps: the distance to visit in its first epoch, in the next, and so
//! on. After the last step, and in a word of zeroes, the distance is 0.
//!
//! ```text
//!  63                    40 39   35       9    5 4    0
//! +------------------------+-------+-----+------+------+
//! |   first epoch (24)     | step 7| ... |step 1|step 0|   a step: 5 bits, 0 to 31 buckets
//! +------------------------+-------+-----+------+------+
//! ```
//!
//! Always true:
//!
//! * A mark is raised before anything is published under it, and to the last epoch in which that
//!   can matter. No step sinks while its epoch lasts; steps whose epoch has passed are let go when
//!   the mark is next raised. So a far spill is forgotten with the entries of its time, however
//!   many nearer ones follow. With one distance for all time, steady churn would keep it alive for
//!   ever, and runs could only grow.
//! * Steps never rise: whoever has to visit a distance later has to visit it now. So one step
//!   answers for its epoch.
//!
//! Epochs are compared within half the range of their 24 bits, and are at least a second long, so
//! half the range is 97 days. A mark that stands more than a quarter of that ahead of whoever raises
//! it has come round since it was last raised, and starts afresh. For that to go wrong
//! a thread would have to sleep for 24 days between reading the clock and using it.
//!
//! This module is pure: no atomics, no clock.

use core::fmt;

/// The farthest a mark can point.
pub(crate) const MOST_DISTANCE: usize = (1 << STEP_BITS) - 1;

const STEP_BITS: u32 = 5;
const STEPS: u32 = 8;
const EPOCH_BITS: u32 = u64::BITS - STEP_BITS * STEPS;

/// A mark that starts further ahead than this has come round; half of what could be told apart.
const FAR: i64 = 1 << (EPOCH_BITS - 3);

const STEP_MASK: u64 = (1 << STEP_BITS) - 1;
const STEPS_MASK: u64 = (1 << (STEP_BITS * STEPS)) - 1;

const _: () = assert!(EPOCH_BITS == 24);

/// How time is cut into epochs: one multiplication, no division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    /// Epochs per millisecond, as a fraction of 2^64.
    scale: u64,
}

/// The number of an epoch, counted from the start of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Epoch(u64);

impl Epochs {
    /// Epochs of at least `least_ms`, so long that `span_ms` from any instant reaches no further
    /// than the last step.
    pub(crate) fn covering(span_ms: u64, least_ms: u64) -> Self {
        // A span that starts within an epoch and ends within one touches one more than it fills.
        let length_ms = span_ms.div_ceil(u64::from(STEPS) - 2).max(least_ms);
        Self {
            scale: u64::MAX / length_ms,
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the product is below 2^64 * 2^64
    pub(crate) const fn of(self, ms: u64) -> Epoch {
        Epoch(((ms as u128 * self.scale as u128) >> u64::BITS) as u64)
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

    const fn new(first: u64, steps: u64) -> Self {
        Self((first << (STEP_BITS * STEPS)) | (steps & STEPS_MASK))
    }

    /// Whether nothing is marked, in any epoch.
    #[inline]
    pub(crate) const fn is_flat(self) -> bool {
        self.steps() == 0
    }

    const fn steps(self) -> u64 {
        self.0 & STEPS_MASK
    }

    /// Which step is `epoch`'s; negative before the first.
    #[inline]
    const fn step_of(self, epoch: Epoch) -> i64 {
        let unused = u64::BITS - EPOCH_BITS;
        let first = self.0 >> (STEP_BITS * STEPS);
        ((epoch.0.wrapping_sub(first) << unused) as i64) >> unused
    }

    /// How many buckets past home a look-up in `epoch` has to visit.
    ///
    /// A reader whose clock is behind the mark's first epoch is answered as in the first: what was
    /// let go had passed, and what is left is the most that can matter.
    #[inline]
    pub(crate) const fn distance_at(self, epoch: Epoch) -> usize {
        let step = self.step_of(epoch);
        if step >= STEPS as i64 {
            return 0;
        }
        let step = if step < 0 { 0 } else { step as u32 };
        (self.steps() >> (step * STEP_BITS) & STEP_MASK) as usize
    }

    /// The mark that also covers `distance` until the end of `until`; `None` where this one does.
    pub(crate) fn raised(self, until: Epoch, distance: usize, now: Epoch) -> Option<Self> {
        debug_assert!(distance <= MOST_DISTANCE);
        let passed = self.step_of(now);
        // A mark that starts far ahead of us is one that nobody touched for so long that its epoch
        // has come round; it is over, and starts afresh before a reader could take it for live.
        let is_kept = !self.is_flat() && (-FAR..i64::from(STEPS)).contains(&passed);
        if is_kept && self.distance_at(until) >= distance || distance == 0 {
            return None;
        }
        let (mut first, mut steps) = (now, 0);
        if is_kept {
            // Let go of what has passed; or start where it starts, if that is ahead of us.
            first = Epoch(now.0.wrapping_add_signed(passed.min(0).wrapping_neg()));
            steps = self.steps() >> (passed.max(0) as u32 * STEP_BITS);
        }
        // Bring `until` within reach. What lies before the first step is answered by it.
        let beyond = until
            .0
            .saturating_sub(first.0)
            .saturating_sub(u64::from(STEPS) - 1);
        if beyond > 0 {
            let highest = steps & STEP_MASK;
            let shift = u32::try_from(beyond).map_or(u32::MAX, |b| b.saturating_mul(STEP_BITS));
            steps = steps.checked_shr(shift).unwrap_or(0) & !STEP_MASK | highest;
            first = Epoch(first.0 + beyond);
        }
        for step in 0..=until.0.saturating_sub(first.0) as u32 {
            let shift = step * STEP_BITS;
            if (steps >> shift & STEP_MASK) < distance as u64 {
                steps = steps & !(STEP_MASK << shift) | (distance as u64) << shift;
            }
        }
        Some(Self::new(first.0, steps))
    }
}

impl fmt::Debug for SpillMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from epoch {}:", self.0 >> (STEP_BITS * STEPS))?;
        (0..STEPS)
            .try_for_each(|step| write!(f, " {}", self.steps() >> (step * STEP_BITS) & STEP_MASK))
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLAT: SpillMark = SpillMark::from_bits(0);

    fn raise(mark: SpillMark, until: u64, distance: usize, now: u64) -> SpillMark {
        mark.raised(Epoch(until), distance, Epoch(now))
            .unwrap_or(mark)
    }

    #[test]
    fn zeroed_word_marks_nothing() {
        for epoch in [0, 1, 1 << 23, 1 << 24, u64::MAX] {
            assert_eq!(FLAT.distance_at(Epoch(epoch)), 0);
        }
    }

    #[test]
    fn far_spill_is_forgotten_while_near_ones_follow() {
        let mut mark = raise(FLAT, 106, 9, 100);
        for now in 101..120 {
            mark = raise(mark, now + 6, 1, now);
            assert_eq!(
                mark.distance_at(Epoch(now)),
                if now <= 106 { 9 } else { 1 },
                "in {now}"
            );
        }
    }

    #[test]
    fn debug_shows_the_stairs() {
        let mark = raise(raise(FLAT, 12, 1, 10), 10, 3, 10);
        assert_eq!(format!("{mark:?}"), "from epoch 10: 3 1 1 0 0 0 0 0");
    }

    #[test]
    fn span_reaches_no_further_than_the_last_step() {
        for span_ms in [1, 3, 20, 999, 1000, 86_400_000, 31_536_000_000] {
            for least_ms in [1, 1000] {
                let epochs = Epochs::covering(span_ms, least_ms);
                for now_ms in [0, 1, 12_345, 1 << 39] {
                    let ahead = epochs.of(now_ms + span_ms).0 - epochs.of(now_ms).0;
                    assert!(
                        ahead < u64::from(STEPS),
                        "{span_ms} ms at {now_ms} ms: {ahead}"
                    );
                }
            }
        }
    }

    /// Long epochs would keep spills marked that are long over.
    #[test]
    fn span_is_cut_into_six_epochs() {
        for span_ms in [999, 86_400_000, 31_536_000_000] {
            let epochs = Epochs::covering(span_ms, 1);
            let ten = epochs.of(10 * span_ms).0;
            assert!((59..=60).contains(&ten), "{span_ms} ms: {ten}");
        }
    }

    #[test]
    fn mark_ahead_is_kept_for_an_eighth_of_a_round_and_no_longer() {
        const EIGHTH: u64 = 1 << 21;
        let first = 1 << 30;
        let mark = raise(FLAT, first, 3, first);
        let kept = raise(mark, first - EIGHTH, 1, first - EIGHTH);
        assert_eq!(kept, mark, "covered by it");
        let now = first - EIGHTH - 1;
        let afresh = raise(mark, now, 1, now);
        assert_eq!(afresh, raise(FLAT, now, 1, now), "it has come round");
    }

    /// What was marked, and is needed: the distance of every raise whose epochs are not over.
    fn needed(raises: &[(u64, u64, usize)], epoch: u64) -> usize {
        let covering = raises.iter().filter(|(_, until, _)| *until >= epoch);
        covering
            .map(|(_, _, distance)| *distance)
            .max()
            .unwrap_or(0)
    }

    /// The steps of a mark, taken apart by arithmetic.
    fn steps(mark: SpillMark) -> [u64; 8] {
        core::array::from_fn(|step| mark.bits() / 32u64.pow(step as u32) % 32)
    }

    proptest! {
        #[test]
        fn any_word_answers_with_one_of_its_steps(bits: u64, behind in 0u64..1 << 22, ahead in 0u64..1 << 22) {
            let mark = SpillMark::from_bits(bits);
            // An epoch with the same 24 bits, in whatever round.
            let first = ((bits & 0xffff) << EPOCH_BITS) | (bits / 32u64.pow(8));
            prop_assert_eq!(mark.is_flat(), steps(mark) == [0; 8]);
            for epoch in 0..8 {
                prop_assert_eq!(mark.distance_at(Epoch(first + epoch)) as u64, steps(mark)[epoch as usize]);
            }
            prop_assert_eq!(mark.distance_at(Epoch(first + 8 + ahead)), 0);
            prop_assert_eq!(mark.distance_at(Epoch(first.wrapping_sub(behind))) as u64, steps(mark)[0]);
        }

        #[test]
        fn any_word_can_be_raised(
            bits: u64, now in 0u64..1 << 36, ahead in 0u64..8, distance in 1..=MOST_DISTANCE,
        ) {
            let (mark, until) = (SpillMark::from_bits(bits), Epoch(now + ahead));
            let now = Epoch(now);
            let raised = mark.raised(until, distance, now).unwrap_or(mark);
            for epoch in now.0..=until.0 {
                // Steps never rise in a mark that was raised; in any word they may.
                let least = if mark == raised { mark.distance_at(Epoch(epoch)) } else { distance };
                prop_assert!(raised.distance_at(Epoch(epoch)) >= least, "{mark:?} {raised:?}");
            }
            prop_assert!(raised.raised(until, distance, now).is_none(), "{mark:?} {raised:?}");
        }

        #[test]
        fn every_raise_is_honoured_until_its_end(
            start in prop::sample::select(vec![0u64, 5, (1 << 24) - 3, (1 << 36) + 7]),
            moves in prop::collection::vec((0u64..12, 0u64..16, 0usize..=MOST_DISTANCE), 1..40),
        ) {
            let (mut mark, mut now, mut raises) = (FLAT, start, Vec::new());
            for (pass, ahead, distance) in moves {
                now += pass;
                mark = raise(mark, now + ahead, distance, now);
                raises.push((now, now + ahead, distance));
                for epoch in now..now + 24 {
                    let at = mark.distance_at(Epoch(epoch));
                    prop_assert!(at >= needed(&raises, epoch), "{mark:?} in {epoch}");
                }
                prop_assert!(mark.raised(Epoch(now + ahead), distance, Epoch(now)).is_none());
            }
        }

        #[test]
        fn within_reach_a_mark_is_exact(
            moves in prop::collection::vec((0u64..12, 0u64..8, 0usize..=MOST_DISTANCE), 1..40),
        ) {
            let (mut mark, mut now, mut raises) = (FLAT, 0, Vec::new());
            for (pass, ahead, distance) in moves {
                now += pass;
                mark = raise(mark, now + ahead, distance, now);
                raises.push((now, now + ahead, distance));
                for epoch in now..now + 24 {
                    prop_assert_eq!(mark.distance_at(Epoch(epoch)), needed(&raises, epoch));
                }
            }
        }

        #[test]
        fn raiser_with_an_old_clock_hides_nothing(
            behind in 0u64..20, ahead in 0u64..8, far in 1usize..=MOST_DISTANCE, near in 0usize..=MOST_DISTANCE,
        ) {
            let mark = raise(FLAT, 107, far, 100);
            let late = raise(mark, 100 - behind + ahead, near, 100 - behind);
            for epoch in 100..108 {
                prop_assert!(late.distance_at(Epoch(epoch)) >= far);
            }
            prop_assert!(late.distance_at(Epoch(100 - behind)) >= near, "his own look-up");
        }
    }
}
