//! Plans on real threads.
//!
//! Weak evidence for the protocol (the bugs that it misses are in the table of
//! `tests/planted.rs`), but the only one on real hardware: weak ordering, real
//! preemption, more threads than cores. Calls are stamped by the monotonic clock
//! of the machine: a shared counter would order the threads and hide bugs.

use std::{
    sync::{Arc, Barrier, OnceLock},
    thread,
    time::Instant,
};

use hapax::ManualClock;

use crate::{
    plan::Plan,
    planted::{Bug, Subject},
    record::{Actor, Checked, Histories, aftermath, crowd},
};

/// Nanoseconds since the first stamp of this process.
#[must_use]
pub fn nanoseconds() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Runs the plan once, each thread on its own thread, and checks every history.
///
/// # Errors
///
/// The first history that breaks a promise, explained.
///
/// # Panics
///
/// If a set of the plan's shape cannot be built, or a thread panics.
pub fn run(plan: &Plan, bug: Option<Bug>) -> Result<Checked, String> {
    let clock = ManualClock::new();
    let subject = Subject::new(&plan.shape, clock.clone(), bug)
        .expect("every shape of a plan is within the builder's limits");
    crowd(plan, &subject);
    let start = Arc::new(Barrier::new(plan.threads.len()));
    let mut histories = Histories::default();
    thread::scope(|scope| {
        let threads: Vec<_> = plan
            .threads
            .iter()
            .enumerate()
            .map(|(thread, steps)| {
                let (subject, clock, start) = (&subject, &clock, start.clone());
                scope.spawn(move || {
                    let mut actor =
                        Actor::new(thread as u32, subject, clock, plan.shape, nanoseconds);
                    start.wait();
                    for &step in steps {
                        actor.step(step);
                    }
                    actor.finish()
                })
            })
            .collect();
        for thread in threads {
            histories.add(thread.join().expect("no call panics"));
        }
    });
    histories.add(aftermath(plan, &subject, &clock, nanoseconds)?);
    histories.check()
}
