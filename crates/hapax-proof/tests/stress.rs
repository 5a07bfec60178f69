//! Do real threads keep the promise: few and many, on hot ids, while time moves?
//!
//! Every round is checked exactly before the next begins, so a failure names the
//! calls. Rounds go on until the budget is used up; the figures are printed.

use std::time::{Duration, Instant};

use hapax_proof::{
    draw::bytes_from_seed,
    plan::{Plan, Step, Theme},
    record::Checked,
    script::{Shape, Span},
    stress,
};

/// What one of the tests here may take.
const BUDGET: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_200 } else { 2_400 });

/// Calls in one round, over all threads.
const ROUND: usize = 20_000;

/// A growing set in which the hot ids share a home bucket.
const SHAPE: Shape = Shape {
    retention_ms: 20,
    lease_ms: 5,
    capacity: 1,
    shards: 1,
    colliding: true,
};

/// Mostly calls; the clock moves about once in 64 steps, else windows end before
/// anybody meets in them.
fn steps(seed: u64, count: usize, theme: Theme) -> Vec<Step> {
    bytes_from_seed(seed, 2 * count)
        .chunks_exact(2)
        .map(|two| {
            let step = Step::of(two[0], theme);
            match step {
                Step::Advance(_) if two[1] % 16 != 0 => Step::of(two[1] & 0xf3, theme),
                // Ids that are used once are for growth, not for the checker.
                Step::Fill(_) if two[1] % 8 != 0 => Step::Contains(2),
                step => step,
            }
        })
        .collect()
}

/// Lets a thread lose the processor at about every 64th step of the protocol.
#[cfg(hapax_pause)]
fn pause_at_steps() {
    use std::cell::Cell;
    thread_local! {
        static STEPS: Cell<u32> = const { Cell::new(0) };
    }
    hapax::pause::on_step(|_| {
        let steps = STEPS
            .get()
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        STEPS.set(steps);
        if steps >> 26 == 0 {
            std::thread::yield_now();
        }
    });
}

#[cfg(not(hapax_pause))]
fn pause_at_steps() {}

fn rounds(threads: usize, shape: Shape, theme: Theme, name: &str) {
    pause_at_steps();
    let started = Instant::now();
    let mut checked = Checked::default();
    let mut rounds = 0u64;
    while started.elapsed() < BUDGET || rounds == 0 {
        let plan = Plan {
            shape,
            crowd: (rounds % 6) as u8,
            threads: (0..threads)
                .map(|thread| steps(rounds << 16 | thread as u64, ROUND / threads, theme))
                .collect(),
        };
        match stress::run(&plan, None) {
            Ok(round) => checked.add(round),
            Err(refused) => panic!("round {rounds} of {name}: {refused}"),
        }
        rounds += 1;
    }
    println!(
        "{name}, {threads} threads: {rounds} rounds, {} calls, {} first, {:.2} steps a call, {:.1} s",
        checked.calls,
        checked.first,
        checked.steps as f64 / checked.calls as f64,
        started.elapsed().as_secs_f64()
    );
}

#[test]
fn two_threads_keep_the_promise() {
    rounds(2, SHAPE, Theme::Marks, "marks");
    rounds(2, SHAPE, Theme::Claims, "claims");
}

#[test]
fn eight_threads_keep_the_promise() {
    rounds(8, SHAPE, Theme::Marks, "marks");
    rounds(8, SHAPE, Theme::Claims, "claims");
}

#[test]
fn thirty_two_threads_keep_the_promise() {
    rounds(32, SHAPE, Theme::Claims, "claims");
}

#[test]
fn sixty_four_threads_keep_the_promise() {
    rounds(64, SHAPE, Theme::Claims, "claims");
}

#[test]
fn a_thousand_hot_ids_from_all_threads_keep_the_promise() {
    const IDS: u64 = 1_000;
    pause_at_steps();
    let started = Instant::now();
    let mut checked = Checked::default();
    let mut rounds = 0u64;
    while started.elapsed() < BUDGET || rounds == 0 {
        let threads = (0..8u64)
            .map(|thread| {
                // Every thread meets every id, each in an order of its own, and
                // one of them lets a period pass every so often.
                let start = (rounds * 8 + thread) * 371;
                (0..2 * IDS)
                    .map(|n| {
                        let id = 2 + (start + n * 7) % IDS;
                        match n % 64 {
                            63 if thread == 0 => Step::Advance(Span::Retention(2)),
                            31 if thread == 1 => Step::Advance(Span::One),
                            60 => Step::Claim(id, Span::Lease(0)),
                            62 => Step::Complete,
                            _ => Step::Mark(id),
                        }
                    })
                    .collect()
            })
            .collect();
        let shape = Shape {
            // A thousand ids of one home are more than any table has room for.
            colliding: false,
            shards: 1 + rounds as usize % 2,
            ..SHAPE
        };
        let plan = Plan {
            shape,
            crowd: 0,
            threads,
        };
        match stress::run(&plan, None) {
            Ok(round) => checked.add(round),
            Err(refused) => panic!("round {rounds}: {refused}"),
        }
        rounds += 1;
    }
    println!(
        "{IDS} hot ids, 8 threads: {rounds} rounds, {} histories, {} calls, {} first, {:.1} s",
        checked.histories,
        checked.calls,
        checked.first,
        started.elapsed().as_secs_f64()
    );
}
