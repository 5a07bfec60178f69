//! Does a thread that stops at any step of the protocol block or mislead anybody?
//!
//! Under `cfg(hapax_pause)` only (`ci/stress.sh`): the set calls a hook at each step.
//! One thread stops there, in the middle of its call; three others run their whole
//! plan, clock steps past every deadline among it, and must end while it stands.
//! Then it goes on, and the history, its call included, must be legal.
#![cfg(hapax_pause)]

use std::{
    cell::Cell,
    sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Instant,
};

use hapax::{ManualClock, pause};
use hapax_proof::{
    draw::bytes_from_seed,
    plan::{Plan, Step, Theme},
    planted::Subject,
    record::{Actor, Checked, Histories, aftermath, crowd},
    script::{Shape, Span},
    stress::nanoseconds,
};

const SEEDS: u64 = if cfg!(debug_assertions) { 30 } else { 300 };

const SHAPE: Shape = Shape {
    retention_ms: 20,
    lease_ms: 5,
    capacity: 1,
    shards: 1,
    colliding: true,
};

thread_local! {
    /// The step at which this thread shall stop, once.
    static STOPS_AT: Cell<Option<pause::Step>> = const { Cell::new(None) };
}

/// One thread stands here while the others run.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Nobody,
    Stands,
    Open,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
        self.changed.notify_all();
    }

    fn wait_while(&self, waits: impl Fn(State) -> bool) -> State {
        let guard = self
            .changed
            .wait_while(self.state(), |state| waits(*state))
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}

fn gate() -> &'static Gate {
    static GATE: OnceLock<Gate> = OnceLock::new();
    GATE.get_or_init(|| {
        pause::on_step(|step| {
            if STOPS_AT.get() == Some(step) {
                STOPS_AT.set(None);
                gate().set(State::Stands);
                gate().wait_while(|state| state == State::Stands);
            }
        });
        Gate::default()
    })
}

/// Runs `mine` with a stop at `stop`, and `others` while it stands; tells whether
/// it came to stand at all.
fn run(stop: pause::Step, mine: &[Step], others: &Plan) -> (bool, Checked) {
    let clock = ManualClock::new();
    let subject = Subject::new(&SHAPE, clock.clone(), None).expect("the shape is legal");
    crowd(others, &subject);
    let gate = gate();
    gate.set(State::Nobody);
    let mut histories = Histories::default();
    let stood = thread::scope(|scope| {
        let (subject, clock) = (&subject, &clock);
        let stalled = scope.spawn(move || {
            let mut actor = Actor::new(100, subject, clock, SHAPE, nanoseconds);
            STOPS_AT.set(Some(stop));
            for &step in mine {
                actor.step(step);
            }
            STOPS_AT.set(None);
            gate.set(State::Open);
            actor.finish()
        });
        let stood = gate.wait_while(|state| state == State::Nobody) == State::Stands;
        let running: Vec<_> = others
            .threads
            .iter()
            .enumerate()
            .map(|(thread, steps)| {
                scope.spawn(move || {
                    let mut actor = Actor::new(thread as u32, subject, clock, SHAPE, nanoseconds);
                    for &step in steps {
                        actor.step(step);
                    }
                    actor.finish()
                })
            })
            .collect();
        for thread in running {
            histories.add(thread.join().expect("no call panics"));
        }
        // All others have ended, and the one still stands.
        gate.set(State::Open);
        histories.add(stalled.join().expect("no call panics"));
        stood
    });
    let last = aftermath(others, &subject, &clock, nanoseconds);
    histories.add(last.unwrap_or_else(|what| panic!("{stop:?}: {what}")));
    let checked = histories
        .check()
        .unwrap_or_else(|refused| panic!("stalled at {stop:?}: {refused}"));
    (stood, checked)
}

fn others(seed: u64) -> Plan {
    let theme = if seed.is_multiple_of(2) {
        Theme::Marks
    } else {
        Theme::Claims
    };
    let steps = |thread: u64| {
        bytes_from_seed(seed << 8 | thread, 60)
            .iter()
            .map(|&byte| Step::of(byte, theme))
            .collect()
    };
    Plan {
        shape: SHAPE,
        crowd: (seed % 6) as u8,
        threads: (0..3).map(steps).collect(),
    }
}

#[test]
fn stalled_thread_blocks_and_misleads_nobody() {
    let mark = [Step::Mark(2), Step::Mark(2)];
    let claim = [
        Step::Claim(2, Span::Lease(0)),
        Step::Complete,
        Step::Claim(4, Span::Lease(0)),
    ];
    let extend = [
        Step::Claim(2, Span::Lease(0)),
        Step::Extend(Span::Retention(0)),
        Step::Complete,
    ];
    // Grows, lets everything end, and gives the memory back.
    let grow = [
        Step::Fill(100),
        Step::Mark(2),
        Step::Advance(Span::Retention(4)),
        Step::Tick,
        Step::Advance(Span::Retention(4)),
        Step::Tick,
        Step::Mark(2),
    ];
    let stops: [(pause::Step, &[&[Step]]); 7] = [
        (pause::Step::Marked, &[&mark, &claim]),
        (pause::Step::Reserved, &[&mark, &claim]),
        (pause::Step::Published, &[&mark, &claim]),
        (pause::Step::Rescanned, &[&mark, &claim]),
        (pause::Step::Raised, &[&claim, &extend]),
        (pause::Step::Grown, &[&grow]),
        (pause::Step::Closed, &[&grow]),
    ];
    for (stop, plans) in stops {
        let started = Instant::now();
        let (mut stood, mut checked) = (0, Checked::default());
        for seed in 0..SEEDS {
            for mine in plans {
                let (stands, round) = run(stop, mine, &others(seed));
                stood += u64::from(stands);
                checked.add(round);
            }
        }
        println!(
            "stalled at {stop:?} {stood} times: {} calls around it, {:.1} s",
            checked.calls,
            started.elapsed().as_secs_f64()
        );
        assert!(stood > 0, "nobody came to {stop:?}");
    }
}
