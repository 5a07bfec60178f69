//! An id becomes two 64-bit hashes, and those become shard, home bucket, tag and fingerprint.
//! Nothing else hashes.
//!
//! ```text
//! a:  63      54 53      45 44        32 31                          0
//!    +----------+----------+------------+----------------------------+
//!    |  shard   |  unused  |    tag     |            home            |
//!    +----------+----------+------------+----------------------------+
//! f: the fingerprint
//! ```
//!
//! The four come from bits that no other uses, so ids that crowd one shard do not crowd a bucket,
//! and ids that share a bucket do not share a tag. An entry is compared by tag and fingerprint, 77
//! bits, and only within its home's run.

use core::hash::{BuildHasher, Hash, Hasher};

use crate::slot::Tag;

/// Most shards a set can have: what the shard bits can name.
pub(crate) const MOST_SHARDS: usize = 1 << SHARD_BITS;

const SHARD_BITS: u32 = 10;
const SHARD_SHIFT: u32 = u64::BITS - SHARD_BITS;
const TAG_SHIFT: u32 = 32;

/// Two independent 64-bit hashes of one id.
///
/// Implemented by [`Seeds`], the default, and by [`Prefixed`], which
/// [`Builder::hasher`](crate::Builder::hasher) makes of any [`BuildHasher`]. Sealed: how an id is
/// spread over a set is the set's own affair.
///
/// # Examples
///
/// ```
/// use hapax::{Clock, DedupSet, HashPair};
///
/// /// A function that takes any set.
/// fn note<S: HashPair, C: Clock>(set: &DedupSet<S, C>, id: &str) -> bool {
///     set.check_and_mark(id)
/// }
/// # let set = DedupSet::new(std::time::Duration::from_secs(1));
/// # assert!(note(&set, "evt_1"));
/// ```
pub trait HashPair: sealed::Sealed + Send + Sync {
    #[doc(hidden)]
    fn pair<Q: Hash + ?Sized>(&self, id: &Q) -> (u64, u64);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Seeds {}
    impl<H> Sealed for super::Prefixed<H> {}
}

/// The default: `ahash` with two random seeds, drawn afresh for every set.
///
/// # Examples
///
/// ```
/// use hapax::{DedupSet, Seeds, SystemClock};
/// use std::time::Duration;
///
/// let set: DedupSet<Seeds, SystemClock> = DedupSet::new(Duration::from_secs(60));
/// assert!(set.check_and_mark("evt_1"));
/// ```
#[derive(Clone, Debug)]
pub struct Seeds {
    place: ahash::RandomState,
    fingerprint: ahash::RandomState,
}

impl Seeds {
    pub(crate) fn random() -> Self {
        Self {
            place: ahash::RandomState::new(),
            fingerprint: ahash::RandomState::new(),
        }
    }
}

impl HashPair for Seeds {
    #[inline]
    fn pair<Q: Hash + ?Sized>(&self, id: &Q) -> (u64, u64) {
        (self.place.hash_one(id), self.fingerprint.hash_one(id))
    }
}

/// A user's hasher, made into two by feeding each hash a random prefix of its own.
///
/// Every result goes through a mixer, so a hasher with poor low or high bits still spreads its
/// ids. What a mixer cannot mend: ids that the hasher itself does not tell apart are one id.
///
/// # Examples
///
/// ```
/// use hapax::{DedupSet, Prefixed, SystemClock};
/// use std::{hash::RandomState, time::Duration};
///
/// let set: DedupSet<Prefixed<RandomState>, SystemClock> = DedupSet::builder()
///     .retention(Duration::from_secs(60))
///     .hasher(RandomState::new())
///     .build()?;
/// assert!(set.check_and_mark("evt_1"));
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prefixed<H> {
    hasher: H,
    place_prefix: u64,
    fingerprint_prefix: u64,
}

impl<H> Prefixed<H> {
    pub(crate) fn random(hasher: H) -> Self {
        let seed = ahash::RandomState::new();
        Self {
            hasher,
            place_prefix: seed.hash_one(0u8),
            fingerprint_prefix: seed.hash_one(1u8),
        }
    }
}

impl<H: BuildHasher> Prefixed<H> {
    fn hash<Q: Hash + ?Sized>(&self, prefix: u64, id: &Q) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(prefix);
        id.hash(&mut hasher);
        mix(hasher.finish())
    }
}

impl<H: BuildHasher + Send + Sync> HashPair for Prefixed<H> {
    fn pair<Q: Hash + ?Sized>(&self, id: &Q) -> (u64, u64) {
        (
            self.hash(self.place_prefix, id),
            self.hash(self.fingerprint_prefix, id),
        )
    }
}

/// Spreads every input bit over the whole word (the finaliser of MurmurHash3).
const fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// Where an id lives and how it is recognised: the two hashes, taken apart where they are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    place: u64,
    fingerprint: u64,
}

impl Probe {
    #[inline]
    pub(crate) const fn of((place, fingerprint): (u64, u64)) -> Self {
        Self { place, fingerprint }
    }

    #[inline]
    pub(crate) const fn tag(self) -> Tag {
        Tag::from_hash(self.place >> TAG_SHIFT)
    }

    #[inline]
    pub(crate) const fn fingerprint(self) -> u64 {
        self.fingerprint
    }

    /// The shard among `shards`, a power of two of at most [`MOST_SHARDS`].
    #[inline]
    pub(crate) const fn shard(self, shards: usize) -> usize {
        (self.place >> SHARD_SHIFT) as usize & (shards - 1)
    }

    /// The home among `buckets`: a multiplication instead of a division, and `buckets` need not be
    /// a power of two.
    #[inline]
    pub(crate) const fn home(self, buckets: usize) -> usize {
        let bits = self.place & (u32::MAX as u64);
        ((bits * buckets as u64) >> u32::BITS) as usize
    }

    /// A seed for pauses; any bits will do.
    pub(crate) const fn seed(self) -> u64 {
        self.fingerprint
    }
}

#[cfg(all(test, not(hapax_loom)))]
mod tests {
    use super::*;
    use core::hash::BuildHasherDefault;
    use std::collections::HashSet;

    /// The worst hasher in use: integers are their own hash.
    #[derive(Default)]
    struct Identity(u64);
    impl Hasher for Identity {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 << 8) | u64::from(*byte);
            }
        }
        fn write_u64(&mut self, id: u64) {
            self.0 = self.0.wrapping_mul(31).wrapping_add(id);
        }
    }

    #[test]
    fn owned_and_borrowed_strings_are_one_id() {
        let seeds = Seeds::random();
        let owned = String::from("evt_1");
        assert_eq!(seeds.pair("evt_1"), seeds.pair(&owned));
        assert_eq!(seeds.pair(&"evt_1"), seeds.pair(&&owned));
    }

    #[test]
    fn two_sets_hash_differently() {
        assert_ne!(Seeds::random().pair("evt_1"), Seeds::random().pair("evt_1"));
        let (one, two) = (
            Seeds::random().pair("evt_1"),
            Prefixed::random(ahash::RandomState::new()),
        );
        assert_ne!(one.0, one.1);
        assert_ne!(two.pair("evt_1").0, two.pair("evt_1").1);
    }

    #[test]
    fn identity_hasher_still_spreads_snowflakes() {
        let hash = Prefixed::random(BuildHasherDefault::<Identity>::default());
        for shift in [0, 22, 40] {
            let homes: HashSet<_> = (0..4096u64)
                .map(|n| Probe::of(hash.pair(&(n << shift))).home(1 << 20))
                .collect();
            assert!(
                homes.len() > 4000,
                "{} homes for 4096 ids << {shift}",
                homes.len()
            );
        }
    }

    #[test]
    fn homes_cover_every_bucket_evenly() {
        let seeds = Seeds::random();
        let mut counts = [0u32; 48];
        for id in 0..48_000u32 {
            counts[Probe::of(seeds.pair(&id)).home(48)] += 1;
        }
        assert!(
            counts.iter().all(|&n| (800..1200).contains(&n)),
            "{counts:?}"
        );
    }

    #[test]
    fn shard_home_and_tag_share_no_bits() {
        let base = Probe::of((0, 0));
        let shard = Probe::of((0x3ff << SHARD_SHIFT, 0));
        let tag = Probe::of((0x1fff << TAG_SHIFT, 0));
        let home = Probe::of((u64::from(u32::MAX), 0));
        assert_eq!(
            (shard.shard(1024), shard.home(1 << 16), shard.tag()),
            (1023, 0, base.tag())
        );
        assert_eq!((tag.shard(1024), tag.home(1 << 16)), (0, 0));
        assert_ne!(tag.tag(), base.tag());
        assert_eq!(
            (home.shard(1024), home.home(1 << 16), home.tag()),
            (0, 65_535, base.tag())
        );
    }
}
