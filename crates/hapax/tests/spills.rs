//! Is an id that lies far from its home found to its very end, whatever comes and goes between?

use hapax::{Claim, DedupSet, ManualClock, Seeds};
use std::time::Duration;

mod random;
use random::Random;

const SECOND: Duration = Duration::from_secs(1);
const RETENTION: Duration = Duration::from_secs(60);

const fn scaled(release: u64, debug: u64) -> u64 {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

/// One table for 500 ids; with twice as many it is nearly full, and most lie outside their homes.
fn crowded() -> (DedupSet<Seeds, ManualClock>, ManualClock) {
    let clock = ManualClock::new();
    let builder = DedupSet::builder().retention(RETENTION).shards(1);
    let builder = builder.max_entries(500).clock(clock.clone());
    (builder.build().unwrap(), clock)
}

#[test]
fn far_ids_are_known_to_their_end_while_nearer_ones_come_and_go() {
    // What comes later lies nearer, for there is room again, and lowers what is said of its home
    // for the time after; never for the time before.
    for round in 0..scaled(100, 8) {
        let (set, clock) = crowded();
        let mut random = Random(round);
        let mut marked = Vec::new();
        for step in 0..150u64 {
            let now = SECOND * step as u32;
            for _ in 0..random.below(if step % 50 < 10 { 90 } else { 14 }) {
                let id = random.next();
                let first = set.try_check_and_mark(&id);
                assert_eq!(first, Ok(true), "{id} is new");
                marked.push((now, id));
            }
            // Room for others, near and far.
            for _ in 0..marked.len() / 60 {
                let (_, id) = marked.swap_remove(random.below(marked.len() as u64) as usize);
                set.forget(&id);
            }
            marked.retain(|(then, _)| now - *then < RETENTION);
            if set.stats().forgotten_early == 0 {
                let lost = marked.iter().find(|(_, id)| !set.contains(id));
                assert_eq!(lost, None, "at {now:?}, round {round}");
            }
            clock.advance(SECOND);
        }
    }
}

#[test]
fn far_claims_are_known_and_completed_while_nearer_ones_come_and_go() {
    for round in 0..scaled(50, 3) {
        let (set, clock) = crowded();
        let mut random = Random(round);
        let mut held = Vec::new();
        for step in 0..200u64 {
            let now = SECOND * step as u32;
            for _ in 0..random.below(44) {
                let id = random.next();
                // The default lease, and some that are longer than any look-ahead.
                let lease = SECOND * (30 + 30 * random.below(2) as u32);
                match set.claim_for(&id, lease) {
                    Ok(Claim::First(lease)) => held.push((now, id, lease)),
                    other => panic!("{id} is new: {other:?}"),
                }
            }
            for _ in 0..held.len() / 20 {
                let (_, id, mut lease) = held.swap_remove(random.below(held.len() as u64) as usize);
                match random.below(3) {
                    0 => drop(lease),
                    1 => assert_eq!(lease.complete(), Ok(()), "{id}"),
                    _ => {
                        assert_eq!(lease.extend(RETENTION), Ok(()), "{id}");
                        held.push((now, id, lease));
                    }
                }
            }
            held.retain(|(then, ..)| now - *then < SECOND * 29);
            let lost = held.iter().find(|(_, id, _)| !set.contains(id));
            assert!(lost.is_none(), "{lost:?} at {now:?}, round {round}");
            clock.advance(SECOND);
        }
        assert!(
            held.into_iter()
                .all(|(_, _, lease)| lease.complete() == Ok(()))
        );
        assert_eq!(set.stats().lost_leases, 0);
    }
}

#[test]
fn table_smaller_than_a_run_wraps_around_and_no_further() {
    for max_entries in 1..12 {
        let clock = ManualClock::new();
        let builder = DedupSet::builder().retention(RETENTION).shards(1);
        let builder = builder.max_entries(max_entries).clock(clock.clone());
        let set = builder.build().unwrap();
        for round in 0..5 {
            let mut ids = 0..;
            while set.stats().forgotten_early == round {
                let id = ids.next().unwrap();
                assert!(set.check_and_mark(&(round, id)));
                assert!(!set.check_and_mark(&(round, id)));
            }
            // All but the one that made room are there, each once.
            let marked = ids.start;
            let known = (0..marked).filter(|id| set.contains(&(round, *id))).count();
            assert_eq!(known, marked - 1, "{max_entries} entries, round {round}");
            assert_eq!(known, set.len());
            clock.advance(RETENTION + 3 * SECOND);
            assert_eq!(set.len(), 0);
        }
    }
}
