//! How many bytes an id costs, what is left of them after a burst, and how often a call allocates.
//!
//! The numbers come from a [`Meter`], which only a program with a counting allocator can fill in;
//! the suites that measure time run on the plain allocator. Bytes are what was asked of the
//! allocator; what the process really holds is read from the system beside it.

use crate::{
    contender::{Contender, Row, Setup},
    ids::{self, Id},
    script::LONG,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// What a counting allocator has seen up to now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Bytes that are allocated and not yet freed.
    pub live_bytes: usize,
    /// Calls that gave out memory, new or enlarged.
    pub allocations: usize,
}

impl From<stats_alloc::Stats> for Reading {
    fn from(stats: stats_alloc::Stats) -> Self {
        Self {
            // What was enlarged in place counts as allocated, what was shrunk as freed.
            live_bytes: stats.bytes_allocated - stats.bytes_deallocated,
            allocations: stats.allocations + stats.reallocations,
        }
    }
}

/// Reads the counting allocator of the running program.
pub type Meter<'a> = &'a dyn Fn() -> Reading;

/// Memory of a filled set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Bytes asked of the allocator, for each live id.
    pub bytes_per_id: f64,
    /// Bytes by which the process grew, for each live id. Of use only in a fresh process.
    pub resident_per_id: f64,
}

/// Allocations that one call makes on average, on a set with room.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Allocations {
    /// By a call that brings a new id.
    pub per_new: f64,
    /// By a call that brings a live id.
    pub per_duplicate: f64,
}

/// What is left of a burst when all of its ids have expired.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Leftover {
    /// Bytes of the set when the burst was in.
    pub full_bytes: usize,
    /// Bytes of the set after the ids expired and [`IDS_AFTER`] new ones came
    /// [`CALLS_PER_ID_AFTER`] times each.
    pub bytes_after_calls: usize,
    /// Bytes of the set after the contender's own maintenance was run by hand too.
    pub bytes_after_maintenance: usize,
    /// How long the first call after the silence took.
    pub first_call: Duration,
    /// Independent parts of the set, where it says.
    pub shards: Option<usize>,
}

/// New ids that arrive after a burst has expired, before memory is read again.
pub const IDS_AFTER: usize = 2_048;

/// Calls with each of them: a contender that clears a little on every call gets its chance.
pub const CALLS_PER_ID_AFTER: usize = 32;

/// Fills a set with `live` ids, with room for `capacity` at the start, and weighs it.
pub fn filled(row: &Row, live: usize, capacity: usize, meter: Meter<'_>) -> Filled {
    let ids = ids::range(0, live as u64);
    let (before, resident_before) = (meter(), resident_bytes());
    let set = build(row, LONG, capacity);
    set.prefill(&ids);
    let (after, resident_after) = (meter(), resident_bytes());
    assert_eq!(set.mark_all(&ids[..live.min(100)]), 0, "{}", row.name);
    let per_id = |bytes: usize| bytes as f64 / live as f64;
    Filled {
        bytes_per_id: per_id(after.live_bytes.saturating_sub(before.live_bytes)),
        resident_per_id: per_id(resident_after.saturating_sub(resident_before)),
    }
}

/// Counts the allocations of calls on a half-full set that has room for `capacity` ids.
pub fn allocations(row: &Row, capacity: usize, meter: Meter<'_>) -> Allocations {
    let half = capacity / 2;
    let ids = ids::range(0, (half + capacity / 4) as u64);
    let (live, new) = ids.split_at(half);
    // A contender that looks at every entry on every call is asked less often.
    let calls = if row.facts.scans { 100 } else { new.len() };
    let set = build(row, LONG, capacity);
    set.prefill(live);
    let count = |ids: &[Id], firsts: usize| {
        let before = meter().allocations;
        assert_eq!(set.mark_all(ids), firsts, "{}", row.name);
        (meter().allocations - before) as f64 / ids.len() as f64
    };
    Allocations {
        per_new: count(&new[..calls], calls),
        per_duplicate: count(&live[..calls], 0),
    }
}

/// Puts `burst` ids into an unsized set, lets them all expire in silence, and looks what is left.
///
/// This takes one `retention` of real time, because each contender has its own clock.
pub fn leftover(row: &Row, burst: usize, retention: Duration, meter: Meter<'_>) -> Leftover {
    let ids = ids::range(0, (burst + IDS_AFTER) as u64);
    let (old, new) = ids.split_at(burst);
    let before = meter().live_bytes;
    let weigh = || meter().live_bytes.saturating_sub(before);
    let set = build(row, retention, 0);
    let shards = set.shards();
    set.prefill(old);
    let full_bytes = weigh();
    thread::sleep(retention + Duration::from_millis(50));
    let start = Instant::now();
    assert!(set.check_and_mark(&new[0]), "{}", row.name);
    let first_call = start.elapsed();
    assert_eq!(set.mark_all(&new[1..]), IDS_AFTER - 1, "{}", row.name);
    // A contender that looks at every entry has cleared them all. These answers are not checked: on
    // a slow day the retention may be over before the calls are.
    let passes = if row.facts.scans {
        1
    } else {
        CALLS_PER_ID_AFTER
    };
    for _ in 1..passes {
        set.mark_all(new);
    }
    let bytes_after_calls = weigh();
    set.maintain();
    Leftover {
        full_bytes,
        bytes_after_calls,
        bytes_after_maintenance: weigh(),
        first_call,
        shards,
    }
}

/// Bytes of this process that are in memory; zero where the system does not tell.
pub fn resident_bytes() -> usize {
    const PAGE_BYTES: usize = 4_096;
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

fn build(row: &Row, retention: Duration, capacity: usize) -> Box<dyn Contender> {
    (row.build)(&Setup {
        retention,
        capacity,
    })
}
