//! A hasher that is the same in every run, and that can make ids meet.
//!
//! A set draws its seeds at random, so the same bytes would put the same ids into
//! other buckets on every run, and a crash could not be replayed. This hasher
//! ignores the prefix that the set feeds it. *Colliding*, it also undoes the
//! set's mixer, so that ids agree in every bit but a few in the middle: they
//! share a shard and a home bucket, some a tag, and fill each other's room.

use std::hash::{BuildHasher, Hasher};

/// Makes [`Fixed`] hashers.
#[derive(Clone, Copy, Debug)]
pub struct Collide {
    /// Whether even ids below 1000 shall meet, and every 16th from there on.
    /// Ids are below 2^32 - 2 then.
    pub colliding: bool,
}

impl BuildHasher for Collide {
    type Hasher = Fixed;

    fn build_hasher(&self) -> Fixed {
        Fixed {
            colliding: self.colliding,
            prefixed: false,
            id: 0,
        }
    }
}

/// Hashes one `u64` id.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    colliding: bool,
    prefixed: bool,
    id: u64,
}

impl Hasher for Fixed {
    fn finish(&self) -> u64 {
        if self.colliding && collides(self.id) {
            undo_mix(meeting_place(self.id))
        } else {
            self.id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635_1f0d_94c3
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.id = self.id << 8 ^ self.id >> 56 ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        if self.prefixed {
            self.id ^= word;
        } else {
            self.prefixed = true;
        }
    }
}

/// A mixed hash whose low half is (nearly) zero for every id. Every third one
/// also agrees with the one before it in the middle bits, the tag.
const fn meeting_place(id: u64) -> u64 {
    if id > 0 && id.is_multiple_of(6) {
        id << 32 | 1
    } else {
        (id + 2) << 32
    }
}

/// Hot ids do; of those that are there to make the set grow only a few, or no
/// table would ever be large enough for them.
const fn collides(id: u64) -> bool {
    id.is_multiple_of(if id < 1_000 { 2 } else { 16 })
}

/// The inverse of the finaliser of MurmurHash3, which the set mixes with.
const fn undo_mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0x9cb4_b2f8_1293_37db);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0x4f74_430c_22a5_4005);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const fn mix(mut hash: u64) -> u64 {
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }

    #[test]
    fn undo_mix_is_the_inverse() {
        for n in [0, 1, 2, 0x1234_5678_9abc_def0, u64::MAX] {
            assert_eq!(mix(undo_mix(n)), n);
        }
    }

    #[test]
    fn ids_stay_apart_and_hot_ones_share_their_low_half() {
        let hash = |id: u64| Collide { colliding: true }.hash_one((0x5eed_u64, id));
        let all: HashSet<_> = (0..10_000).map(hash).collect();
        assert_eq!(all.len(), 10_000);
        assert!((0..500).all(|id| mix(hash(2 * id)) << 32 >> 33 == 0));
        assert!((0..500).all(|id| mix(hash(2 * id + 1)) << 32 != 0));
    }
}
