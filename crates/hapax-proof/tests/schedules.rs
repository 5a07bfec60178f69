//! Does the whole set keep the promise in interleavings that chance or priorities
//! choose? Under `cfg(hapax_shuttle)` only; see `ci/schedules.sh`.
//!
//! `HAPAX_EXECUTIONS` sets the executions of each test.
#![cfg(hapax_shuttle)]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use hapax_proof::{
    draw::{Draw, bytes_from_seed},
    plan::{Plan, Theme},
    planted::Bug,
    schedule::{Chooser, executions, run},
    target,
};

/// Executions of one plan before the next is drawn.
const A_PLAN: usize = 4;

fn plan(seed: u64, theme: Theme) -> Plan {
    Plan::draw(&mut Draw::new(&bytes_from_seed(seed, 40)), theme)
}

/// Draws plans and runs each in some interleavings.
fn explore(name: &str, theme: Theme, chooser: impl Fn(u64) -> Chooser) {
    let started = Instant::now();
    let mut done = 0;
    for seed in 0.. {
        let plan = plan(seed, theme);
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&plan, chooser(seed), None)));
        match outcome {
            Ok(executions) => done += executions,
            Err(_) => panic!("seed {seed} of {name}; the plan was {plan:#?}"),
        }
        if done >= executions() {
            break;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{name}: {done} executions in {seconds:.1} s, {:.0} a second",
        done as f64 / seconds
    );
}

fn random(seed: u64) -> Chooser {
    Chooser::Random {
        seed,
        executions: A_PLAN,
    }
}

fn priorities(depth: usize) -> impl Fn(u64) -> Chooser {
    move |seed| Chooser::Priorities {
        seed,
        depth,
        executions: A_PLAN,
    }
}

#[test]
fn marks_keep_the_promise_in_random_schedules() {
    explore("marks, random", Theme::Marks, random);
}

#[test]
fn claims_keep_the_promise_in_random_schedules() {
    explore("claims, random", Theme::Claims, random);
}

#[test]
fn marks_keep_the_promise_under_priorities() {
    explore("marks, PCT 3", Theme::Marks, priorities(3));
}

#[test]
fn claims_keep_the_promise_under_priorities() {
    explore("claims, PCT 3", Theme::Claims, priorities(3));
    explore("claims, PCT 5", Theme::Claims, priorities(5));
}

#[test]
fn bytes_that_choose_the_schedule_keep_the_promise() {
    let started = Instant::now();
    let inputs = executions() as u64;
    for seed in 0..inputs {
        let bytes = bytes_from_seed(seed, 160);
        let run = if seed.is_multiple_of(2) {
            target::concurrent
        } else {
            target::claims
        };
        if catch_unwind(|| run(&bytes)).is_err() {
            panic!("seed {seed}");
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("bytes: {inputs} executions in {seconds:.1} s");
}

/// Bugs of order alone are noticed call by call already; here, all must be.
#[test]
fn every_planted_bug_is_noticed_in_random_schedules() {
    for bug in Bug::ALL {
        let started = Instant::now();
        let noticed = (0..4_000u64).find(|&seed| {
            let theme = if seed.is_multiple_of(2) {
                Theme::Marks
            } else {
                Theme::Claims
            };
            let chooser = Chooser::Random {
                seed,
                executions: 3,
            };
            let plan = plan(seed, theme);
            catch_unwind(AssertUnwindSafe(|| run(&plan, chooser, Some(bug)))).is_err()
        });
        println!(
            "{bug:?}: {:?} plans, {:.2} s",
            noticed.map(|seed| seed + 1),
            started.elapsed().as_secs_f64()
        );
        assert!(noticed.is_some(), "{bug:?} is not noticed");
    }
}
