//! Who holds an id in flight, and what is a holder told who comes late?

use hapax::{Claim, DedupSet, LeaseLost, ManualClock, OwnedLease, Seeds};
use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

/// Long against the resolution, so that spill marks, which are kept in whole seconds or longer, live
/// and die as in the traces.
const UNIT: Duration = Duration::from_secs(1);

type Set = DedupSet<Seeds, ManualClock>;

/// Retention 20, as in the traces.
fn set() -> (Set, ManualClock) {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(20 * UNIT)
        .shards(1)
        .clock(clock.clone());
    (builder.capacity(IDS as usize).build().unwrap(), clock)
}

/// So many that hundreds of them lie outside their home buckets.
const IDS: u64 = 3000;

fn first<L>(claim: Result<Claim<L>, hapax::Full>) -> L {
    match claim {
        Ok(Claim::First(lease)) => lease,
        Ok(Claim::InFlight { .. }) => panic!("in flight"),
        Ok(Claim::Duplicate) => panic!("duplicate"),
        Err(full) => panic!("{full}"),
    }
}

fn is_first<L>(claim: Result<Claim<L>, hapax::Full>) -> bool {
    matches!(claim, Ok(Claim::First(_)))
}

#[test]
fn claim_goes_from_absent_to_in_flight_to_done_to_absent() {
    let (set, clock) = set();
    let lease = first(set.claim_for("a", 10 * UNIT));
    assert!(matches!(set.claim("a"), Ok(Claim::InFlight { .. })));
    assert_eq!(lease.complete(), Ok(()));
    assert!(matches!(set.claim("a"), Ok(Claim::Duplicate)));
    clock.advance(23 * UNIT);
    assert!(is_first(set.claim("a")));
}

#[test]
fn remaining_time_runs_down() {
    let (set, clock) = set();
    let _lease = first(set.claim_for("a", 10 * UNIT));
    for left in (1..=10).rev() {
        let Ok(Claim::InFlight { remaining }) = set.claim("a") else {
            panic!("{left} left")
        };
        assert!(
            (left * UNIT..=(left + 3) * UNIT).contains(&remaining),
            "{remaining:?} of {left}"
        );
        clock.advance(UNIT);
    }
}

#[test]
fn released_or_dropped_id_is_first_again() {
    let (set, _) = set();
    first(set.claim("a")).release();
    drop(first(set.claim("a")));
    let early_return = || -> Option<()> {
        let _lease = first(set.claim("a"));
        None
    };
    assert_eq!(early_return(), None);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _lease = first(set.claim("a"));
        std::panic::panic_any(1);
    }));
    assert!(panic.is_err());
    assert!(set.check_and_mark("a"));
    assert_eq!(set.stats().released, 4);
}

#[test]
fn crashed_holder_loses_the_id_when_the_lease_ends() {
    let (set, clock) = set();
    std::mem::forget(first(set.claim_for("a", 10 * UNIT)));
    clock.advance(10 * UNIT);
    assert!(matches!(set.claim("a"), Ok(Claim::InFlight { .. })));
    clock.advance(3 * UNIT);
    assert!(is_first(set.claim("a")));
}

#[test]
fn late_holder_that_nobody_has_overtaken_succeeds() {
    let (set, clock) = set();
    let leases: Vec<_> = (0..IDS)
        .map(|id| first(set.claim_for(&id, 5 * UNIT)))
        .collect();
    clock.advance(15 * UNIT);
    for (id, lease) in leases.into_iter().enumerate() {
        assert_eq!(lease.complete(), Ok(()), "{id}");
    }
    clock.advance(20 * UNIT);
    assert!((0..IDS).all(|id| matches!(set.claim(&id), Ok(Claim::Duplicate))));
    clock.advance(3 * UNIT);
    assert!((0..IDS).all(|id| set.check_and_mark(&id)));
}

#[test]
fn overtaken_holder_is_told_and_changes_nothing() {
    for late in [8, 14, 27, 28, 29, 40, 1000] {
        let (set, clock) = set();
        let mut slow: Vec<_> = (0..IDS)
            .map(|id| first(set.claim_for(&id, 5 * UNIT)))
            .collect();
        clock.advance(late * UNIT);
        let fast: Vec<_> = (0..IDS).map(|id| first(set.claim(&id))).collect();
        let (second_half, first_half) = (slow.split_off(slow.len() / 2), slow);
        for mut lease in first_half {
            assert_eq!(lease.extend(20 * UNIT), Err(LeaseLost), "{late} later");
            assert_eq!(lease.extend(20 * UNIT), Err(LeaseLost));
            assert_eq!(lease.complete(), Err(LeaseLost));
        }
        second_half.into_iter().for_each(drop);
        assert!((0..IDS).all(|id| matches!(set.claim(&id), Ok(Claim::InFlight { .. }))));
        assert!(fast.into_iter().all(|lease| lease.complete() == Ok(())));
        assert!((0..IDS).all(|id| matches!(set.claim(&id), Ok(Claim::Duplicate))));
        let stats = set.stats();
        assert_eq!(
            (stats.lost_leases, stats.released),
            (IDS / 2, 0),
            "each is counted once"
        );
    }
}

#[test]
fn mark_overtakes_a_claim_that_has_ended() {
    let (set, clock) = set();
    let slow = first(set.claim_for("a", 5 * UNIT));
    clock.advance(8 * UNIT);
    assert!(set.check_and_mark("a"));
    assert_eq!(slow.complete(), Err(LeaseLost));
    assert!(!set.check_and_mark("a"));
}

#[test]
fn extending_moves_the_end_and_never_shortens() {
    let (set, clock) = set();
    let mut lease = first(set.claim_for("a", 10 * UNIT));
    clock.advance(5 * UNIT);
    assert_eq!(lease.extend(UNIT), Ok(()));
    clock.advance(5 * UNIT);
    assert!(!is_first(set.claim("a")), "the end is where it was");
    assert_eq!(lease.extend(15 * UNIT), Ok(()));
    assert_eq!(lease.extend(Duration::ZERO), Ok(()));
    clock.advance(15 * UNIT);
    assert!(!is_first(set.claim("a")));
    for _ in 0..1000 {
        assert_eq!(
            lease.extend(Duration::MAX),
            Ok(()),
            "clamped to the retention"
        );
        clock.advance(19 * UNIT);
        assert!(!is_first(set.claim("a")));
    }
    clock.advance(4 * UNIT);
    assert!(is_first(set.claim("a")));
    assert_eq!(lease.complete(), Err(LeaseLost));
}

#[test]
fn claim_that_is_extended_for_ever_stays_while_its_neighbours_come_and_go() {
    let (set, clock) = set();
    let mut leases: Vec<_> = (0..100).map(|id| first(set.claim(&("held", id)))).collect();
    for round in 0..50 {
        (0..IDS).for_each(|id| assert!(set.check_and_mark(&(round, id))));
        clock.advance(12 * UNIT);
        leases
            .iter_mut()
            .for_each(|lease| assert_eq!(lease.extend(20 * UNIT), Ok(())));
        assert!(
            (0..100).all(|id| !is_first(set.claim(&("held", id)))),
            "round {round}"
        );
    }
    assert!(leases.into_iter().all(|lease| lease.complete() == Ok(())));
}

#[test]
fn owned_lease_is_completed_by_another_thread() {
    let (set, _) = set();
    let set = Arc::new(set);
    let (queue, leases) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let leases: mpsc::IntoIter<OwnedLease<_, _>> = leases.into_iter();
        for (n, lease) in leases.enumerate() {
            if n % 2 == 0 {
                assert_eq!(lease.complete(), Ok(()));
            } else {
                lease.release();
            }
        }
    });
    for id in 0..1000 {
        queue.send(first(set.claim_owned(&id))).unwrap();
    }
    drop(queue);
    worker.join().unwrap();
    for id in 0..1000 {
        assert_eq!(set.check_and_mark(&id), id % 2 == 1, "{id}");
    }
}

#[test]
fn owned_lease_keeps_its_set_alive_and_lets_it_go() {
    let (set, _) = set();
    let set = Arc::new(set);
    let weak = Arc::downgrade(&set);
    let lease = first(set.claim_owned_for("a", 5 * UNIT));
    drop(set);
    assert!(weak.upgrade().is_some());
    assert_eq!(lease.complete(), Ok(()));
    assert!(weak.upgrade().is_none());
}

#[test]
fn holder_whose_table_is_gone_is_told() {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(20 * UNIT)
        .shards(1)
        .clock(clock.clone());
    let set = set.build().unwrap();
    let mut held: Vec<_> = (0..5000)
        .map(|id| first(set.claim_for(&id, 5 * UNIT)))
        .collect();
    assert!(set.stats().tables > 1);
    // Lease and one retention later nothing in these tables can matter.
    clock.advance(30 * UNIT);
    set.tick();
    assert_eq!(set.stats().tables, 1);
    assert!(
        held.iter_mut()
            .skip(2500)
            .all(|lease| lease.extend(UNIT) == Err(LeaseLost))
    );
    assert!(
        held.into_iter()
            .all(|lease| lease.complete() == Err(LeaseLost))
    );
    assert!((0..5000).all(|id| set.check_and_mark(&id)));
    assert_eq!(set.stats().lost_leases, 5000);
}

#[test]
fn table_of_a_claim_that_can_still_be_completed_is_kept() {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(20 * UNIT)
        .shards(1)
        .clock(clock.clone());
    let set = set.build().unwrap();
    let held: Vec<_> = (0..5000)
        .map(|id| first(set.claim_for(&id, 5 * UNIT)))
        .collect();
    clock.advance(24 * UNIT);
    set.tick();
    assert!(held.into_iter().all(|lease| lease.complete() == Ok(())));
    set.tick();
    assert!((0..5000).all(|id| !set.check_and_mark(&id)));
    clock.advance(23 * UNIT);
    assert!((0..5000).all(|id| set.check_and_mark(&id)));
}

/// Of all ids, those that are overtaken. If all were, those who overtake would fill the very slots
/// of the claims, and that would settle everything; so nearly all the others stay where they are.
fn overtaken() -> impl Iterator<Item = u64> {
    (0..IDS).step_by(5)
}

#[test]
fn spilled_claim_that_was_extended_and_overtaken_cannot_complete() {
    // Claims at 10 with lease 5, `extend(20)` at 14, marks of the same ids at 38, then `complete`.
    // The marks that cover the claims must reach one retention past the *new* end.
    for (marked_at, completed_at) in [(38, 38), (41, 41), (42, 50), (53, 53), (57, 58), (70, 70)] {
        let (set, clock) = set();
        clock.advance(10 * UNIT);
        let mut held: Vec<_> = (0..IDS)
            .map(|id| first(set.claim_for(&id, 5 * UNIT)))
            .collect();
        clock.advance(4 * UNIT);
        assert!(
            held.iter_mut()
                .all(|lease| lease.extend(20 * UNIT) == Ok(()))
        );
        clock.advance((marked_at - 14) * UNIT);
        assert!(
            overtaken().all(|id| set.check_and_mark(&id)),
            "the leases have ended"
        );
        clock.advance((completed_at - marked_at) * UNIT);
        let held = held.into_iter().step_by(5);
        let completed = held.filter_map(|lease| lease.complete().ok()).count();
        assert_eq!(
            completed, 0,
            "marked at {marked_at}, completed at {completed_at}"
        );
    }
}

#[test]
fn spilled_claim_that_was_overtaken_after_its_marks_had_died_cannot_complete() {
    for overtaken_at in [18, 35, 36, 37, 38, 39, 40, 60] {
        let (set, clock) = set();
        clock.advance(10 * UNIT);
        let held: Vec<_> = (0..IDS)
            .map(|id| first(set.claim_for(&id, 5 * UNIT)))
            .collect();
        clock.advance((overtaken_at - 10) * UNIT);
        let winners: Vec<_> = overtaken().map(|id| first(set.claim(&id))).collect();
        let mut slow = held.into_iter().step_by(5);
        assert!(
            slow.all(|lease| lease.complete() == Err(LeaseLost)),
            "{overtaken_at}"
        );
        assert!(
            winners.into_iter().all(|lease| lease.complete() == Ok(())),
            "{overtaken_at}"
        );
    }
}
