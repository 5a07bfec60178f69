//! Do the counters add up, whatever has happened?

use hapax::{Claim, DedupSet, Full, LeaseLost, ManualClock, Seeds, Stats, WhenFull};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

mod random;
use random::Random;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const fn scaled(release: u64, debug: u64) -> u64 {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

type Set = DedupSet<Seeds, ManualClock>;

fn set_for(retention: Duration) -> (Set, ManualClock) {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(retention)
        .clock(clock.clone());
    (builder.build().unwrap(), clock)
}

/// Every id that was ever first went one of these ways.
#[track_caller]
fn assert_balanced(stats: &Stats) {
    let gone = stats.expired + stats.lost_leases + stats.released;
    let gone = gone + stats.forgotten + stats.cleared + stats.forgotten_early;
    assert_eq!(stats.first, stats.live + gone, "{stats:?}");
}

#[test]
fn each_counter_counts_its_own_event() {
    let (set, clock) = set_for(SECOND);
    let first = |id: &str, lease| match set.claim_for(id, lease) {
        Ok(Claim::First(lease)) => lease,
        _ => panic!("{id} is new"),
    };
    set.check_and_mark("marked");
    set.check_and_mark("marked");
    let _ = set.try_check_and_mark("marked");
    assert!(matches!(set.claim("marked"), Ok(Claim::Duplicate)));
    assert_eq!((set.stats().first, set.stats().duplicate), (1, 3));

    let lease = first("claimed", SECOND);
    assert!(matches!(set.claim("claimed"), Ok(Claim::InFlight { .. })));
    assert!(!set.check_and_mark("claimed"));
    let stats = set.stats();
    assert_eq!((stats.first, stats.live, stats.in_flight), (2, 2, 1));
    assert_eq!((stats.busy, stats.duplicate), (1, 4));
    lease.complete().unwrap();
    assert_eq!(
        (
            set.stats().live,
            set.stats().in_flight,
            set.stats().released
        ),
        (2, 0, 0)
    );

    drop(first("released", SECOND));
    first("released", SECOND).release();
    assert_eq!(
        (set.stats().released, set.stats().live, set.stats().first),
        (2, 2, 4)
    );

    assert!(set.forget("marked") && !set.forget("nobody"));
    assert_eq!((set.stats().forgotten, set.stats().live), (1, 1));
    set.clear();
    assert_eq!((set.stats().cleared, set.stats().live), (1, 0));

    let slow = first("slow", 10 * MS);
    clock.advance(13 * MS);
    let fast = first("slow", 10 * MS);
    assert_eq!(slow.complete(), Err(LeaseLost));
    assert_eq!(set.stats().lost_leases, 1);
    drop(fast);
    assert_eq!(set.stats().released, 3);

    std::mem::forget(first("abandoned", SECOND));
    set.check_and_mark("old");
    clock.advance(2 * SECOND);
    let stats = set.stats();
    assert_eq!(
        (stats.first, stats.live, stats.in_flight, stats.expired),
        (8, 0, 0, 2)
    );
    assert_balanced(&stats);
}

/// The ring for long leases has ticks of 37 hours here: only long ones may be booked there.
#[test]
fn lapsed_default_lease_counts_a_sixtieth_longer_at_most_whatever_the_retention() {
    let (set, clock) = set_for(365 * DAY);
    let lease = set.default_lease();
    for (id, length) in [("short", lease), ("twice", 2 * lease), ("long", 3 * lease)] {
        let Ok(Claim::First(claimed)) = set.claim_for(id, length) else {
            panic!("{id} is new");
        };
        std::mem::forget(claimed);
    }
    assert_eq!(set.stats().in_flight, 3);
    clock.advance(lease + lease / 60 + 2 * MS);
    assert_eq!(set.stats().in_flight, 2);
    clock.advance(lease);
    assert_eq!(set.stats().in_flight, 1);
}

#[test]
fn lost_lease_is_counted_once_before_and_after_its_tick_has_passed() {
    // It used to count as live and as lost until its tick had passed.
    for (retention, lease) in [
        (60 * SECOND, 10 * MS),
        (365 * DAY, SECOND),
        (SECOND, 5 * MS),
    ] {
        let (set, clock) = set_for(retention);
        let Ok(Claim::First(mut slow)) = set.claim_for("a", lease) else {
            panic!("is new")
        };
        clock.advance(lease + 3 * MS);
        assert!(set.check_and_mark("a"));
        assert_balanced(&set.stats());
        assert_eq!(slow.extend(lease), Err(LeaseLost));
        let stats = set.stats();
        assert_balanced(&stats);
        assert_eq!(
            (stats.first, stats.lost_leases, stats.expired),
            (2, 1, 0),
            "{stats:?}"
        );
        assert_eq!(slow.complete(), Err(LeaseLost));
        clock.advance(2 * retention);
        let stats = set.stats();
        assert_balanced(&stats);
        assert_eq!(
            (stats.first, stats.lost_leases, stats.expired),
            (2, 1, 1),
            "{stats:?}"
        );
    }
}

#[test]
fn len_is_exact_within_one_tick() {
    for (retention, step) in [(SECOND, MS), (10 * MS, MS), (DAY, SECOND * 60)] {
        let (set, clock) = set_for(retention);
        let tick = (retention / 128).max(MS);
        let slack = tick.div_duration_f64(step).ceil() as usize + 2;
        for n in 0..3 * retention.div_duration_f64(step) as usize {
            assert!(set.check_and_mark(&n));
            if n % 32 == 0 {
                // By hand, from the youngest to the first that has ended.
                let alive = (0..=n).rev().take_while(|id| set.contains(id)).count();
                let len = set.len();
                assert!(
                    (alive..=alive + slack).contains(&len),
                    "{len} of {alive}, {retention:?}"
                );
            }
            clock.advance(step);
        }
        clock.advance(retention + tick + 3 * MS);
        assert_eq!(set.len(), 0);
    }
}

#[test]
fn long_lease_that_was_extended_by_little_does_not_hide_short_ones() {
    // Its end, which stays where it is, was booked among the short leases, whose ring it outruns.
    // Claims of the same place in a later turn were then taken for ended.
    let (set, clock) = set_for(DAY);
    let Ok(Claim::First(mut long)) = set.claim_for("long", 3600 * SECOND) else {
        panic!("is new")
    };
    assert_eq!(long.extend(SECOND), Ok(()));
    for step in 0..600 {
        let id = ("short", step);
        let Ok(Claim::First(short)) = set.claim_for(&id, 30 * SECOND) else {
            panic!("is new")
        };
        assert_eq!(
            (set.stats().in_flight, set.stats().expired),
            (2, 0),
            "step {step}"
        );
        drop(short);
        clock.advance(SECOND / 4);
    }
    assert_eq!(long.complete(), Ok(()));
    assert_balanced(&set.stats());
}

#[test]
fn jump_over_many_turns_of_the_books_loses_nothing() {
    let (set, clock) = set_for(SECOND);
    let mut first = 0;
    for jump in [0, 1, 2, 3, 7, 255, 256, 257, 1000, 4096, 1_000_000] {
        for id in 0..500 {
            first += u64::from(set.check_and_mark(&id));
        }
        assert!(set.forget(&0));
        drop(set.claim("released"));
        first += 1;
        assert_balanced(&set.stats());
        clock.advance(jump * SECOND + 4 * MS);
        assert_balanced(&set.stats());
        assert_eq!(set.stats().first, first);
    }
}

/// What the threads were told.
#[derive(Debug, Default)]
struct Told {
    first: u64,
    duplicate: u64,
    busy: u64,
    lost: u64,
    forgotten: u64,
    refused: u64,
}

/// Everything that can be done to a set, at random, for `steps` steps.
fn stir(set: &Set, clock: &ManualClock, seed: u64, steps: u64, ids: u64, told: &mut Told) {
    let mut random = Random(seed);
    let retentions = [1, 20, 100].map(|ms| set.retention(Duration::from_millis(ms)).unwrap());
    let mut held = Vec::new();
    for _ in 0..steps {
        let id = random.below(ids);
        let some = retentions[random.below(3) as usize];
        match random.below(100) {
            0..35 => match set.try_check_and_mark(&id) {
                Ok(true) => told.first += 1,
                Ok(false) => told.duplicate += 1,
                Err(Full) => told.refused += 1,
            },
            35..50 => {
                // `first` and `unrecorded` are told apart by the counter alone.
                if set.check_and_mark_for(&id, some) {
                    told.first += 1;
                } else {
                    told.duplicate += 1;
                }
            }
            50..75 => match set.claim_for(&id, Duration::from_millis(random.below(60))) {
                Ok(Claim::First(lease)) => {
                    told.first += 1;
                    held.push(lease);
                }
                Ok(Claim::InFlight { .. }) => told.busy += 1,
                Ok(Claim::Duplicate) => told.duplicate += 1,
                Err(Full) => told.refused += 1,
            },
            75..85 if !held.is_empty() => {
                let lease = held.swap_remove(random.below(held.len() as u64) as usize);
                let completed = match random.below(2) {
                    0 => lease.complete(),
                    _ => lease.complete_for(some),
                };
                told.lost += u64::from(completed.is_err());
            }
            85..88 if !held.is_empty() => {
                let n = random.below(held.len() as u64) as usize;
                if held[n]
                    .extend(Duration::from_millis(random.below(60)))
                    .is_err()
                {
                    told.lost += 1;
                    drop(held.swap_remove(n));
                }
            }
            88..90 if !held.is_empty() => drop(held.swap_remove(0)),
            90..92 if !held.is_empty() => std::mem::forget(held.swap_remove(0)),
            92..97 => told.forgotten += u64::from(set.forget(&id)),
            97 => set.tick(),
            98 if random.below(100) == 0 => set.clear(),
            // Now and then over several turns of the books.
            _ if random.below(500) == 0 => clock.advance(Duration::from_millis(random.below(1000))),
            _ => clock.advance(Duration::from_millis(random.below(3))),
        }
    }
}

fn stir_from_many_threads(set: &Set, clock: &ManualClock, ids: u64) {
    let (threads, steps) = (4, scaled(400_000, 12_000));
    let (start, done) = (Barrier::new(threads as usize + 1), AtomicBool::new(false));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let stirrers: Vec<_> = (0..threads)
            .map(|thread| {
                let start = &start;
                scope.spawn(move || {
                    let mut told = Told::default();
                    start.wait();
                    stir(set, clock, thread, steps, ids, &mut told);
                    told
                })
            })
            .collect();
        let (start, done) = (&start, &done);
        scope.spawn(move || {
            start.wait();
            while !done.load(Relaxed) {
                let stats = set.stats();
                assert!(stats.live <= threads * steps, "{stats:?}");
                assert!(stats.expired <= threads * steps, "{stats:?}");
                assert!(stats.in_flight <= stats.live, "{stats:?}");
                (0..100).for_each(|_| std::thread::yield_now());
            }
        });
        let told = stirrers
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        done.store(true, Relaxed);
        told
    });
    let sum = |of: fn(&Told) -> u64| told.iter().map(of).sum::<u64>();

    let stats = set.stats();
    assert_balanced(&stats);
    assert_eq!(
        stats.first + stats.unrecorded,
        sum(|told| told.first),
        "{stats:?}"
    );
    assert_eq!(stats.duplicate, sum(|told| told.duplicate), "{stats:?}");
    assert_eq!(stats.busy, sum(|told| told.busy), "{stats:?}");
    assert_eq!(stats.lost_leases, sum(|told| told.lost), "{stats:?}");
    assert_eq!(stats.forgotten, sum(|told| told.forgotten), "{stats:?}");
    assert_eq!(stats.refused, sum(|told| told.refused), "{stats:?}");

    // Every id that is there is counted, and hardly any that is not.
    let there = (0..ids).filter(|id| set.contains(id)).count() as u64;
    assert!(stats.live >= there, "{there} are there: {stats:?}");
    clock.advance(SECOND);
    let stats = set.stats();
    assert_balanced(&stats);
    assert_eq!((stats.live, stats.in_flight), (0, 0));
    assert_eq!(
        stats.first + stats.unrecorded,
        sum(|told| told.first),
        "{stats:?}"
    );
}

#[test]
fn millions_of_mixed_operations_leave_the_books_exact() {
    let (set, clock) = set_for(100 * MS);
    stir_from_many_threads(&set, &clock, 5000);
    assert_eq!((set.stats().forgotten_early, set.stats().refused), (0, 0));
}

#[test]
fn hot_ids_leave_the_books_exact() {
    let (set, clock) = set_for(100 * MS);
    stir_from_many_threads(&set, &clock, 7);
}

#[test]
fn books_are_exact_at_the_limit_in_either_mode() {
    for mode in [WhenFull::ForgetOldest, WhenFull::Refuse] {
        let clock = ManualClock::new();
        let builder = DedupSet::builder()
            .retention(100 * MS)
            .max_entries(50)
            .shards(1);
        let set = builder
            .when_full(mode)
            .clock(clock.clone())
            .build()
            .unwrap();
        // Only the others see this clock move, so the set fills up.
        let others = ManualClock::new();
        let steps = scaled(200_000, 8000);
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (set, others) = (&set, &others);
                scope.spawn(move || stir(set, others, seed, steps, 3000, &mut Told::default()));
            }
        });
        let stats = set.stats();
        assert_balanced(&stats);
        match mode {
            WhenFull::Refuse => assert!(stats.refused > 0 && stats.forgotten_early == 0),
            _ => assert!(stats.forgotten_early > 0),
        }
        clock.advance(SECOND);
        let stats = set.stats();
        assert_balanced(&stats);
        assert_eq!((stats.live, stats.in_flight), (0, 0));
    }
}
