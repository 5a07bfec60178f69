//! Random small histories, good and bad, for checking the checker.
//!
//! A history is made by playing a naive set in some order with effects at random
//! instants, and drawing an interval around each: that is a good one. Then, about
//! every second time, an answer or an interval is changed: mostly a bad one.

use crate::{
    draw::Draw,
    history::{Call, Claimed, Event, Marked, Settled, Token},
};

/// Draws a history of at most six calls of at most three threads, and the slack
/// (0 to 3 ms) that goes with it.
#[must_use]
pub fn history(draw: &mut Draw<'_>) -> (Vec<Call>, i64) {
    let slack_ms = i64::from(draw.pick(&[0u8, 1, 3, 0]));
    let mut play = Play::new(slack_ms);
    let calls = 2 + draw.below(5);
    for _ in 0..calls {
        play.call(draw);
    }
    let mut history = play.history;
    if draw.chance(5, 8) {
        for _ in 0..=draw.below(2) {
            corrupt(&mut history, draw);
        }
    }
    (history, slack_ms)
}

#[derive(Clone, Copy)]
enum Id {
    Absent,
    Done { end_ms: i64 },
    Held { token: Option<Token>, end_ms: i64 },
}

struct Play {
    id: Id,
    now_ms: i64,
    /// Distance between the stamps of two effects, so that intervals overlap.
    stamp: u64,
    slack_ms: i64,
    /// Stamp after the last call of each thread.
    free_at: [u64; 3],
    tokens: Token,
    history: Vec<Call>,
}

impl Play {
    fn new(slack_ms: i64) -> Self {
        Self {
            id: Id::Absent,
            now_ms: 3,
            stamp: 20,
            slack_ms,
            free_at: [0; 3],
            tokens: 0,
            history: Vec::new(),
        }
    }

    fn call(&mut self, draw: &mut Draw<'_>) {
        self.stamp += 4;
        self.now_ms += i64::from(draw.pick(&[0u8, 0, 1, 1, 2, 4]));
        let thread = draw.below(3);
        let (before, behind) = (draw.below(12), draw.below(12));
        let (early_ms, late_ms) = (draw.below(4), draw.below(4));
        let span_ms = i64::from(1 + draw.below(5));
        let reading_ms = self.now_ms - i64::from(draw.below(u16::from(early_ms) + 1));
        let end_ms = reading_ms + span_ms + i64::from(draw.below(self.slack_ms as u16 + 1));
        let token = Token::from(draw.below(u16::try_from(self.tokens).unwrap_or(255) + 1));
        let event = match draw.below(14) {
            0..=2 => self.mark(span_ms, end_ms),
            3..=6 => self.claim(span_ms, end_ms),
            7 | 8 => self.complete(token, span_ms, end_ms, draw),
            9 => self.extend(token, span_ms, end_ms, draw),
            10 => self.release(token),
            11 => self.forget(),
            12 => Event::Contains {
                answer: self.known(),
            },
            _ => self.clear(),
        };
        let free_at = &mut self.free_at[usize::from(thread)];
        let invoked = (self.stamp - u64::from(before)).max(*free_at);
        let returned = (self.stamp + u64::from(behind)).max(invoked);
        *free_at = returned;
        let mut call = Call {
            thread: u32::from(thread),
            invoked,
            returned,
            from_ms: self.now_ms - i64::from(early_ms),
            to_ms: self.now_ms + i64::from(late_ms),
            event,
        };
        if draw.chance(1, 10) {
            forget_answer(&mut call);
        }
        self.history.push(call);
    }

    fn known(&self) -> bool {
        match self.id {
            Id::Absent => false,
            Id::Done { end_ms } | Id::Held { end_ms, .. } => self.now_ms < end_ms,
        }
    }

    fn is_held_by(&self, token: Token) -> bool {
        matches!(self.id, Id::Held { token: held, .. } if held == Some(token))
    }

    fn mark(&mut self, retention_ms: i64, end_ms: i64) -> Event {
        let answer = Some(if self.known() {
            Marked::Duplicate
        } else {
            self.id = Id::Done { end_ms };
            Marked::First
        });
        Event::Mark {
            retention_ms,
            answer,
        }
    }

    fn claim(&mut self, lease_ms: i64, end_ms: i64) -> Event {
        let answer = Some(match self.id {
            Id::Done { .. } if self.known() => Claimed::Duplicate,
            Id::Held { .. } if self.known() => Claimed::InFlight,
            _ => {
                let token = self.tokens;
                self.tokens += 1;
                self.id = Id::Held {
                    token: Some(token),
                    end_ms,
                };
                Claimed::First(token)
            }
        });
        Event::Claim { lease_ms, answer }
    }

    /// A late holder may be refused although nobody has overtaken him.
    fn settles(&mut self, token: Token, draw: &mut Draw<'_>) -> Settled {
        if !self.is_held_by(token) {
            return Settled::Lost;
        }
        if !self.known() && draw.chance(1, 2) {
            self.id = Id::Absent;
            return Settled::Lost;
        }
        Settled::Done
    }

    fn complete(
        &mut self,
        token: Token,
        retention_ms: i64,
        end_ms: i64,
        draw: &mut Draw<'_>,
    ) -> Event {
        let answer = self.settles(token, draw);
        if answer == Settled::Done {
            self.id = Id::Done { end_ms };
        }
        Event::Complete {
            token,
            retention_ms,
            answer: Some(answer),
        }
    }

    fn extend(&mut self, token: Token, by_ms: i64, end_ms: i64, draw: &mut Draw<'_>) -> Event {
        let answer = self.settles(token, draw);
        if let (Settled::Done, Id::Held { end_ms: old_ms, .. }) = (answer, self.id) {
            self.id = Id::Held {
                token: Some(token),
                end_ms: old_ms.max(end_ms),
            };
        }
        Event::Extend {
            token,
            by_ms,
            answer: Some(answer),
        }
    }

    fn release(&mut self, token: Token) -> Event {
        if self.is_held_by(token) {
            self.id = Id::Absent;
        }
        Event::Release {
            token,
            certain: true,
        }
    }

    fn forget(&mut self) -> Event {
        let done = self.known() && matches!(self.id, Id::Done { .. });
        if done {
            self.id = Id::Absent;
        }
        Event::Forget { answer: Some(done) }
    }

    fn clear(&mut self) -> Event {
        if matches!(self.id, Id::Done { .. }) {
            self.id = Id::Absent;
        }
        Event::Clear { certain: true }
    }
}

fn forget_answer(call: &mut Call) {
    match &mut call.event {
        Event::Mark { answer, .. } => *answer = None,
        Event::Claim { answer, .. } => *answer = None,
        Event::Complete { answer, .. } | Event::Extend { answer, .. } => *answer = None,
        Event::Forget { answer } => *answer = None,
        Event::Release { certain, .. } | Event::Clear { certain } => *certain = false,
        Event::Contains { .. } => {}
    }
}

fn corrupt(history: &mut [Call], draw: &mut Draw<'_>) {
    let fresh = 1 + history.iter().filter_map(Call::granted).max().unwrap_or(0);
    let index = usize::from(draw.below(history.len() as u16));
    let call = &mut history[index];
    match draw.below(10) {
        0 => {
            let moved_ms = i64::from(draw.below(5)) - 2;
            call.from_ms += moved_ms;
            call.to_ms += moved_ms;
        }
        1 => call.to_ms = call.from_ms,
        2 => {
            // Stands alone in real time: ordered against everything.
            call.invoked = call.invoked.midpoint(call.returned);
            call.returned = call.invoked;
        }
        _ => contradict(call, fresh, draw),
    }
}

/// Gives a different answer.
fn contradict(call: &mut Call, fresh: Token, draw: &mut Draw<'_>) {
    match &mut call.event {
        Event::Mark { answer, .. } => {
            *answer = match answer {
                Some(Marked::First) => Some(Marked::Duplicate),
                _ => Some(Marked::First),
            };
        }
        Event::Claim { answer, .. } => {
            let other = draw.pick(&[
                Claimed::InFlight,
                Claimed::Duplicate,
                Claimed::First(fresh),
                Claimed::First(0),
            ]);
            *answer = Some(other);
        }
        Event::Complete { answer, .. } | Event::Extend { answer, .. } => {
            *answer = match answer {
                Some(Settled::Done) => Some(Settled::Lost),
                _ => Some(Settled::Done),
            };
        }
        Event::Forget { answer } => *answer = Some(*answer != Some(true)),
        Event::Contains { answer } => *answer = !*answer,
        Event::Release { token, .. } => *token = token.wrapping_add(1),
        Event::Clear { .. } => {
            call.event = Event::Contains {
                answer: draw.chance(1, 2),
            };
        }
    }
}
