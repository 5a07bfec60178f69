//! What is known about the id after a chosen order of effects, in O(1).
//!
//! Once the order is fixed, every rule is a bound on a difference of two
//! instants: effects do not go back in time, a window ends at least its span
//! after its call began and at most span + slack after its call's effect, an
//! answer *duplicate* lies before the end, an answer *first* does not. So
//! everything that a prefix of the order says about the future is:
//!
//! - the earliest instant of the next effect (an effect can always be moved to
//!   the earliest instant that its own bounds allow; later ones lose nothing), and
//! - the phase of the id, with the interval in which the end of its one live
//!   window must lie. The upper bound of that interval sinks with every later
//!   effect: the window's own effect cannot have come after it.

use crate::history::{Call, Claimed, Event, Marked, Settled, Token};

/// What is known about the id after the effects placed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The earliest instant at which the next effect may take place, in ms.
    pub at_ms: i64,
    /// What the id is.
    pub phase: Phase,
}

/// What the id is, as far as the chosen order tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not known to the set.
    Absent,
    /// Processed; known until the end.
    Done(End),
    /// In flight under a lease (`None`: granted to a caller who never learned it).
    Held(Option<Token>, End),
    /// Its lease has ended for certain, but nobody has overtaken the holder: a
    /// late `complete` or `extend` may still succeed, and need not.
    Lapsed(Option<Token>),
}

/// The end of a window, between two bounds that are both possible, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    earliest_ms: i64,
    latest_ms: i64,
    span_ms: i64,
}

impl State {
    /// Starts with an id that nobody has marked.
    #[must_use]
    pub fn new() -> Self {
        Self {
            at_ms: i64::MIN / 4,
            phase: Phase::Absent,
        }
    }

    /// Collects every state in which `call` may leave the id if it takes effect
    /// next; none means that it cannot.
    ///
    /// `slack_ms` is how much longer than asked a window may last.
    pub fn after(self, call: &Call, slack_ms: i64, states: &mut Vec<State>) {
        if !call.is_certain() {
            // It never took effect.
            states.push(self);
        }
        let Some(at) = Effect::of(self, call, slack_ms) else {
            return;
        };
        match call.event {
            Event::Mark {
                retention_ms,
                answer,
            } => {
                if answer != Some(Marked::Duplicate) {
                    states.extend(at.open(Phase::Done, retention_ms));
                }
                if answer == Some(Marked::Duplicate) {
                    states.extend(at.seen_done());
                    states.extend(at.seen_held());
                }
            }
            Event::Claim { lease_ms, answer } => match answer {
                None => states.extend(at.open(|end| Phase::Held(None, end), lease_ms)),
                Some(Claimed::First(token)) => {
                    states.extend(at.open(|end| Phase::Held(Some(token), end), lease_ms));
                }
                Some(Claimed::InFlight) => states.extend(at.seen_held()),
                Some(Claimed::Duplicate) => states.extend(at.seen_done()),
            },
            Event::Complete {
                token,
                retention_ms,
                answer,
            } => {
                if answer != Some(Settled::Lost) && at.is_current(token) {
                    states.push(at.now(Phase::Done(at.end(retention_ms))));
                }
                if answer == Some(Settled::Lost) {
                    states.extend(at.lost(token));
                }
            }
            Event::Extend {
                token,
                by_ms,
                answer,
            } => {
                if answer != Some(Settled::Lost) {
                    at.extend(token, by_ms, states);
                }
                if answer == Some(Settled::Lost) {
                    states.extend(at.lost(token));
                }
            }
            Event::Release { token, .. } => {
                // Without a result: an overtaken holder changes nothing.
                states.push(at.now(if at.is_current(token) {
                    Phase::Absent
                } else {
                    at.phase
                }));
            }
            Event::Forget { answer } => {
                if answer != Some(false)
                    && let Some(state) = at.seen_done()
                {
                    states.push(State {
                        phase: Phase::Absent,
                        ..state
                    });
                }
                if answer == Some(false) {
                    match at.phase {
                        // In flight: `forget` is without effect, and says so.
                        Phase::Held(..) => states.push(at.now(at.phase)),
                        _ => states.extend(at.seen_absent()),
                    }
                }
            }
            Event::Contains { answer: true } => {
                states.extend(at.seen_done());
                states.extend(at.seen_held());
            }
            Event::Contains { answer: false } => states.extend(at.seen_absent()),
            Event::Clear { .. } => states.push(at.now(match at.phase {
                Phase::Done(_) => Phase::Absent,
                other => other,
            })),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

/// A call that takes effect now, and the id as it finds it.
struct Effect {
    /// The earliest instant of the effect.
    at_ms: i64,
    from_ms: i64,
    to_ms: i64,
    slack_ms: i64,
    phase: Phase,
}

impl Effect {
    fn of(state: State, call: &Call, slack_ms: i64) -> Option<Self> {
        let at_ms = state.at_ms.max(call.from_ms);
        let phase = match state.phase {
            Phase::Done(end) => Phase::Done(end.begun_by(call.to_ms, slack_ms)?),
            Phase::Held(token, end) => Phase::Held(token, end.begun_by(call.to_ms, slack_ms)?),
            closed => closed,
        };
        (at_ms <= call.to_ms).then_some(Self {
            at_ms,
            from_ms: call.from_ms,
            to_ms: call.to_ms,
            slack_ms,
            phase,
        })
    }

    fn now(&self, phase: Phase) -> State {
        State {
            at_ms: self.at_ms,
            phase,
        }
    }

    /// The end of a window that this effect opens.
    fn end(&self, span_ms: i64) -> End {
        End {
            earliest_ms: self.from_ms + span_ms,
            latest_ms: self.to_ms + span_ms + self.slack_ms,
            span_ms,
        }
    }

    /// The id is absent, and this effect makes it what `phase` says.
    fn open(&self, phase: impl FnOnce(End) -> Phase, span_ms: i64) -> Option<State> {
        let absent = self.seen_absent()?;
        Some(State {
            phase: phase(self.end(span_ms)),
            ..absent
        })
    }

    /// The id is absent: it never was there, or its window's end is not after
    /// the effect.
    fn seen_absent(&self) -> Option<State> {
        let (end, phase) = match self.phase {
            Phase::Absent | Phase::Lapsed(_) => return Some(self.now(self.phase)),
            Phase::Done(end) => (end, Phase::Absent),
            Phase::Held(token, end) => (end, Phase::Lapsed(token)),
        };
        let at_ms = self.at_ms.max(end.earliest_ms);
        (at_ms <= self.to_ms).then_some(State { at_ms, phase })
    }

    fn seen_done(&self) -> Option<State> {
        let Phase::Done(end) = self.phase else {
            return None;
        };
        Some(self.now(Phase::Done(end.after(self.at_ms)?)))
    }

    fn seen_held(&self) -> Option<State> {
        let Phase::Held(token, end) = self.phase else {
            return None;
        };
        Some(self.now(Phase::Held(token, end.after(self.at_ms)?)))
    }

    fn is_current(&self, token: Token) -> bool {
        matches!(self.phase, Phase::Held(held, _) | Phase::Lapsed(held) if held == Some(token))
    }

    /// The holder of `token` is told that he has lost it: he was overtaken, or
    /// his lease has ended. It is lost for good.
    fn lost(&self, token: Token) -> Option<State> {
        if !self.is_current(token) {
            return Some(self.now(self.phase));
        }
        self.seen_absent().map(|state| State {
            phase: Phase::Absent,
            ..state
        })
    }

    /// The lease ends at the later of its old end and `by_ms` from now.
    fn extend(&self, token: Token, by_ms: i64, states: &mut Vec<State>) {
        if !self.is_current(token) {
            return;
        }
        let asked = self.end(by_ms);
        let Phase::Held(holder, old) = self.phase else {
            states.push(self.now(Phase::Held(Some(token), asked)));
            return;
        };
        let earliest_ms = old.earliest_ms.max(asked.earliest_ms);
        // The new end is the later one, so it is not before the old one.
        if earliest_ms <= asked.latest_ms {
            states.push(self.now(Phase::Held(
                holder,
                End {
                    earliest_ms,
                    ..asked
                },
            )));
        }
        // The old end is the later one: impossible to tell apart from the above
        // unless the old span was longer.
        if old.span_ms > by_ms && earliest_ms <= old.latest_ms {
            states.push(self.now(Phase::Held(holder, End { earliest_ms, ..old })));
        }
    }
}

impl End {
    /// The window's own effect was not after `to_ms`, so its end is bounded.
    fn begun_by(self, to_ms: i64, slack_ms: i64) -> Option<Self> {
        let latest_ms = self.latest_ms.min(to_ms + self.span_ms + slack_ms);
        (self.earliest_ms <= latest_ms).then_some(Self { latest_ms, ..self })
    }

    /// The window was still open at `at_ms`.
    fn after(self, at_ms: i64) -> Option<Self> {
        let earliest_ms = self.earliest_ms.max(at_ms + 1);
        (earliest_ms <= self.latest_ms).then_some(Self {
            earliest_ms,
            ..self
        })
    }
}
