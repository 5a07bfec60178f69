//! Is the checker right? It must agree with brute force on every history.

use std::time::Instant;

use hapax_proof::{
    brute::brute,
    check::check,
    draw::{Draw, bytes_from_seed},
    random,
};

/// Enough for seconds, not minutes, in either build.
const HISTORIES: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    200_000
};

#[test]
fn checker_agrees_with_brute_force_on_random_histories() {
    let (mut good, mut bad, mut calls, mut steps) = (0u64, 0u64, 0usize, 0);
    let started = Instant::now();
    for seed in 0..HISTORIES {
        let bytes = bytes_from_seed(seed, 160);
        let (history, slack_ms) = random::history(&mut Draw::new(&bytes));
        let checked = check(&history, slack_ms);
        let tried = brute(&history, slack_ms);
        assert_eq!(
            checked.is_ok(),
            tried,
            "seed {seed}, slack {slack_ms}: brute force says {tried}, the checker {}",
            match &checked {
                Ok(_) => format!("ok\n{history:#?}"),
                Err(refusal) => refusal.explain(&history),
            }
        );
        calls += history.len();
        match checked {
            Ok(taken) => {
                good += 1;
                steps += taken;
            }
            Err(_) => bad += 1,
        }
    }
    println!(
        "{HISTORIES} histories ({calls} calls) in {:.1} s: {good} good ({:.1} steps each), {bad} bad",
        started.elapsed().as_secs_f64(),
        steps as f64 / good as f64,
    );
    // A cross-check against histories of one kind would prove little.
    assert!(good > HISTORIES / 4 && bad > HISTORIES / 4);
}
