//! Decides the same as [`check`](crate::check::check) by trying everything: every
//! order, every integer instant, every integer end of every window.
//!
//! Written to be obviously right rather than fast, and without the interval
//! reasoning of [`window`](crate::window), so that the two can only agree when
//! both are right. Only for a handful of calls and small numbers.

use std::collections::HashSet;

use crate::history::{Call, Claimed, Event, Marked, Settled, Token};

/// Tells whether the promise allows the history.
///
/// # Panics
///
/// If the history has more than 32 calls.
#[must_use]
pub fn brute(history: &[Call], slack_ms: i64) -> bool {
    assert!(history.len() <= 32, "brute force is for short histories");
    let mut granted = HashSet::new();
    if !history
        .iter()
        .filter_map(Call::granted)
        .all(|token| granted.insert(token))
    {
        return false;
    }
    let mut everything = Everything {
        history,
        slack_ms,
        failed: HashSet::new(),
    };
    everything.explains(0, i64::MIN, Id::Absent)
}

/// The id, at one instant, with nothing left open.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Id {
    Absent,
    Done { end_ms: i64 },
    Held { token: Option<Token>, end_ms: i64 },
}

struct Everything<'h> {
    history: &'h [Call],
    slack_ms: i64,
    failed: HashSet<(u32, i64, Id)>,
}

impl Everything<'_> {
    /// Can the calls outside `done` take effect from `now_ms` on?
    fn explains(&mut self, done: u32, now_ms: i64, id: Id) -> bool {
        if done.count_ones() as usize == self.history.len() {
            return true;
        }
        if self.failed.contains(&(done, now_ms, id)) {
            return false;
        }
        for (index, call) in self.history.iter().enumerate() {
            if done >> index & 1 == 1 || self.must_wait(done, index) {
                continue;
            }
            let done = done | 1 << index;
            if !call.is_certain() && self.explains(done, now_ms, id) {
                return true;
            }
            for t_ms in now_ms.max(call.from_ms)..=call.to_ms {
                for id in self.outcomes(call, t_ms, id) {
                    if self.explains(done, t_ms, id) {
                        return true;
                    }
                }
            }
        }
        self.failed.insert((done, now_ms, id));
        false
    }

    fn must_wait(&self, done: u32, index: usize) -> bool {
        let call = &self.history[index];
        self.history.iter().enumerate().any(|(other, earlier)| {
            done >> other & 1 == 0
                && (earlier.returned < call.invoked
                    || (earlier.thread == call.thread && other < index))
        })
    }

    /// Every id that `call`, taking effect at `t_ms`, may leave behind.
    fn outcomes(&self, call: &Call, t_ms: i64, id: Id) -> Vec<Id> {
        let (known, current) = match id {
            Id::Absent => (false, None),
            Id::Done { end_ms } => (t_ms < end_ms, None),
            Id::Held { token, end_ms } => (t_ms < end_ms, token),
        };
        let done = known && matches!(id, Id::Done { .. });
        let held = known && matches!(id, Id::Held { .. });
        // A reading w from the call's start to its effect, and up to the slack.
        let ends = |span_ms: i64| call.from_ms + span_ms..=t_ms + span_ms + self.slack_ms;
        let when = |holds: bool, then: Id| if holds { vec![then] } else { Vec::new() };
        match call.event {
            Event::Mark {
                answer: Some(Marked::Duplicate),
                ..
            } => when(known, id),
            Event::Mark { retention_ms, .. } if !known => ends(retention_ms)
                .map(|end_ms| Id::Done { end_ms })
                .collect(),
            Event::Mark { .. } => Vec::new(),
            Event::Claim {
                answer: Some(Claimed::InFlight),
                ..
            } => when(held, id),
            Event::Claim {
                answer: Some(Claimed::Duplicate),
                ..
            } => when(done, id),
            Event::Claim { lease_ms, .. } if !known => ends(lease_ms)
                .map(|end_ms| Id::Held {
                    token: call.granted(),
                    end_ms,
                })
                .collect(),
            Event::Claim { .. } => Vec::new(),
            Event::Complete {
                token,
                answer: Some(Settled::Lost),
                ..
            }
            | Event::Extend {
                token,
                answer: Some(Settled::Lost),
                ..
            } => {
                if current == Some(token) {
                    when(!held, Id::Absent)
                } else {
                    vec![id]
                }
            }
            Event::Complete {
                token,
                retention_ms,
                ..
            } if current == Some(token) => ends(retention_ms)
                .map(|end_ms| Id::Done { end_ms })
                .collect(),
            Event::Extend { token, by_ms, .. } if current == Some(token) => ends(by_ms)
                .map(|end_ms| match id {
                    Id::Held { end_ms: old_ms, .. } => Id::Held {
                        token: current,
                        end_ms: end_ms.max(old_ms),
                    },
                    _ => unreachable!("only a held id has a current token"),
                })
                .collect(),
            Event::Complete { .. } | Event::Extend { .. } => Vec::new(),
            Event::Release { token, .. } => {
                vec![if current == Some(token) {
                    Id::Absent
                } else {
                    id
                }]
            }
            Event::Forget {
                answer: Some(false),
            } => when(!done, id),
            Event::Forget { .. } => when(done, Id::Absent),
            Event::Contains { answer } => when(answer == known, id),
            Event::Clear { .. } => vec![if done { Id::Absent } else { id }],
        }
    }
}
