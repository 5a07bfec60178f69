//! The memory of a table: cache lines of eight words, zeroed by the system, aligned without
//! `unsafe`.
//!
//! ```text
//!            word 0        1      2      3      4      5      6       7
//!          +---------+------+------+------+------+------+------+---------+
//! a bucket |  spill  | meta |  fp  | meta |  fp  | meta |  fp  |  spare  |  64 bytes, one line
//!          |  mark   |   slot 0    |   slot 1    |   slot 2    |         |
//!          +---------+------+------+------+------+------+------+---------+
//! ```
//!
//! Zeroed words are what an allocator can hand out untouched: a large table costs no time and no
//! resident memory until it is used. A type of 64-byte alignment would be cleared by hand instead,
//! so the lines are cut from plain words, from the first multiple of 64 bytes on.

use crate::sync::AtomicU64;

/// Slots in a bucket.
pub(crate) const SLOTS: usize = 3;

const WORDS: usize = 8;
const LINE_BYTES: usize = WORDS * size_of::<u64>();

const _: () = assert!(LINE_BYTES == 64 && 2 * SLOTS + 2 == WORDS);

/// Most buckets a table can have: bounded by the 32 bits that choose a home, and by what one
/// allocation may hold on a 32-bit target.
pub(crate) const MOST_BUCKETS: usize = if usize::BITS > 32 {
    1 << 28
} else {
    isize::MAX as usize / LINE_BYTES / 2
};

/// The buckets of one table.
#[derive(Debug)]
pub(crate) struct Buckets {
    words: Box<[AtomicU64]>,
    /// Words before the first line.
    skip: usize,
    len: usize,
}

impl Buckets {
    /// Allocates `len` empty buckets; `None` where the system has no memory for them.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        let words = zeroed_words(len.checked_mul(WORDS)?.checked_add(WORDS - 1)?)?;
        let skip = words.as_ptr().align_offset(LINE_BYTES).min(WORDS - 1);
        Some(Self { words, skip, len })
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[AtomicU64]>(&self.words)
    }

    /// What `len` buckets take on the heap.
    pub(crate) const fn bytes_of(len: usize) -> usize {
        len.saturating_mul(LINE_BYTES)
            .saturating_add(LINE_BYTES - size_of::<u64>())
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Bucket<'_> {
        let start = self.skip + index * WORDS;
        let line = self.words[start..start + WORDS].first_chunk();
        Bucket(line.expect("a slice of as many words"))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Bucket<'_>> {
        (0..self.len).map(|index| self.get(index))
    }
}

#[cfg(not(any(hapax_loom, hapax_shuttle)))]
fn zeroed_words(len: usize) -> Option<Box<[AtomicU64]>> {
    bytemuck::try_zeroed_slice_box(len).ok()
}

/// A checker's atomics are not plain words, so its tables are built one by one.
#[cfg(any(hapax_loom, hapax_shuttle))]
#[allow(clippy::unnecessary_wraps)]
fn zeroed_words(len: usize) -> Option<Box<[AtomicU64]>> {
    Some((0..len).map(|_| AtomicU64::new(0)).collect())
}

/// One line of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket<'t>(&'t [AtomicU64; WORDS]);

impl<'t> Bucket<'t> {
    /// The spill mark of the ids whose home this is.
    #[inline]
    pub(crate) const fn spill_mark(self) -> &'t AtomicU64 {
        &self.0[0]
    }

    #[inline]
    pub(crate) const fn meta(self, slot: usize) -> &'t AtomicU64 {
        &self.0[1 + 2 * slot]
    }

    #[inline]
    pub(crate) const fn fingerprint(self, slot: usize) -> &'t AtomicU64 {
        &self.0[2 + 2 * slot]
    }
}

#[cfg(all(test, not(any(hapax_loom, hapax_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_is_one_cache_line() {
        for len in [1, 2, 48, 1000] {
            let buckets = Buckets::zeroed(len).unwrap();
            for (index, bucket) in buckets.iter().enumerate() {
                let address = core::ptr::from_ref(bucket.spill_mark()).addr();
                assert_eq!(address % LINE_BYTES, 0, "bucket {index} of {len}");
            }
            assert_eq!(buckets.iter().count(), len);
            assert_eq!(buckets.bytes(), Buckets::bytes_of(len));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Buckets::zeroed(usize::MAX).is_none());
        assert!(Buckets::zeroed(usize::MAX / WORDS).is_none());
        assert!(Buckets::zeroed(isize::MAX as usize / LINE_BYTES).is_none());
    }
}
