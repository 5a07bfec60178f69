//! Plans in a chosen interleaving: shuttle runs one thread at a time and asks at
//! every atomic operation of the set which one goes on.
//!
//! Needs `--cfg hapax_shuttle`, under which the set's atomics are shuttle's. The
//! clock is such an atomic too, so that time can pass between any two steps of
//! a call. Shuttle treats every ordering as the strongest: it finds errors of
//! logic, never a missing fence; that is what the models are for.

use std::{sync::Arc, time::Duration};

use hapax::Clock;
use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use crate::{
    interleave::count,
    plan::Plan,
    planted::{Bug, Subject},
    record::{Actor, Histories, Moving, aftermath, crowd},
};

/// Atomic operations after which one execution counts as one that never ends.
const MOST_STEPS: usize = 100_000;

/// A manual clock whose readings are steps of the schedule.
#[derive(Clone, Debug)]
pub struct ScheduledClock(Arc<AtomicU64>);

impl Default for ScheduledClock {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(0)))
    }
}

impl Clock for ScheduledClock {
    fn now(&self) -> Duration {
        // SeqCst: shuttle knows no other; pairs with `move_on`.
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
}

impl Moving for ScheduledClock {
    fn move_on(&self, by_ms: u64) {
        // SeqCst: shuttle knows no other; pairs with `now`.
        self.0.fetch_add(by_ms, Ordering::SeqCst);
    }
}

/// Tells how many executions a test runs: `HAPAX_EXECUTIONS`, or 20,000.
#[must_use]
pub fn executions() -> usize {
    std::env::var("HAPAX_EXECUTIONS")
        .ok()
        .and_then(|given| given.parse().ok())
        .unwrap_or(20_000)
}

/// Who chooses the next thread.
#[derive(Clone, Debug)]
pub enum Chooser {
    /// Each byte, once.
    Bytes(Vec<u8>),
    /// Chance, in so many executions.
    Random {
        /// Seed of the choices.
        seed: u64,
        /// Executions.
        executions: usize,
    },
    /// Priorities with so many changes, in so many executions (PCT).
    Priorities {
        /// Seed of the choices.
        seed: u64,
        /// Bug depth: priority changes + 1.
        depth: usize,
        /// Executions.
        executions: usize,
    },
}

/// Runs the plan in each interleaving that the chooser names, and checks every
/// history; returns the number of executions.
///
/// # Panics
///
/// If a history breaks a promise (explained in the message), if an execution
/// does not end, or if a call panics.
pub fn run(plan: &Plan, chooser: Chooser, bug: Option<Bug>) -> usize {
    let plan = Arc::new(plan.clone());
    let execution = move || execute(&plan, bug);
    match chooser {
        Chooser::Bytes(bytes) => Runner::new(Bytes::new(bytes), config()).run(execution),
        Chooser::Random { seed, executions } => {
            let chance = RandomScheduler::new_from_seed(seed, executions);
            Runner::new(chance, config()).run(execution)
        }
        Chooser::Priorities {
            seed,
            depth,
            executions,
        } => {
            let priorities = PctScheduler::new_from_seed(seed, depth, executions);
            Runner::new(priorities, config()).run(execution)
        }
    }
}

/// Sets shuttle up: it says nothing but what fails, and an execution ends.
#[must_use]
pub fn config() -> Config {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config
}

/// One execution, inside shuttle.
fn execute(plan: &Arc<Plan>, bug: Option<Bug>) {
    let clock = ScheduledClock::default();
    let subject = Subject::new(&plan.shape, clock.clone(), bug)
        .expect("every shape of a plan is within the builder's limits");
    crowd(plan, &subject);
    let subject = Arc::new(subject);
    let threads: Vec<_> = (0..plan.threads.len())
        .map(|thread| {
            let (plan, subject, clock) = (plan.clone(), subject.clone(), clock.clone());
            thread::spawn(move || {
                let mut actor = Actor::new(thread as u32, &subject, &clock, plan.shape, count);
                for &step in &plan.threads[thread] {
                    actor.step(step);
                }
                actor.finish()
            })
        })
        .collect();
    let mut histories = Histories::default();
    for thread in threads {
        histories.add(thread.join().expect("no call panics"));
    }
    let last = aftermath(plan, &subject, &clock, count).unwrap_or_else(|what| panic!("{what}"));
    histories.add(last);
    if let Err(refused) = histories.check() {
        panic!("{refused}");
    }
}

/// A scheduler that reads its choices from bytes.
///
/// Low values stay with the running thread, so that few preemptions are the
/// common case; when the bytes run out nobody is preempted any more, and a
/// thread that yields lets the next one run.
#[derive(Debug)]
struct Bytes {
    bytes: Vec<u8>,
    next: usize,
    ran: bool,
}

impl Bytes {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            next: 0,
            ran: false,
        }
    }
}

impl Scheduler for Bytes {
    fn new_execution(&mut self) -> Option<Schedule> {
        (!std::mem::replace(&mut self.ran, true)).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        let byte = self.bytes.get(self.next).copied();
        self.next += 1;
        let place = runnable.iter().position(|task| Some(task.id()) == current);
        let choice = match (byte, place) {
            (Some(0..128) | None, Some(place)) if !yields => place,
            (None | Some(0..128), Some(place)) => (place + 1) % runnable.len(),
            (byte, _) => usize::from(byte.unwrap_or(0)) % runnable.len(),
        };
        Some(runnable[choice].id())
    }

    fn next_u64(&mut self) -> u64 {
        // The set's seeds and back-off need no chance here: bytes choose.
        0x9e37_79b9_7f4a_7c15
    }
}
