//! Plans on one thread, call by call, in an order that bytes choose.
//!
//! No call is ever inside another, so every instant is known; what remains is
//! everything about *order*: late holders, copies, windows that end between two
//! calls. It needs no special build, which is why the seeds of the schedule
//! targets are replayed in this way by the ordinary tests.

use std::sync::atomic::{AtomicU64, Ordering};

use hapax::ManualClock;

use crate::{
    draw::Draw,
    plan::Plan,
    planted::{Bug, Subject},
    record::{Actor, Checked, Histories, aftermath, crowd},
};

/// Counts the stamps taken so far.
pub(crate) fn count() -> u64 {
    static STAMPS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: one thread at a time runs; the number itself is the order.
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// Runs the plan once and checks every history.
///
/// # Errors
///
/// The first history that breaks a promise, explained.
///
/// # Panics
///
/// If a set of the plan's shape cannot be built.
pub fn run(plan: &Plan, schedule: &mut Draw<'_>, bug: Option<Bug>) -> Result<Checked, String> {
    let clock = ManualClock::new();
    let subject = Subject::new(&plan.shape, clock.clone(), bug)
        .expect("every shape of a plan is within the builder's limits");
    crowd(plan, &subject);
    let mut threads: Vec<_> = plan
        .threads
        .iter()
        .enumerate()
        .map(|(thread, steps)| {
            let actor = Actor::new(thread as u32, &subject, &clock, plan.shape, count);
            (actor, steps.iter())
        })
        .collect();
    let mut histories = Histories::default();
    while !threads.is_empty() {
        let next = usize::from(schedule.below(threads.len() as u16));
        let (actor, steps) = &mut threads[next];
        match steps.next() {
            Some(&step) => actor.step(step),
            None => histories.add(threads.remove(next).0.finish()),
        }
    }
    histories.add(aftermath(plan, &subject, &clock, count)?);
    histories.check()
}
