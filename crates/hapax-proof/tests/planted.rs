//! Does each means of proof notice the bugs that it is there to notice?
//!
//! The table that the test prints says how many plans (or executions) it took.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use hapax_proof::{
    draw::{Draw, bytes_from_seed},
    interleave,
    plan::{Plan, Step, Theme},
    planted::Bug,
    script::Shape,
    stress,
};

/// Plans until the bug is noticed, out of `most`.
fn noticed(most: u64, mut refuses: impl FnMut(u64) -> bool) -> Option<u64> {
    (0..most).find(|&seed| refuses(seed))
}

fn call_by_call(seed: u64, bug: Option<Bug>) -> bool {
    let theme = if seed.is_multiple_of(2) {
        Theme::Marks
    } else {
        Theme::Claims
    };
    let bytes = bytes_from_seed(seed, 80);
    let mut draw = Draw::new(&bytes);
    let plan = Plan::draw(&mut draw, theme);
    interleave::run(&plan, &mut draw, bug).is_err()
}

/// Four threads and one id: few calls, all of them about the bug.
fn real_threads(seed: u64, bug: Option<Bug>) -> bool {
    let shape = Shape {
        retention_ms: 20,
        lease_ms: 5,
        capacity: 1,
        shards: 1,
        colliding: true,
    };
    let theme = if seed.is_multiple_of(2) {
        Theme::Marks
    } else {
        Theme::Claims
    };
    let threads = (0..4)
        .map(|thread| {
            bytes_from_seed(seed << 8 | thread, 300)
                .iter()
                .map(|&byte| Step::of(byte, theme))
                .collect()
        })
        .collect();
    let plan = Plan {
        shape,
        crowd: (seed % 6) as u8,
        threads,
    };
    stress::run(&plan, bug).is_err()
}

#[test]
fn every_planted_bug_is_noticed() {
    println!(
        "{:<20} {:>14} {:>14}",
        "bug", "call by call", "real threads"
    );
    for bug in Bug::ALL {
        let started = Instant::now();
        let ordered = noticed(3_000, |seed| call_by_call(seed, Some(bug)));
        let raced = noticed(1_000, |seed| real_threads(seed, Some(bug)));
        let show = |plans: Option<u64>| plans.map_or("missed".into(), |n| (n + 1).to_string());
        println!(
            "{:<20} {:>14} {:>14}   {:.2} s",
            format!("{bug:?}"),
            show(ordered),
            show(raced),
            started.elapsed().as_secs_f64()
        );
        // Looking and then marking is wrong only when another call comes between.
        let race = bug == Bug::LooksThenMarks;
        assert!(
            ordered.is_some() || race,
            "{bug:?} is not noticed call by call"
        );
        assert!(raced.is_some(), "{bug:?} is not noticed by real threads");
    }
}

#[test]
fn nothing_is_noticed_where_nothing_is_planted() {
    for seed in 0..2_000 {
        let quiet = catch_unwind(AssertUnwindSafe(|| call_by_call(seed, None)));
        assert!(!quiet.unwrap(), "seed {seed}");
    }
}
