//! One table, and what can be done to it: the steps of the protocol.
//!
//! The order of the steps, and why it gives each id one winner, is told in [`insert`]. What holds
//! here:
//!
//! * An id's candidates in a table are the slots of its *run*: the home bucket and as many of the
//!   next buckets as the home's spill marks say.
//! * A table's own mark, `until`, is the latest instant at which anything in it can matter. It is
//!   raised before anything is published in the table, and never sinks, so a table whose mark has
//!   passed need not be looked at. [`CLOSED`] ends it for good: raising fails from then on.
//! * A slot belongs to whoever made it `RESERVED`, and only to him: the sole plain stores are his.
//!   Every other change is a compare-exchange from the exact word seen.
//!
//! [`insert`]: crate::insert

use crate::{
    bucket::{Bucket, Buckets, SLOTS},
    hash::Probe,
    mark::{Epochs, MOST_DISTANCE, SpillMark},
    place::{Found, Place},
    reservation::Reservation,
    slot::Meta,
    sync::{self, AtomicU64, Ordering, Step},
};

/// The mark of a table that takes nothing any more. Larger than any instant, and read as dead.
const CLOSED: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Table {
    /// Names the table among all that its shard ever had; 0 is the first, which is never closed.
    serial: u64,
    /// How often the shard's smallest size was doubled to make this one.
    class: u32,
    /// Most buckets past home an entry may lie.
    reach: usize,
    /// The latest instant at which anything in here can matter, or [`CLOSED`].
    until_ms: AtomicU64,
    epochs: Epochs,
    buckets: Buckets,
}

/// What a scan of one run says of an id.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// Here, and committed.
    Live(Found),
    /// Somebody is inserting it here.
    Undecided(Found),
    Absent,
}

/// What is to be done about the other copies of an id.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// Nobody else has it.
    Alone,
    /// Somebody has it already.
    Live(Meta),
    /// Another inserter stands here, and has the better right.
    Yield(Found),
}

/// What a full table has for a newcomer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    /// Things have changed since it looked full.
    StartAgain,
    /// The place of an entry that is done and not over.
    Taken(Found),
    None,
}

/// The table was closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

impl Table {
    /// Allocates an empty table that counts as in use until `until_ms`.
    pub(crate) fn new(
        serial: u64,
        class: u32,
        buckets: usize,
        reach: usize,
        epochs: Epochs,
        until_ms: u64,
    ) -> Option<Self> {
        let buckets = Buckets::zeroed(buckets)?;
        let reach = reach.min(buckets.len() - 1).min(MOST_DISTANCE);
        let until_ms = AtomicU64::new(until_ms);
        Some(Self {
            serial,
            class,
            reach,
            until_ms,
            epochs,
            buckets,
        })
    }

    pub(crate) const fn serial(&self) -> u64 {
        self.serial
    }

    pub(crate) const fn class(&self) -> u32 {
        self.class
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    #[inline]
    pub(crate) fn home(&self, probe: Probe) -> usize {
        probe.home(self.buckets.len())
    }

    /// The bucket `distance` past `home`; the last is followed by the first.
    #[inline]
    fn bucket(&self, home: usize, distance: usize) -> Bucket<'_> {
        let index = home + distance;
        self.buckets.get(if index < self.buckets.len() {
            index
        } else {
            index - self.buckets.len()
        })
    }

    /// The meta word at `place` in the run of `home`.
    pub(crate) fn meta(&self, home: usize, place: Place) -> &AtomicU64 {
        self.bucket(home, place.distance()).meta(place.slot())
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket<'_>> {
        self.buckets.iter()
    }

    /// Touches a home bucket, so that its line is on its way when the insert comes for it.
    pub(crate) fn touch(&self, probe: Probe) -> u64 {
        // Relaxed: the value is not used.
        self.buckets
            .get(self.home(probe))
            .meta(0)
            .load(Ordering::Relaxed)
    }

    // ---- marks ------------------------------------------------------------------------------

    /// Whether anything in here can matter at `now_ms`, a reading taken before this call.
    #[inline]
    pub(crate) fn is_alive_at(&self, now_ms: u64) -> bool {
        // Relaxed: what a mark covers is published after it was raised; whoever needs to see both
        // is ordered by the fences of `publish` and of the settling calls.
        let until_ms = self.until_ms.load(Ordering::Relaxed);
        until_ms > now_ms && until_ms != CLOSED
    }

    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: closing is final and names no other memory.
        self.until_ms.load(Ordering::Relaxed) == CLOSED
    }

    /// Raises the table's mark to cover `until_ms`, or learns that the table was closed.
    #[inline]
    pub(crate) fn raise(&self, until_ms: u64) -> Result<(), Closed> {
        // Relaxed: a mark that is high enough needs no write; see `is_alive_at`.
        let mut seen = self.until_ms.load(Ordering::Relaxed);
        while seen < until_ms {
            // AcqRel: orders us after whoever judged the mark we replace, and with us whoever
            // raises it next. Pairs with itself and with `close`.
            match self.until_ms.compare_exchange_weak(
                seen,
                until_ms,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
        if seen == CLOSED { Err(Closed) } else { Ok(()) }
    }

    /// Closes the table if nothing in it can matter at `now_ms` any more. Takes effect at the
    /// compare-exchange: whoever raises the mark afterwards fails.
    pub(crate) fn close(&self, now_ms: u64) -> bool {
        // Relaxed: the compare-exchange decides.
        let seen = self.until_ms.load(Ordering::Relaxed);
        seen <= now_ms
            // AcqRel: pairs with `raise`; a raiser that comes later finds the table closed.
            && self
                .until_ms
                .compare_exchange(seen, CLOSED, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Raises a home's spill mark to cover `distance` until `until_ms`.
    pub(crate) fn raise_spill(&self, home: usize, distance: usize, until_ms: u64, now_ms: u64) {
        let mark = self.buckets.get(home).spill_mark();
        let (until, now) = (self.epochs.of(until_ms), self.epochs.of(now_ms));
        // Relaxed: as in `raise`.
        let mut seen = SpillMark::from_bits(mark.load(Ordering::Relaxed));
        while let Some(raised) = seen.raised(until, distance, now) {
            // AcqRel: whoever lets go of a step has read a clock past its end; a holder who raises
            // the mark afterwards is ordered after that reading, and so refuses.
            match mark.compare_exchange_weak(
                seen.bits(),
                raised.bits(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => seen = SpillMark::from_bits(now),
            }
        }
    }

    /// How many buckets past its home a look-up has to visit at `now_ms`, a reading taken before.
    #[inline]
    pub(crate) fn spilled(&self, home: Bucket<'_>, now_ms: u64) -> usize {
        // Relaxed: as in `is_alive_at`.
        let mark = SpillMark::from_bits(home.spill_mark().load(Ordering::Relaxed));
        if mark.is_flat() {
            return 0;
        }
        mark.distance_at(self.epochs.of(now_ms)).min(self.reach)
    }

    // ---- step 1: scan -----------------------------------------------------------------------

    /// The live entry of an id. What is undecided has not taken effect, so it is passed over.
    #[inline]
    pub(crate) fn find(&self, probe: Probe, now_ms: u64) -> Option<Found> {
        match self.scan::<false>(probe, now_ms, &mut None) {
            Look::Live(found) => Some(found),
            Look::Undecided(_) | Look::Absent => None,
        }
    }

    /// Looks an id up in its run and, if it is absent, for the nearest slot that can be taken.
    #[inline]
    pub(crate) fn look_for_room(
        &self,
        probe: Probe,
        now_ms: u64,
        nearest: &mut Option<Found>,
    ) -> Look {
        self.scan::<true>(probe, now_ms, nearest)
    }

    #[inline]
    fn scan<const INSERT: bool>(
        &self,
        probe: Probe,
        now_ms: u64,
        nearest: &mut Option<Found>,
    ) -> Look {
        let home = self.home(probe);
        let mut bucket = self.buckets.get(home);
        let spilled = self.spilled(bucket, now_ms);
        let mut distance = 0;
        loop {
            for slot in 0..SLOTS {
                let (meta, mine) = read(bucket, slot, probe);
                let found = Found {
                    place: Place::new(distance, slot),
                    meta,
                };
                if INSERT && mine && meta.is_tentative() {
                    return Look::Undecided(found);
                }
                if mine && meta.is_live_at(now_ms) {
                    return Look::Live(found);
                }
                if INSERT && nearest.is_none() && meta.is_takeable_at(now_ms) {
                    *nearest = Some(found);
                }
            }
            distance += 1;
            let enough = distance > spilled && (!INSERT || nearest.is_some());
            if enough || distance > self.reach {
                return Look::Absent;
            }
            bucket = self.bucket(home, distance);
        }
    }

    /// Finds whom to push out of a table that is full: of the done entries in an id's whole reach,
    /// the one that ends first. Sends the caller back to start again where a slot can be taken
    /// after all, or somebody has brought the id in meanwhile: that entry must not make room for
    /// itself.
    #[cold]
    pub(crate) fn earliest_done(&self, probe: Probe, now_ms: u64, push_out: bool) -> Room {
        let home = self.home(probe);
        let mut earliest: Option<Found> = None;
        for distance in 0..=self.reach {
            let bucket = self.bucket(home, distance);
            for slot in 0..SLOTS {
                let (meta, mine) = read(bucket, slot, probe);
                if mine || meta.is_takeable_at(now_ms) {
                    return Room::StartAgain;
                }
                let is_earlier = earliest.is_none_or(|e| meta.deadline_ms() < e.meta.deadline_ms());
                if push_out && meta.is_seen() && is_earlier {
                    earliest = Some(Found {
                        place: Place::new(distance, slot),
                        meta,
                    });
                }
            }
        }
        earliest.map_or(Room::None, Room::Taken)
    }

    /// Takes an undecided entry back to its owner, who will start again.
    pub(crate) fn kill(&self, probe: Probe, rival: Found) {
        let meta = self.meta(self.home(probe), rival.place);
        // Relaxed: the owner learns of it by his own compare-exchange, and reads nothing of ours.
        // Where it fails, the caller looks again all the same.
        let _ = meta.compare_exchange(
            rival.meta.bits(),
            rival.meta.killed().bits(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    // ---- step 3: reserve and publish --------------------------------------------------------

    /// Makes a free or ended slot ours; `None` where somebody was faster.
    #[inline]
    pub(crate) fn reserve(&self, probe: Probe, target: Found) -> Option<Reservation<'_>> {
        let bucket = self.bucket(self.home(probe), target.place.distance());
        let (meta, mine) = (bucket.meta(target.place.slot()), target.meta.reserved());
        // Relaxed: the slot's old tenant is over, and nothing is read through it.
        let won = meta.compare_exchange(
            target.meta.bits(),
            mine.bits(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        sync::step(Step::Reserved);
        won.is_ok()
            .then(|| Reservation::new(meta, bucket.fingerprint(target.place.slot()), mine))
    }

    // ---- steps 1 and 4: other copies ----------------------------------------------------------

    /// Settles with every copy of an id but our `own`, if that stands published here. What is over
    /// is freed, so that no late `complete` brings it back. Of two that are undecided the one at
    /// the lower place has the better right; whoever has published nothing here has none.
    #[inline]
    pub(crate) fn judge_copies(&self, probe: Probe, now_ms: u64, own: Option<Place>) -> Verdict {
        let home = self.home(probe);
        let least = own.map_or(0, Place::distance);
        let mut bucket = self.buckets.get(home);
        let spilled = self.spilled(bucket, now_ms).max(least);
        for distance in 0..=spilled {
            if distance > 0 {
                bucket = self.bucket(home, distance);
            }
            for slot in 0..SLOTS {
                let place = Place::new(distance, slot);
                if own == Some(place) {
                    continue;
                }
                let (copy, mine) = read(bucket, slot, probe);
                if mine {
                    let we_come_first = own.is_some_and(|own| own < place);
                    let copy = Found { place, meta: copy };
                    let verdict = judge(bucket, copy, probe, now_ms, we_come_first);
                    if !matches!(verdict, Verdict::Alone) {
                        return verdict;
                    }
                }
            }
        }
        Verdict::Alone
    }
}

/// Settles with another copy of our id: it wins, or we, or it is over and goes.
#[cold]
fn judge(
    bucket: Bucket<'_>,
    mut copy: Found,
    probe: Probe,
    now_ms: u64,
    we_come_first: bool,
) -> Verdict {
    let slot = copy.place.slot();
    loop {
        if copy.meta.is_live_at(now_ms) {
            return Verdict::Live(copy.meta);
        }
        let after = if !copy.meta.is_tentative() {
            // Ended: free it, so that a late `complete` cannot bring it back.
            copy.meta.freed()
        } else if we_come_first {
            copy.meta.killed()
        } else {
            return Verdict::Yield(copy);
        };
        // Relaxed: whoever owns the word learns of it by his own compare-exchange.
        let changed = bucket.meta(slot).compare_exchange(
            copy.meta.bits(),
            after.bits(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if changed.is_ok() {
            return Verdict::Alone;
        }
        sync::look_again();
        let (again, mine) = read(bucket, slot, probe);
        if !mine {
            return Verdict::Alone;
        }
        copy.meta = again;
    }
}

/// Reads one slot, and whether it holds this id: tentative, claimed or done, ended or not.
///
/// A word that changes between its two readings is read again; it never means *not this id*.
#[inline]
pub(crate) fn read(bucket: Bucket<'_>, slot: usize, probe: Probe) -> (Meta, bool) {
    loop {
        // Acquire: pairs with the Release in `publish` (we must see the fingerprint, and a caller
        // told *duplicate* what the winner wrote) and with the Releases that settle a claim.
        let meta = Meta::from_bits(bucket.meta(slot).load(Ordering::Acquire));
        // Acquire: pairs with the Release in `publish`: if we read a later tenant's fingerprint,
        // the second look at the word below must see his change of it.
        if !meta.may_be(probe.tag())
            || bucket.fingerprint(slot).load(Ordering::Acquire) != probe.fingerprint()
        {
            return (meta, false);
        }
        // Relaxed: ordered after the fingerprint by the Acquire above.
        if bucket.meta(slot).load(Ordering::Relaxed) == meta.bits() {
            return (meta, true);
        }
        sync::look_again();
    }
}

#[cfg(test)]
impl Table {
    /// How many buckets a look-up of a new id visits, on average over all homes.
    #[cfg_attr(hapax_loom, allow(dead_code))]
    pub(crate) fn mean_run(&self, now_ms: u64) -> f64 {
        let runs = self
            .buckets()
            .map(|bucket| 1 + self.spilled(bucket, now_ms));
        runs.sum::<usize>() as f64 / self.buckets.len() as f64
    }
}
