//! Weighs one contender in a process of its own, for the report.

#![forbid(unsafe_code)]

use hapax_benches::{memory::Reading, report::probe};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{alloc::System, env, error::Error};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> Result<(), Box<dyn Error>> {
    let question = env::args()
        .nth(1)
        .ok_or("the report asks this program; run `report`")?;
    println!("{}", probe::answer(&question, &meter)?);
    Ok(())
}

fn meter() -> Reading {
    COUNTING.stats().into()
}
