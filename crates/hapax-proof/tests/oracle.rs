//! Does every answer, one call after another, agree with a naive map?

use std::{sync::Arc, time::Duration};

use hapax::{Claim, DedupSet, ManualClock, WhenFull};
use hapax_proof::{
    draw::{Draw, bytes_from_seed},
    exactness::EXACTNESS,
    limit::Limit,
    oracle::{compare, compare_at_limit},
    script::{Op, Script, Shape, Span},
};
use proptest::prelude::*;

const CASES: u32 = if cfg!(debug_assertions) { 60 } else { 1_500 };

/// Calls drawn one by one, so that a failing sequence shrinks call by call.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = proptest::array::uniform4(any::<u8>()).prop_map(|b| Op::draw(&mut Draw::new(&b)));
    proptest::collection::vec(op, 0..150)
}

fn shape() -> impl Strategy<Value = Shape> {
    proptest::array::uniform2(any::<u8>()).prop_map(|b| Shape::draw(&mut Draw::new(&b)))
}

/// Calls that more often bring many ids, so that a limit is reached.
fn crowding_ops() -> impl Strategy<Value = Vec<Op>> {
    let op = proptest::array::uniform4(any::<u8>()).prop_map(|b| match b {
        [0..64, ids, ..] => Op::Fill(ids % 32),
        _ => Op::draw(&mut Draw::new(&b)),
    });
    proptest::collection::vec(op, 0..80)
}

fn limit() -> impl Strategy<Value = Limit> {
    any::<[u8; 2]>().prop_map(|b| Limit::at_the_end_of(&b))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_the_naive_maps(shape in shape(), ops in ops()) {
        let script = Script { shape, ops };
        if let Err(difference) = compare(&script, EXACTNESS) {
            return Err(TestCaseError::fail(format!("{difference}\n{script}")));
        }
    }

    #[test]
    fn every_answer_at_a_limit_is_too(shape in shape(), limit in limit(), ops in crowding_ops()) {
        let script = Script { shape, ops };
        if let Err(difference) = compare_at_limit(&script, limit, EXACTNESS) {
            let found = format!("{limit:?}: {difference}\n{script}");
            return Err(TestCaseError::fail(found));
        }
    }
}

#[test]
fn long_scripts_from_fixed_seeds_agree_too() {
    let scripts = if cfg!(debug_assertions) { 40 } else { 800 };
    for seed in 0..scripts {
        let script = Script::draw(&mut Draw::new(&bytes_from_seed(seed, 800)));
        if let Err(difference) = compare(&script, EXACTNESS) {
            panic!("seed {seed}: {difference}\n{script}");
        }
    }
}

#[test]
fn long_scripts_that_reach_the_limit_agree_too() {
    let scripts = if cfg!(debug_assertions) { 20 } else { 400 };
    let (mut forgotten_early, mut refused, mut unrecorded) = (0, 0, 0);
    for seed in 0..scripts {
        let bytes = bytes_from_seed(seed, 400);
        let mut script = Script::draw(&mut Draw::new(&bytes));
        let limit = Limit::at_the_end_of(&bytes);
        script.ops = script
            .ops
            .chunks(5)
            .flat_map(|ops| [&[Op::Fill(14)], ops].concat())
            .collect();
        let books = compare_at_limit(&script, limit, EXACTNESS)
            .unwrap_or_else(|difference| panic!("seed {seed}, {limit:?}: {difference}\n{script}"));
        forgotten_early += books.forgotten_early;
        refused += books.refused;
        unrecorded += books.unrecorded;
    }
    // Else the scripts would say nothing about limits.
    let reached = [forgotten_early, refused, unrecorded];
    println!("forgotten early, refused, unrecorded: {reached:?}");
    assert!(reached.iter().all(|&n| n > scripts), "{reached:?}");
}

/// A set that starts small and fills up to its limit, no further, wave by wave.
#[test]
fn set_that_grows_up_to_its_limit_has_room_for_all() {
    for (shards, colliding) in [(1, false), (1, true), (2, false)] {
        for max_entries in 1..=40 {
            let shape = Shape {
                retention_ms: 20,
                lease_ms: 20,
                capacity: 1,
                shards,
                colliding,
            };
            let ops = [Op::Fill(max_entries), Op::Advance(Span::Retention(2))].repeat(4);
            let limit = Limit {
                max_entries: max_entries.into(),
                when_full: [WhenFull::ForgetOldest, WhenFull::Refuse][usize::from(max_entries % 2)],
                claims_of_five: max_entries % 3,
            };
            compare_at_limit(&Script { shape, ops }, limit, EXACTNESS)
                .unwrap_or_else(|difference| panic!("{shape:?}, {limit:?}: {difference}"));
        }
    }
}

#[test]
fn one_id_marked_every_period_stays_exact_for_two_hundred_periods() {
    let shape = Shape {
        retention_ms: 20,
        lease_ms: 5,
        capacity: 1,
        shards: 1,
        colliding: true,
    };
    let mut ops = vec![Op::Fill(60)];
    for _ in 0..200 {
        ops.extend([Op::Mark(0), Op::Mark(0), Op::Advance(Span::Retention(1))]);
    }
    let script = Script { shape, ops };
    compare(&script, EXACTNESS).unwrap_or_else(|difference| panic!("{difference}"));
}

/// The set's clock word ends after 34 years; a service that runs on must not
/// hang, panic, or lose an id that it was just told.
#[test]
fn clock_beyond_its_last_year_never_hangs() {
    let clock = ManualClock::new();
    let set = Arc::new(
        DedupSet::builder()
            .retention(Duration::from_millis(20))
            .clock(clock.clone())
            .build()
            .unwrap(),
    );
    for year in 0..80u64 {
        clock.advance(Duration::from_secs(365 * 86_400));
        assert!(set.check_and_mark(&year));
        assert!(!set.check_and_mark(&year));
        match set.claim(&(1_000 + year)) {
            Ok(Claim::First(lease)) => lease.complete().unwrap(),
            other => panic!("year {year}: {other:?}"),
        }
        assert!(set.contains(&(1_000 + year)));
        set.tick();
    }
}

/// An insert that found its run full moved to a larger table, and its own tidying
/// moved it back to the smaller one, for the load was low: it never returned.
#[test]
fn full_run_in_a_nearly_empty_set_does_not_go_round() {
    let shape = Shape {
        retention_ms: 20,
        lease_ms: 5,
        capacity: 1,
        shards: 1,
        colliding: true,
    };
    let mut ops: Vec<_> = (0..7).map(|n| Op::Mark(2 * n)).collect();
    ops.extend([Op::Advance(Span::One), Op::Advance(Span::One)]);
    ops.extend((7..12).map(|n| Op::Mark(2 * n)));
    let script = Script { shape, ops };
    compare(&script, EXACTNESS).unwrap_or_else(|difference| panic!("{difference}"));
}
