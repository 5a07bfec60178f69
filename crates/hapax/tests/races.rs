//! What do real threads see that do the same thing at the same time?

use hapax::{Claim, Clock, DedupSet, ManualClock, Seeds};
use std::{
    cell::Cell,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

mod random;
use random::Random;

const MS: Duration = Duration::from_millis(1);
const RETENTION: Duration = Duration::from_millis(20);

const fn scaled(release: u64, debug: u64) -> u64 {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

type Set = DedupSet<Seeds, ManualClock>;

fn set() -> (Set, ManualClock) {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(RETENTION)
        .shards(1)
        .clock(clock.clone());
    (builder.build().unwrap(), clock)
}

/// Runs `work` in as many threads, all at once; it is given the thread's number.
fn race<R: Send>(threads: u64, work: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        let (start, work) = (&start, &work);
        let threads = (0..threads).map(|thread| {
            scope.spawn(move || {
                start.wait();
                work(thread)
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn counters(ids: u64) -> Vec<AtomicU32> {
    (0..ids).map(|_| AtomicU32::new(0)).collect()
}

#[test]
fn marks_of_one_id_have_exactly_one_winner() {
    let ids = scaled(400_000, 20_000);
    for threads in [2, 4, 16] {
        let (set, _) = set();
        let winners = counters(ids);
        race(threads, |_| {
            for (id, winners) in winners.iter().enumerate() {
                if set.check_and_mark(&id) {
                    winners.fetch_add(1, Relaxed);
                }
            }
        });
        assert!(
            winners.iter().all(|winners| winners.load(Relaxed) == 1),
            "{threads} threads"
        );
        assert_eq!(set.stats().duplicate, (threads - 1) * ids);
    }
}

#[test]
fn marks_in_lockstep_have_exactly_one_winner_in_every_period() {
    // One barrier a round, and the clock moves on in between, so that slots change hands.
    let rounds = scaled(30_000, 3000);
    let (set, clock) = set();
    let winners = counters(rounds);
    let step = Barrier::new(4);
    race(4, |_| {
        for (round, winners) in (0..).zip(&winners) {
            if step.wait().is_leader() {
                clock.advance(if round % 7 == 0 { 23 * MS } else { MS });
            }
            step.wait();
            // One of the ids comes again after it has ended.
            let id = if round % 7 == 0 { 0 } else { round };
            if set.check_and_mark(&id) {
                winners.fetch_add(1, Relaxed);
            }
        }
    });
    let wrong = winners
        .iter()
        .filter(|winners| winners.load(Relaxed) != 1)
        .count();
    assert_eq!(wrong, 0, "of {rounds} rounds");
}

#[test]
fn claims_and_marks_of_one_id_have_exactly_one_winner() {
    let ids = scaled(200_000, 10_000);
    let (set, _) = set();
    let winners = counters(ids);
    race(4, |thread| {
        for (id, winners) in winners.iter().enumerate() {
            let won = if thread % 2 == 0 {
                match set.claim_for(&id, RETENTION) {
                    Ok(Claim::First(lease)) => {
                        assert_eq!(lease.complete(), Ok(()));
                        true
                    }
                    Ok(Claim::InFlight { remaining }) => {
                        assert!(remaining >= RETENTION);
                        false
                    }
                    Ok(Claim::Duplicate) => false,
                    Err(full) => panic!("{full}"),
                }
            } else {
                set.check_and_mark(&id)
            };
            winners.fetch_add(u32::from(won), Relaxed);
        }
    });
    assert!(winners.iter().all(|winners| winners.load(Relaxed) == 1));
}

#[test]
fn id_that_is_released_over_and_over_has_one_holder_at_a_time() {
    let (set, _) = set();
    let ids = 5;
    let busy: Vec<_> = (0..ids).map(|_| AtomicBool::new(false)).collect();
    let held: u64 = race(8, |thread| {
        let mut random = Random(thread);
        let mut held = 0;
        for _ in 0..scaled(200_000, 10_000) {
            let id = random.below(ids);
            let Ok(Claim::First(lease)) = set.claim(&id) else {
                continue;
            };
            let busy = &busy[id as usize];
            assert!(!busy.swap(true, Relaxed), "{id} has two holders");
            held += 1;
            busy.store(false, Relaxed);
            drop(lease);
        }
        held
    })
    .into_iter()
    .sum();
    assert_eq!((set.stats().released, set.len()), (held, 0));
}

#[test]
fn holder_that_comes_late_and_its_rivals_have_one_winner() {
    // The leases have ended. Everybody who comes now races with the holders that complete.
    for (round, late) in (0..scaled(300, 40)).zip([6, 8, 24, 25, 26, 27, 28, 29, 60].iter().cycle())
    {
        let clock = ManualClock::new();
        let builder = DedupSet::builder()
            .retention(RETENTION)
            .shards(1)
            .capacity(2000);
        let set = builder.clock(clock.clone()).build().unwrap();
        let ids = 2000u64;
        let slow = (0..ids).map(|id| match set.claim_for(&id, 5 * MS) {
            Ok(Claim::First(lease)) => Cell::new(Some(lease)),
            _ => panic!("{id} is new"),
        });
        let slow = std::sync::Mutex::new(slow.collect::<Vec<_>>());
        clock.advance(*late * MS);
        let winners = counters(ids);
        race(3, |thread| {
            if thread == 0 {
                for (id, lease) in slow.lock().unwrap().iter().enumerate() {
                    // The clock goes on while they race.
                    if id % 256 == 0 {
                        clock.advance(MS);
                    }
                    let completed = lease.take().unwrap().complete().is_ok();
                    winners[id].fetch_add(u32::from(completed), Relaxed);
                }
                return;
            }
            // In the opposite order, or each would take the very slot of the claim it overtakes.
            for id in (0..ids).rev() {
                let won = if thread == 1 {
                    set.check_and_mark(&id)
                } else {
                    match set.claim(&id) {
                        Ok(Claim::First(lease)) => lease.complete() == Ok(()),
                        _ => false,
                    }
                };
                winners[id as usize].fetch_add(u32::from(won), Relaxed);
            }
        });
        // While the lease still runs, the rivals are told so, and nobody but the holder may win.
        let wrong = winners
            .iter()
            .filter(|winners| winners.load(Relaxed) != 1)
            .count();
        assert_eq!(wrong, 0, "of {ids} ids {late} ms later, round {round}");
    }
}

#[test]
fn hot_id_from_sixteen_threads_has_one_winner_in_each_period() {
    let (set, clock) = set();
    let periods = scaled(2000, 150);
    let firsts = counters(periods);
    let step = Barrier::new(16);
    race(16, |_| {
        for period in &firsts {
            for _ in 0..20 {
                if set.check_and_mark("hot") {
                    period.fetch_add(1, Relaxed);
                }
            }
            if step.wait().is_leader() {
                clock.advance(23 * MS);
            }
            step.wait();
        }
    });
    assert!(firsts.iter().all(|firsts| firsts.load(Relaxed) == 1));
}

#[test]
fn forgetting_races_with_marking_and_each_answer_has_its_match() {
    // Whatever the order: as many ids are forgotten as were marked, less those that are left.
    let (set, _) = set();
    let counts = race(4, |thread| {
        let mut random = Random(thread);
        let (mut marked, mut forgotten) = (0u64, 0u64);
        for n in 0..scaled(300_000, 15_000) {
            let id = random.below(20);
            if n % 64 == 0 {
                std::thread::yield_now();
            }
            if thread % 2 == 0 {
                marked += u64::from(set.check_and_mark(&id));
            } else {
                forgotten += u64::from(set.forget(&id));
            }
        }
        (marked, forgotten)
    });
    let marked: u64 = counts.iter().map(|count| count.0).sum();
    let forgotten: u64 = counts.iter().map(|count| count.1).sum();
    let left = (0..20u64).filter(|id| set.contains(id)).count() as u64;
    assert_eq!((marked - forgotten, set.len() as u64), (left, left));
    assert!(forgotten > 0);
}

#[test]
fn clear_races_with_claims_and_leaves_every_one() {
    let (set, _) = set();
    let lost = race(3, |thread| {
        let mut lost = 0;
        for id in 0..scaled(20_000, 2000) {
            if thread == 0 {
                set.clear();
                continue;
            }
            let Ok(Claim::First(lease)) = set.claim(&(thread, id)) else {
                panic!("is new")
            };
            assert!(set.check_and_mark(&(thread, id, "done")));
            lost += u64::from(lease.complete().is_err());
        }
        lost
    });
    assert_eq!(lost.iter().sum::<u64>(), 0);
    set.clear();
    assert!(set.is_empty());
}

#[test]
fn caller_told_duplicate_sees_what_the_winner_wrote_before() {
    // The notes are written and read with `Relaxed`: only the set can put them in order.
    let ids = scaled(300_000, 20_000);
    for completes in [false, true] {
        let (set, _) = set();
        let notes: Vec<_> = (0..ids).map(|_| AtomicU64::new(0)).collect();
        let others: Vec<_> = (0..ids).map(|_| AtomicU64::new(0)).collect();
        race(2, |thread| {
            let (mine, theirs) = if thread == 0 {
                (&notes, &others)
            } else {
                (&others, &notes)
            };
            for id in 0..ids {
                mine[id as usize].store(id + 1, Relaxed);
                let duplicate = if completes {
                    match set.claim(&id) {
                        Ok(Claim::First(lease)) => {
                            assert_eq!(lease.complete(), Ok(()));
                            false
                        }
                        _ => true,
                    }
                } else {
                    !set.check_and_mark(&id)
                };
                if duplicate {
                    assert_eq!(theirs[id as usize].load(Relaxed), id + 1, "{id}");
                }
            }
        });
    }
}

/// One answer, and clock readings before and after the call.
#[derive(Clone, Copy, Debug)]
struct Answer {
    id: u64,
    before: Duration,
    after: Duration,
    first: bool,
}

/// Marks a few ids at random from four threads while the clock runs. Small and busy: slots change
/// hands all the time, tables come and go. The answers are sorted by id and beginning.
fn history(ids: u64) -> Vec<Answer> {
    let (set, clock) = set();
    let answers = race(4, |thread| {
        let mut random = Random(thread);
        let mut answers = Vec::new();
        for n in 0..scaled(400_000, 20_000) {
            let (id, before) = (random.below(ids), clock.now());
            let first = set.check_and_mark(&id);
            let after = clock.now();
            answers.push(Answer {
                id,
                before,
                after,
                first,
            });
            if n % 50 == 0 {
                clock.advance(MS);
            }
            if n % 5000 == 0 {
                clock.advance(300 * MS);
                set.tick();
            }
        }
        answers
    });
    assert_eq!(set.stats().forgotten_early, 0);
    let mut answers: Vec<_> = answers.into_iter().flatten().collect();
    answers.sort_by_key(|answer| (answer.id, answer.before));
    answers
}

#[test]
fn firsts_of_one_id_are_a_retention_apart_while_the_clock_runs() {
    for ids in [3, 200, 5000] {
        let mut firsts = history(ids);
        firsts.retain(|answer| answer.first);
        assert!(firsts.len() as u64 > ids);
        for pair in firsts.windows(2).filter(|pair| pair[0].id == pair[1].id) {
            // The first began to count at `before` at the earliest; the second took effect at
            // `after` at the latest.
            let apart = pair[1].after.max(pair[0].after) - pair[0].before;
            assert!(apart >= RETENTION, "{pair:?} of {ids} ids");
        }
    }
}

#[test]
fn every_duplicate_has_a_first_within_a_retention_while_the_clock_runs() {
    for ids in [3, 200, 5000] {
        for answers in history(ids).chunk_by(|a, b| a.id == b.id) {
            let (firsts, duplicates): (Vec<Answer>, Vec<Answer>) =
                answers.iter().partition(|a| a.first);
            for duplicate in duplicates {
                // The winner has read the clock at `after` at the latest.
                let explains = |first: &Answer| {
                    let ends = first.after + RETENTION + 3 * MS;
                    first.before <= duplicate.after && ends > duplicate.before
                };
                // Nearly always one of the last few before it.
                let started = firsts.partition_point(|first| first.before <= duplicate.after);
                let explained = firsts[..started].iter().rev().any(explains);
                assert!(explained, "{duplicate:?} of {ids} ids");
            }
        }
    }
}
