//! Does the layer keep the set's promise, seen from its senders and handlers, in
//! interleavings that chance or priorities choose? Under `cfg(hapax_shuttle)` only; see
//! `ci/schedules.sh`.
//!
//! `HAPAX_EXECUTIONS` sets the executions of each test.
#![cfg(hapax_shuttle)]

mod endpoint;
mod plan;
mod planted;
mod run;
mod trace;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use hapax_proof::{
    draw::{Draw, bytes_from_seed},
    schedule::executions,
};
use shuttle::scheduler::{PctScheduler, RandomScheduler};

use crate::{plan::Plan, planted::Bug, run::run};

/// Executions of one plan before the next is drawn.
const A_PLAN: usize = 4;

fn plan(seed: u64) -> Plan {
    Plan::draw(&mut Draw::new(&bytes_from_seed(seed, 80)))
}

/// Runs one plan in some interleavings; tells whether all was well.
fn holds(seed: u64, depth: Option<usize>, bug: Option<Bug>) -> bool {
    let plan = plan(seed);
    let outcome = catch_unwind(AssertUnwindSafe(|| match depth {
        None => run(&plan, bug, RandomScheduler::new_from_seed(seed, A_PLAN)),
        Some(depth) => run(&plan, bug, PctScheduler::new_from_seed(seed, depth, A_PLAN)),
    }));
    if outcome.is_err() && bug.is_none() {
        println!("the plan was {plan:#?}");
    }
    outcome.is_ok()
}

fn explore(name: &str, depth: Option<usize>) {
    let started = Instant::now();
    let plans = executions().div_ceil(A_PLAN) as u64;
    for seed in 0..plans {
        assert!(holds(seed, depth, None), "seed {seed} of {name}");
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{name}: {} executions in {seconds:.1} s",
        plans * A_PLAN as u64
    );
}

#[test]
fn layer_keeps_the_promise_in_random_schedules() {
    explore("layer, random", None);
}

#[test]
fn layer_keeps_the_promise_under_priorities() {
    explore("layer, PCT 3", Some(3));
    explore("layer, PCT 5", Some(5));
}

#[test]
fn every_planted_bug_of_a_store_is_noticed() {
    for bug in Bug::ALL {
        let noticed = (0..2_000).find(|&seed| !holds(seed, None, Some(bug)));
        println!("{bug:?}: {:?} plans", noticed.map(|seed| seed + 1));
        assert!(noticed.is_some(), "{bug:?} is not noticed");
    }
}
