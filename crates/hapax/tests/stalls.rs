//! What if a thread is put to sleep in the middle of an insert?
//!
//! Each test goes through all points at which the clock is read.

use hapax::{Claim, DedupSet, LeaseLost, ManualClock, Seeds, WhenFull};
use std::time::Duration;

mod stalling;
use stalling::{Stalling, asleep};

const MS: Duration = Duration::from_millis(1);

type Set = DedupSet<Seeds, Stalling>;

/// Retention 20 ms; what is said to last `n` ms has ended after `n + 3` ms.
fn set() -> (Set, ManualClock) {
    let clock = Stalling::default();
    let builder = DedupSet::builder()
        .retention(20 * MS)
        .shards(1)
        .clock(clock.clone());
    (builder.build().unwrap(), clock.0)
}

fn first<L>(claim: Result<Claim<L>, hapax::Full>) -> Option<L> {
    match claim {
        Ok(Claim::First(lease)) => Some(lease),
        Ok(_) => None,
        Err(full) => panic!("{full}"),
    }
}

/// Marks by either way, and says whether it was first.
fn marks(set: &Set, id: u64, by_claim: bool) -> bool {
    if by_claim {
        first(set.claim_for(&id, 20 * MS)).is_some_and(|lease| lease.complete() == Ok(()))
    } else {
        set.check_and_mark(&id)
    }
}

const DEEPEST: u32 = 8;

#[test]
fn claim_with_an_old_reading_cannot_make_the_word_of_an_earlier_holder() {
    // X's claim ends at 17. V reads 10 and sleeps. The id is claimed and released so often that the
    // version of its slot comes round; then V, whose claim would end at 17 too, wakes. X completes.
    for (rounds, odd) in (120..=132).flat_map(|rounds| [(rounds, false), (rounds, true)]) {
        let (set, clock) = set();
        clock.advance(10 * MS);
        let slow = first(set.claim_for("a", 5 * MS)).unwrap();
        let (winner, _) = asleep(
            1,
            || first(set.claim_for("a", 5 * MS)),
            || {
                clock.advance(8 * MS);
                if odd {
                    // A claim that runs out is one step of the version, one that is released two.
                    std::mem::forget(first(set.claim_for("a", MS)));
                    clock.advance(4 * MS);
                }
                (0..rounds).for_each(|_| drop(first(set.claim_for("a", 5 * MS)).unwrap()));
            },
        );
        let winner = winner.expect("the lease of X has ended");
        assert_eq!(slow.complete(), Err(LeaseLost), "after {rounds} rounds");
        assert_eq!(winner.complete(), Ok(()), "after {rounds} rounds");
    }
}

#[test]
fn sleeper_finds_the_id_in_a_table_that_came_while_it_slept() {
    // X has reserved a slot in the old table. Y finds that table full, grows the set and is first.
    let mut points = 0;
    for by_claim in [false, true] {
        for readings in 1..=DEEPEST {
            let (set, _) = set();
            (0..20).for_each(|id| assert!(set.check_and_mark(&("early", id))));
            let (sleeper_won, other_won) = asleep(
                readings,
                || marks(&set, 7, by_claim),
                || {
                    let mut id = 0;
                    while set.stats().tables < 4 {
                        assert!(set.check_and_mark(&("more", id)));
                        id += 1;
                    }
                    marks(&set, 7, !by_claim)
                },
            );
            let Some(other_won) = other_won else { break };
            points += 1;
            assert!(
                sleeper_won != other_won,
                "two winners, or none, at reading {readings}"
            );
            assert!(!set.check_and_mark(&7));
        }
    }
    assert!(
        points >= 3,
        "a claim reads the clock with its slot reserved"
    );
}

#[test]
fn sleeper_finds_the_id_wherever_it_was_marked_in_the_same_table() {
    for by_claim in [false, true] {
        for id in 0..60 {
            for readings in 1..=DEEPEST {
                let (set, _) = set();
                (100..140).for_each(|id| assert!(set.check_and_mark(&id)));
                let other = || marks(&set, id, false);
                let (sleeper_won, other_won) =
                    asleep(readings, || marks(&set, id, by_claim), other);
                let Some(other_won) = other_won else { break };
                assert!(sleeper_won != other_won, "{id} at reading {readings}");
            }
        }
    }
}

#[test]
fn sleeper_goes_on_after_its_table_has_been_given_back() {
    for overtaken in [false, true] {
        for readings in 1..=DEEPEST {
            let (set, clock) = set();
            (0..2000).for_each(|id| assert!(set.check_and_mark(&("burst", id))));
            assert!(set.stats().tables > 3);
            let (lease, slept) = asleep(
                readings,
                || first(set.claim_for("a", 5 * MS)),
                || {
                    clock.advance(1000 * MS);
                    set.tick();
                    assert_eq!(set.stats().tables, 1, "the sleeper keeps no table");
                    assert!(!overtaken || set.check_and_mark("a"));
                },
            );
            if slept.is_none() {
                break;
            }
            assert_eq!(lease.is_none(), overtaken, "at reading {readings}");
            if let Some(lease) = lease {
                // It has found the hint moved, and so has started again in the table of today.
                assert_eq!(lease.complete(), Ok(()), "at reading {readings}");
            }
            assert!(!set.check_and_mark("a"));
            assert_eq!(set.stats().in_flight, 0);
        }
    }
}

#[test]
fn sleeper_blocks_nobody() {
    for readings in 1..=DEEPEST {
        let (set, clock) = set();
        let (_, slept) = asleep(
            readings,
            || set.claim_for("a", 20 * MS).map(drop),
            || {
                for round in 0..3 {
                    (0..2000).for_each(|id| assert!(set.check_and_mark(&(round, id))));
                    (0..2000).for_each(|id| assert!(!set.check_and_mark(&(round, id))));
                    let lease = first(set.claim(&("claimed", round))).unwrap();
                    assert_eq!(lease.complete(), Ok(()));
                    assert_eq!(set.stats().live, 2001);
                    set.clear();
                    clock.advance(30 * MS);
                    set.tick();
                }
                drop(first(set.claim("a")).expect("it is nobody's yet"));
            },
        );
        if slept.is_none() {
            return;
        }
        assert_eq!(
            (set.len(), set.stats().in_flight),
            (0, 0),
            "at reading {readings}"
        );
    }
}

#[test]
fn spill_mark_that_nobody_touched_for_months_hides_nothing_when_it_comes_round() {
    // Marks count epochs of a second in few bits. After half their range, 97 days, an old mark
    // turned from long dead to far ahead; one millisecond apart two threads saw it differently.
    let half_range = Duration::from_millis(1000 << 23);
    for id in 0..60u64 {
        let clock = Stalling::default();
        let builder = DedupSet::builder().retention(1000 * MS).shards(1);
        let set = builder.capacity(500).clock(clock.clone());
        let set = set.build().unwrap();
        let others = || (100..900u64).chain(std::iter::once(id));
        assert!(others().all(|id| set.check_and_mark(&id)));
        clock.0.advance(half_range);
        let (sleeper_won, other_won) = asleep(
            1,
            || set.check_and_mark(&id),
            || {
                clock.0.advance(MS);
                assert!(others().all(|id| set.check_and_mark(&id)));
                (100..900u64).all(|id| set.forget(&id))
            },
        );
        assert_eq!((sleeper_won, other_won), (false, Some(true)), "{id}");
    }
}

#[test]
fn sleeper_at_the_limit_keeps_the_books_and_one_winner() {
    for (mode, by_claim) in [
        (WhenFull::ForgetOldest, false),
        (WhenFull::ForgetOldest, true),
        (WhenFull::Refuse, false),
    ] {
        for readings in 1..=DEEPEST {
            let clock = Stalling::default();
            let builder = DedupSet::builder()
                .retention(20 * MS)
                .shards(1)
                .max_entries(10);
            let set = builder
                .when_full(mode)
                .clock(clock.clone())
                .build()
                .unwrap();
            (100..300u64).for_each(|id| assert!(set.check_and_mark(&id)));
            let slots = set.stats().live;
            let (sleeper_won, other_won) = asleep(
                readings,
                || marks(&set, 7, by_claim),
                || {
                    let won = marks(&set, 7, false);
                    clock.0.advance(MS);
                    won
                },
            );
            let Some(other_won) = other_won else { break };
            let stats = set.stats();
            assert_eq!(stats.first, stats.live + stats.forgotten_early, "{stats:?}");
            if mode == WhenFull::ForgetOldest {
                assert!(sleeper_won != other_won, "reading {readings}, {by_claim}");
            } else {
                assert!(sleeper_won && other_won, "nobody was recorded: {stats:?}");
            }
            // No slot is lost: after all has ended as many fit as before.
            clock.0.advance(30 * MS);
            (300..500u64).for_each(|id| assert!(set.check_and_mark(&id)));
            assert_eq!(set.stats().live, slots, "reading {readings}");
        }
    }
}
