//! Levers that the models pull to bring a shard where they want it, and gauges to read it.

use crate::{
    bucket::SLOTS,
    hash::Probe,
    place::{Found, Place},
    reservation::Reservation,
    shard::{Grown, Shard},
    slot::Meta,
    sync::Ordering,
    table::{Table, read},
};

impl Shard {
    pub(crate) fn postpone_tidying(&self) {
        self.tidy_at_ms.store(u64::MAX, Ordering::Relaxed);
    }

    pub(crate) fn point_at(&self, class: u32, now_ms: u64) -> Grown {
        let hint = self.hint();
        self.point_at_class(&self.tables(), hint, class, now_ms)
    }

    pub(crate) fn close_grown(&self, now_ms: u64) {
        for table in self.tables().open() {
            table.close(now_ms);
        }
    }
}

impl Table {
    /// Puts a done entry in a slot, as an insert would have left it.
    pub(crate) fn plant(&self, probe: Probe, place: Place, until_ms: u64) {
        self.raise(until_ms).expect("open");
        if place.distance() > 0 {
            self.raise_spill(self.home(probe), place.distance(), until_ms, 0);
        }
        let mut slot = self.reserve_any(probe, place);
        slot.publish(probe, until_ms);
        slot.commit(false).expect("nobody else is here");
    }

    /// Leaves a slot as a sleeper would who has written the fingerprint and no more.
    pub(crate) fn abandon_reserved(&self, probe: Probe, place: Place) {
        self.reserve_any(probe, place).abandon_unpublished(probe);
    }

    /// Leaves a slot as a sleeper would who has published and not committed.
    pub(crate) fn abandon_published(&self, probe: Probe, place: Place, until_ms: u64) {
        self.raise(until_ms).expect("open");
        let mut slot = self.reserve_any(probe, place);
        slot.publish(probe, until_ms);
        core::mem::forget(slot);
    }

    fn reserve_any(&self, probe: Probe, place: Place) -> Reservation<'_> {
        let bits = self.meta(self.home(probe), place).load(Ordering::Relaxed);
        let target = Found {
            place,
            meta: Meta::from_bits(bits),
        };
        self.reserve(probe, target).expect("nobody else is here")
    }

    /// Slots that somebody has left reserved or undecided.
    pub(crate) fn undecided(&self) -> usize {
        self.words()
            .filter(|meta| !meta.is_takeable_at(u64::MAX))
            .count()
    }

    /// Live entries of an id, marked or not.
    pub(crate) fn copies(&self, probe: Probe, now_ms: u64) -> usize {
        let slots = self
            .buckets()
            .flat_map(|bucket| (0..SLOTS).map(move |slot| (bucket, slot)));
        slots
            .filter(|&(bucket, slot)| {
                let (meta, mine) = read(bucket, slot, probe);
                mine && meta.is_live_at(now_ms)
            })
            .count()
    }

    fn words(&self) -> impl Iterator<Item = Meta> {
        self.buckets().flat_map(|bucket| {
            // AcqRel, a read-modify-write: the newest word, not one that a model may still serve.
            (0..SLOTS)
                .map(move |slot| Meta::from_bits(bucket.meta(slot).fetch_add(0, Ordering::AcqRel)))
        })
    }
}
