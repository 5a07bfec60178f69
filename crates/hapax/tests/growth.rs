//! Does a set grow without forgetting anybody, and give back what it no longer needs?

use hapax::{Claim, DedupSet, ManualClock, Seeds};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const RETENTION: Duration = Duration::from_secs(1);
/// What is said to last for the retention has ended by then.
const ENDED: Duration = Duration::from_millis(1003);
/// And by then the books know.
const SETTLED: Duration = Duration::from_millis(1003 + 1000 / 128 + 1);

const fn scaled(release: u64, debug: u64) -> u64 {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

type Set = DedupSet<Seeds, ManualClock>;

fn default_set() -> (Set, ManualClock) {
    let clock = ManualClock::new();
    (
        DedupSet::builder()
            .retention(RETENTION)
            .clock(clock.clone())
            .build()
            .unwrap(),
        clock,
    )
}

fn one_shard() -> (Set, ManualClock) {
    let clock = ManualClock::new();
    let builder = DedupSet::builder().retention(RETENTION).shards(1);
    (builder.clock(clock.clone()).build().unwrap(), clock)
}

fn takes_all_forgets_none_and_none_late(ids: u64) {
    let (set, clock) = default_set();
    let start = set.stats();
    for id in 0..ids {
        assert!(set.check_and_mark(&id), "{id} of {ids} is new");
    }
    clock.advance(RETENTION);
    for id in 0..ids {
        assert!(
            !set.check_and_mark(&id),
            "{id} of {ids} was forgotten early"
        );
    }
    let full = set.stats();
    assert_eq!((full.live, full.first, full.duplicate), (ids, ids, ids));
    assert_eq!(
        (full.forgotten_early, full.unrecorded, full.refused),
        (0, 0, 0)
    );
    println!(
        "{ids} ids: {} tables, {} bytes per id",
        full.tables,
        full.bytes / ids
    );
    clock.advance(3 * MS);
    for id in 0..ids {
        assert!(!set.contains(&id), "{id} of {ids} is late");
    }
    for id in 0..ids {
        assert!(set.check_and_mark(&id), "{id} of {ids} is late");
    }
    clock.advance(SETTLED);
    set.tick();
    assert_eq!(
        (set.stats().bytes, set.stats().tables),
        (start.bytes, start.tables)
    );
}

#[test]
fn default_set_forgets_none_of_a_million_ids_and_none_is_late() {
    takes_all_forgets_none_and_none_late(scaled(1_000_000, 60_000));
}

/// `cargo test --release -p hapax --test growth -- --ignored --nocapture`
#[test]
#[ignore = "takes a minute and 400 MiB"]
fn default_set_forgets_none_of_ten_million_ids_and_none_is_late() {
    takes_all_forgets_none_and_none_late(10_000_000);
}

#[test]
fn fresh_shard_is_less_than_four_kibibytes_and_its_books() {
    let bytes = |shards| {
        let set = DedupSet::builder().shards(shards).build().unwrap();
        set.stats().bytes
    };
    let books = 3 * 256 * 8;
    let header = 1024;
    assert!(
        bytes(2) - bytes(1) <= 4096 + books + header,
        "{}",
        bytes(2) - bytes(1)
    );
    assert_eq!(bytes(1024) - bytes(512), 512 * (bytes(2) - bytes(1)));
}

#[test]
fn id_is_known_through_every_move_of_the_hint() {
    let (set, clock) = one_shard();
    assert!(set.check_and_mark("early"));
    let mut tables = set.stats().tables;
    let mut id = 0u64;
    while tables < 6 {
        assert!(set.check_and_mark(&id));
        assert!(!set.check_and_mark("early"), "after {id} more");
        id += 1;
        if set.stats().tables != tables {
            tables = set.stats().tables;
            assert!(set.check_and_mark(&("grown", tables)));
        }
        assert!(
            (2..=tables).all(|n| !set.check_and_mark(&("grown", n))),
            "after {id} more"
        );
    }
    // Now the burst ends, new ids go to smaller tables, and the late ones are still in the large.
    clock.advance(RETENTION - 400 * MS);
    (0..50).for_each(|id| assert!(set.check_and_mark(&("late", id))));
    clock.advance(500 * MS);
    for round in 0..30u64 {
        assert!(set.check_and_mark(&("new", round)));
        assert!((0..=round).all(|n| !set.check_and_mark(&("new", n))));
        assert!(
            (0..50).all(|id| !set.check_and_mark(&("late", id))),
            "round {round}"
        );
        clock.advance(10 * MS);
    }
}

#[test]
fn claims_live_through_growth_and_shrinking() {
    let (set, clock) = one_shard();
    let mut held = Vec::new();
    for id in 0..2000u64 {
        let Ok(Claim::First(lease)) = set.claim_for(&id, RETENTION) else {
            panic!("{id}")
        };
        held.push(lease);
        assert!((0..4).all(|n| set.check_and_mark(&(id, n))));
    }
    clock.advance(RETENTION - 100 * MS);
    held.iter_mut()
        .for_each(|lease| assert_eq!(lease.extend(RETENTION), Ok(())));
    clock.advance(300 * MS);
    for n in 0..1000u64 {
        assert!(set.check_and_mark(&("new", n)), "{n}");
        clock.advance(MS / 2);
    }
    assert!((0..2000u64).all(|id| matches!(set.claim(&id), Ok(Claim::InFlight { .. }))));
    assert!(held.into_iter().all(|lease| lease.complete() == Ok(())));
    assert!((0..2000u64).all(|id| !set.check_and_mark(&id)));
}

#[test]
fn ids_after_a_burst_bring_memory_back_by_themselves() {
    let (set, clock) = default_set();
    let start = set.stats();
    (0..scaled(1_000_000, 50_000)).for_each(|id| assert!(set.check_and_mark(&id)));
    let burst = set.stats();
    assert!(
        burst.bytes > 10 * start.bytes || cfg!(debug_assertions),
        "{burst:?}"
    );
    clock.advance(SETTLED);
    // A few calls to each shard: one moves the hint, the others give back a table each.
    let calls = 200 * start.tables;
    (0..calls).for_each(|id| assert!(set.check_and_mark(&("new", id))));
    let after = set.stats();
    assert!(after.bytes < 2 * start.bytes, "{start:?} became {after:?}");
    assert!(
        after.tables <= 2 * start.tables,
        "{start:?} became {after:?}"
    );
}

#[test]
fn trickle_after_a_burst_brings_memory_back() {
    // Grow, drain, fall silent, go on with one id in each tenth of a retention.
    let (set, clock) = one_shard();
    let start = set.stats().bytes;
    (0..20_000).for_each(|id| assert!(set.check_and_mark(&id)));
    clock.advance(100 * RETENTION);
    for id in 0..100 {
        assert!(set.check_and_mark(&("trickle", id)));
        clock.advance(RETENTION / 10);
    }
    assert_eq!((set.stats().bytes, set.stats().tables), (start, 1));
}

#[test]
fn id_marked_again_every_period_does_not_keep_an_old_table() {
    let (set, clock) = one_shard();
    let start = set.stats().bytes;
    (0..20_000).for_each(|id| assert!(set.check_and_mark(&id)));
    for period in 0..100 {
        clock.advance(ENDED);
        assert!(set.check_and_mark("again"), "period {period}");
        assert!(!set.check_and_mark("again"), "period {period}");
        if period > 10 {
            assert_eq!(set.stats().bytes, start, "period {period}");
        }
    }
}

#[test]
fn old_tables_drain_while_a_grown_set_stays_busy() {
    // Grown by a burst to ten times its steady load: memory follows the load within two retentions.
    let (set, clock) = one_shard();
    (0..30_000).for_each(|id| assert!(set.check_and_mark(&("burst", id))));
    let burst = set.stats().bytes;
    for id in 0..9000u64 {
        assert!(set.check_and_mark(&id));
        if id.is_multiple_of(3) {
            clock.advance(MS);
        }
    }
    let steady = set.stats();
    assert!((2990..=3050).contains(&steady.live), "{steady:?}");
    assert!(steady.bytes < burst / 3, "{burst} bytes became {steady:?}");
    assert!(
        (0..9000)
            .rev()
            .take(2900)
            .all(|id| !set.check_and_mark(&id))
    );
}

#[test]
fn steady_load_settles_instead_of_growing_and_shrinking_in_turn() {
    let (set, clock) = one_shard();
    let mut seen = Vec::new();
    for id in 0..20_000u64 {
        assert!(set.check_and_mark(&id));
        if id % 2 == 0 {
            clock.advance(MS);
        }
        if id > 6000 && id % 500 == 0 {
            seen.push(set.stats().bytes);
        }
    }
    seen.sort_unstable();
    assert!(seen[seen.len() - 1] <= 4 * seen[0], "{seen:?}");
    assert!(
        seen[seen.len() - 1] <= 2000 * 76 + 20_000,
        "{seen:?} bytes for 2000 live ids"
    );
}

/// All threads mark the ids `0..ids`, each beginning elsewhere; the number of winners of each.
fn winners(set: &Set, threads: u64, ids: u64, salt: u64) -> Vec<u32> {
    let winners: Vec<_> = (0..ids).map(|_| AtomicU32::new(0)).collect();
    let start = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (winners, start) = (&winners, &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..ids {
                    // Few threads apart, so that they meet on the same ids all the time.
                    let id = (n + thread / 4 * 7) % ids;
                    if set.check_and_mark(&(salt, id)) {
                        winners[id as usize].fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    winners.into_iter().map(AtomicU32::into_inner).collect()
}

#[test]
fn growth_under_sixteen_threads_keeps_one_winner_per_id() {
    for round in 0..scaled(40, 8) {
        let (set, _) = one_shard();
        let ids = 4000;
        assert!(
            winners(&set, 16, ids, round).iter().all(|&n| n == 1),
            "round {round}"
        );
        assert!(set.stats().tables > 4);
        assert_eq!(set.len() as u64, ids);
        assert!((0..ids).all(|id| !set.check_and_mark(&(round, id))));
    }
}

#[test]
fn first_growth_of_many_fresh_sets_keeps_one_winner_per_id() {
    for round in 0..scaled(2000, 200) {
        let (set, _) = one_shard();
        assert!(
            winners(&set, 4, 150, round).iter().all(|&n| n == 1),
            "round {round}"
        );
    }
}

#[test]
fn tables_drained_and_closed_by_many_threads_at_once_leave_a_set_that_works() {
    let (set, clock) = one_shard();
    let start = set.stats().bytes;
    for round in 0..scaled(100, 20) {
        assert!(
            winners(&set, 4, 1500, round).iter().all(|&n| n == 1),
            "round {round}"
        );
        clock.advance(SETTLED);
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (set, barrier) = (&set, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    for n in 0..20 {
                        if thread % 2 == 0 {
                            set.tick();
                        }
                        assert!(set.check_and_mark(&(round, thread, n)));
                    }
                });
            }
        });
        assert_eq!(set.len(), 160, "round {round}");
        clock.advance(SETTLED);
        set.tick();
        assert_eq!(set.stats().bytes, start, "round {round}");
    }
}

#[test]
fn nobody_is_forgotten_while_tables_come_and_go() {
    // Waves of ids while the clock runs: several tables are alive, some are being given back.
    let (set, clock) = one_shard();
    let barrier = Barrier::new(4);
    let ids = scaled(60_000, 8000);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (set, clock, barrier) = (&set, &clock, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for n in 0..ids {
                    let burst = n % 4000 < 3000;
                    let before = hapax::Clock::now(clock);
                    assert!(set.check_and_mark(&(thread, n)));
                    if !burst {
                        clock.advance(MS);
                    }
                    let back = n.saturating_sub(100);
                    let first_again = set.check_and_mark(&(thread, back, "later"));
                    let known = set.contains(&(thread, n));
                    let age = hapax::Clock::now(clock) - before;
                    assert!(
                        known || age >= RETENTION,
                        "{n} of {thread} is gone after {age:?}"
                    );
                    assert!(first_again || back == 0 || n < 100);
                }
            });
        }
    });
    clock.advance(SETTLED);
    set.tick();
    assert_eq!((set.len(), set.stats().tables), (0, 1));
}
