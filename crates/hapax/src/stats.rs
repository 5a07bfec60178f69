//! What can be counted without visiting an entry.

use crate::{counters::Event, engine::Engine, wheel::Books};

/// Counters of a set since it was made, and what it holds now.
///
/// Read with [`DedupSet::stats`](crate::DedupSet::stats). Every id that was ever *first* is
/// accounted for; when nothing runs, this holds exactly:
///
/// ```text
/// first = live + expired + lost_leases + released + forgotten + cleared + forgotten_early
/// ```
///
/// # Examples
///
/// ```
/// use hapax::{Claim, DedupSet};
/// use std::time::Duration;
///
/// let seen = DedupSet::new(Duration::from_secs(60));
/// seen.check_and_mark("evt_1");
/// seen.check_and_mark("evt_1");
/// drop(seen.claim("evt_2")?);
/// let stats = seen.stats();
/// assert_eq!((stats.first, stats.live, stats.duplicate, stats.released), (2, 1, 1, 1));
/// # Ok::<(), hapax::Full>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stats {
    /// Ids remembered now, those in flight among them.
    pub live: u64,
    /// Of these, claimed and not settled. A lease that ran out unsettled counts for up to 1/60 of
    /// the default lease longer; if it was longer than twice that, of the retention.
    pub in_flight: u64,
    /// Calls that were first: marked or claimed.
    pub first: u64,
    /// Calls told *duplicate*, and marks of an id in flight.
    pub duplicate: u64,
    /// Claims told *in flight*.
    pub busy: u64,
    /// Ids whose retention, or whose lease, has run out. A lease whose holder was told that it is
    /// lost counts there instead.
    pub expired: u64,
    /// Leases given up.
    pub released: u64,
    /// Leases whose holder was told that they are lost.
    pub lost_leases: u64,
    /// Ids forgotten by [`forget`](crate::DedupSet::forget).
    pub forgotten: u64,
    /// Ids forgotten by [`clear`](crate::DedupSet::clear).
    pub cleared: u64,
    /// Ids that had to make room before their time, because the set was at its limit.
    pub forgotten_early: u64,
    /// Calls told [`Full`](crate::Full).
    pub refused: u64,
    /// Marks told *first* although there was no room to remember them.
    pub unrecorded: u64,
    /// Tables in use, over all shards.
    pub tables: u64,
    /// Bytes in use: tables, books and counters.
    pub bytes: u64,
}

impl Stats {
    pub(crate) fn of<C>(engine: &Engine<C>, books: Books) -> Self {
        let count = |event| engine.counters.sum(event);
        let (released, lost_leases) = (count(Event::Released), count(Event::LostLease));
        let (forgotten, cleared) = (count(Event::Forgotten), count(Event::Cleared));
        let forgotten_early = count(Event::ForgottenEarly);
        let live = books.done + books.in_flight;
        // What moves between two reads can make a difference negative for a moment: show zero.
        let ended = if books.ended > u64::MAX / 2 {
            0
        } else {
            books.ended
        };
        let (tables, bytes) = engine.size();
        Self {
            live,
            in_flight: books.in_flight,
            first: live + ended + lost_leases + released + forgotten + cleared + forgotten_early,
            duplicate: count(Event::Duplicate),
            busy: count(Event::Busy),
            expired: ended,
            released,
            lost_leases,
            forgotten,
            cleared,
            forgotten_early,
            refused: count(Event::Refused),
            unrecorded: count(Event::Unrecorded),
            tables: tables as u64,
            bytes: bytes as u64,
        }
    }
}

impl<C> Engine<C> {
    fn size(&self) -> (usize, usize) {
        let fixed = size_of_val::<[_]>(&self.shards) + self.counters.bytes();
        self.shards
            .iter()
            .map(|shard| shard.size())
            .fold((0, fixed), |sum, shard| (sum.0 + shard.0, sum.1 + shard.1))
    }
}
