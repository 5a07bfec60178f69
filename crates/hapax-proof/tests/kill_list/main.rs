//! Does the checker refuse what it must refuse?
//!
//! Each entry is a bug that a set could have, told in two lines, with a history
//! that such a set would leave, and the nearest history that a right set could
//! leave: so it is the bug that is refused, and nothing else. Retention 20 ms,
//! lease 5 ms, resolution 1 ms: a window asked for at 0 ends between 20 and 23.

mod calls;
mod claims;
mod marks;

use hapax_proof::{
    brute::brute,
    check::{check, slack_ms},
    history::{Call, Claimed},
};

use calls::*;

fn kill_list() -> Vec<Kill> {
    let mut list = marks::bugs();
    list.extend(claims::bugs());
    list
}

#[test]
fn every_bug_on_the_list_is_refused_and_its_neighbour_allowed() {
    let slack_ms = slack_ms(1);
    for kill in kill_list() {
        let told = format!("{}: {}", kill.name, kill.story.join(" "));
        assert!(check(&kill.refused, slack_ms).is_err(), "missed: {told}");
        if let Err(refusal) = check(&kill.allowed, slack_ms) {
            panic!("false alarm: {told}\n{}", refusal.explain(&kill.allowed));
        }
    }
}

#[test]
fn brute_force_agrees_on_the_list() {
    let slack_ms = slack_ms(1);
    for kill in kill_list() {
        // Brute force would try every ms up to the end of time.
        let finite = |call: &Call| Call {
            to_ms: call.to_ms.min(30),
            ..*call
        };
        let refused: Vec<_> = kill.refused.iter().map(finite).collect();
        let allowed: Vec<_> = kill.allowed.iter().map(finite).collect();
        assert!(!brute(&refused, slack_ms), "missed: {}", kill.name);
        assert!(brute(&allowed, slack_ms), "false alarm: {}", kill.name);
    }
}

/// An earlier checker placed whatever left the state as it was, at once and for
/// good; a `complete` of unknown outcome that was placed before its claim could
/// then never take effect.
#[test]
fn unknown_outcome_is_not_placed_for_good() {
    let history = [
        call(2, (14, 33), (2, 6), claim_for(4, Some(Claimed::First(0)))),
        call(1, (17, 30), (0, 6), complete(0, None)),
        call(1, (31, 37), (0, 5), complete(0, LOST)),
        call(2, (33, 37), (1, 5), complete(0, LOST)),
    ];
    assert!(brute(&history, 3));
    assert!(check(&history, 3).is_ok());
}

/// A greedy rule (the earliest deadline first) and a bitmask of 64 open calls
/// both gave false alarms: a call can stay open past any number of others.
#[test]
fn call_that_outlasts_a_thousand_others_is_no_alarm() {
    let mut history = vec![call(1, (0, 1_000_000), (0, 1_000), FIRST)];
    history.extend((0..1_000).map(|n| {
        let stamp = 10 + 10 * n as u64;
        call(0, (stamp, stamp + 1), (n / 50, n / 50), UNKNOWN)
    }));
    history.push(call(0, (20_000, 20_001), (20, 20), DUPLICATE));
    let steps = check(&history, slack_ms(1)).expect("the long call is the last effect but one");
    assert!(steps < 4_000, "{steps} steps for 1002 calls");
}
