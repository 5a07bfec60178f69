//! The bodies of the fuzz targets; `tests/replay.rs` feeds them the seeds.

use crate::{
    brute::brute,
    check::check,
    draw::Draw,
    exactness::EXACTNESS,
    limit::Limit,
    oracle::{compare, compare_at_limit},
    plan::{Plan, Theme},
    planted::Bug,
    random,
    script::Script,
};

/// A target by its name.
pub type Target = fn(&[u8]);

/// Every target of this crate.
pub const ALL: [(&str, Target); 4] = [
    ("ops", ops),
    ("checker", checker),
    ("concurrent", concurrent),
    ("claims", claims),
];

/// Compares one thread's calls with the naive map, without a limit and with the
/// one that the last bytes name.
///
/// # Panics
///
/// At the first difference.
pub fn ops(bytes: &[u8]) {
    let script = Script::draw(&mut Draw::new(bytes));
    if let Err(difference) = compare(&script, EXACTNESS) {
        panic!("{difference}\n{script}");
    }
    let limit = Limit::at_the_end_of(bytes);
    if let Err(difference) = compare_at_limit(&script, limit, EXACTNESS) {
        panic!("{limit:?}: {difference}\n{script}");
    }
}

/// Compares the checker with brute force.
///
/// # Panics
///
/// If they disagree.
pub fn checker(bytes: &[u8]) {
    let (history, slack_ms) = random::history(&mut Draw::new(bytes));
    let checked = check(&history, slack_ms);
    let tried = brute(&history, slack_ms);
    assert_eq!(checked.is_ok(), tried, "{checked:?}\n{history:#?}");
}

/// Marks against expiry, forgetting and growth, in an interleaving that the
/// bytes choose.
///
/// # Panics
///
/// If a history breaks a promise.
pub fn concurrent(bytes: &[u8]) {
    interleaved(bytes, Theme::Marks, None);
}

/// Claims against expiry, late holders and new claims, in an interleaving that
/// the bytes choose.
///
/// # Panics
///
/// If a history breaks a promise.
pub fn claims(bytes: &[u8]) {
    interleaved(bytes, Theme::Claims, None);
}

/// Runs the plan in the bytes, in the interleaving in the bytes: between any two
/// atomic operations under `cfg(hapax_shuttle)`, between any two calls otherwise.
///
/// # Panics
///
/// If a history breaks a promise.
pub fn interleaved(bytes: &[u8], theme: Theme, bug: Option<Bug>) {
    let mut draw = Draw::new(bytes);
    let plan = Plan::draw(&mut draw, theme);
    #[cfg(hapax_shuttle)]
    crate::schedule::run(
        &plan,
        crate::schedule::Chooser::Bytes(draw.rest().to_vec()),
        bug,
    );
    #[cfg(not(hapax_shuttle))]
    if let Err(refused) = crate::interleave::run(&plan, &mut draw, bug) {
        panic!("{refused}\n{plan:#?}");
    }
}
