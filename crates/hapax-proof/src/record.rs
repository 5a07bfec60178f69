//! Performs the steps of a plan on a set and writes down what was seen.

use std::{collections::BTreeMap, time::Duration};

use hapax::{Claim, Clock, ManualClock};

use crate::{
    check::check,
    exactness::EXACTNESS,
    history::{Call, Claimed, Event, Marked, Settled, Token},
    plan::{HOT_IDS, Plan, Step},
    planted::{Holder, Subject},
    script::{Shape, Span},
    watchdog::begin_call,
};

/// The clock of a plan: the set reads it, steps move it.
pub trait Moving: Clock + Clone + 'static {
    /// Moves the clock on.
    fn move_on(&self, by_ms: u64);
}

impl Moving for ManualClock {
    fn move_on(&self, by_ms: u64) {
        self.advance(Duration::from_millis(by_ms));
    }
}

/// A source of real-time stamps: what a stamp before a call and one after it say
/// must be true, and taking one should order nothing that the set relies on.
pub type Stamp = fn() -> u64;

/// What the threads of one run saw, id by id.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    calls: BTreeMap<u64, Vec<Call>>,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Histories, each of one id.
    pub histories: u64,
    /// Calls in them.
    pub calls: u64,
    /// Steps of the checker.
    pub steps: u64,
    /// Windows and leases that were opened.
    pub first: u64,
}

impl Checked {
    /// Adds what another run checked.
    pub fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.calls += other.calls;
        self.steps += other.steps;
        self.first += other.first;
    }
}

impl Histories {
    /// Adds what one thread saw.
    pub fn add(&mut self, log: Log) {
        for (id, call) in log.calls {
            self.calls.entry(id).or_default().push(call);
        }
    }

    /// Checks the history of every id, without any slack: on a clock that stands
    /// still between two steps a window's end is exact.
    ///
    /// # Errors
    ///
    /// The first history that breaks a promise, explained.
    pub fn check(&self) -> Result<Checked, String> {
        let mut checked = Checked::default();
        for (id, history) in &self.calls {
            checked.steps += check(history, 0)
                .map_err(|refusal| format!("id {id}: {}", refusal.explain(history)))?;
            checked.histories += 1;
            checked.calls += history.len() as u64;
            checked.first += history.iter().filter(|call| is_first(call)).count() as u64;
        }
        Ok(checked)
    }
}

fn is_first(call: &Call) -> bool {
    let marked = matches!(call.event, Event::Mark { answer, .. } if answer == Some(Marked::First));
    marked || call.granted().is_some()
}

/// What one thread saw, in its order.
#[derive(Clone, Debug, Default)]
pub struct Log {
    calls: Vec<(u64, Call)>,
}

/// One thread of a plan, with the leases that it holds.
pub struct Actor<'s, C: Moving> {
    thread: u32,
    subject: &'s Subject<C>,
    clock: &'s C,
    shape: Shape,
    stamp: Stamp,
    leases: Vec<(Token, Holder<'s, C>)>,
    tokens: Token,
    filled: u64,
    log: Log,
}

/// The stamp and the clock reading before a call.
struct Before {
    stamp: u64,
    clock_ms: i64,
}

impl<'s, C: Moving> Actor<'s, C> {
    /// Prepares a thread; `thread` is below 4095.
    #[must_use]
    pub fn new(
        thread: u32,
        subject: &'s Subject<C>,
        clock: &'s C,
        shape: Shape,
        stamp: Stamp,
    ) -> Self {
        Self {
            thread,
            subject,
            clock,
            shape,
            stamp,
            leases: Vec::new(),
            tokens: thread << 20,
            filled: 0,
            log: Log::default(),
        }
    }

    /// Ends the thread: releases its leases and returns what it saw.
    #[must_use]
    pub fn finish(mut self) -> Log {
        while !self.leases.is_empty() {
            self.step(Step::Release);
        }
        self.log
    }

    /// Performs one step and records it.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Mark(id) => self.mark(id),
            Step::MarkFor(id, span) => self.mark_for(id, span),
            Step::Fill(ids) => {
                for _ in 0..ids {
                    self.filled += 1;
                    self.mark(u64::from(self.thread + 1) << 20 | self.filled);
                }
            }
            Step::Claim(id, span) => self.claim(id, span),
            Step::Complete => self.complete(None),
            Step::CompleteFor(span) => self.complete(Some(self.span_ms(span))),
            Step::Release => {
                if let Some((token, holder)) = self.leases.pop() {
                    let id = holder.id();
                    let before = self.before();
                    holder.release();
                    let certain = true;
                    self.record(id, &before, Event::Release { token, certain });
                }
            }
            Step::Extend(span) => self.extend(span),
            Step::Abandon => {
                if !self.leases.is_empty() {
                    self.leases.remove(0).1.abandon();
                }
            }
            Step::Contains(id) => {
                let before = self.before();
                let answer = self.subject.contains(id);
                self.record(id, &before, Event::Contains { answer });
            }
            Step::Forget(id) => {
                let before = self.before();
                let answer = Some(self.subject.forget(id));
                self.record(id, &before, Event::Forget { answer });
            }
            Step::Clear => {
                let before = self.before();
                self.subject.clear();
                // One instant for each id; ids used once are not looked for again.
                for id in HOT_IDS {
                    self.record(id, &before, Event::Clear { certain: true });
                    if !EXACTNESS.clears_once {
                        self.record_again(Event::Clear { certain: false });
                    }
                }
            }
            Step::Tick => self.subject.tick(),
            Step::Advance(span) => self.clock.move_on(self.shape.ms(span)),
        }
    }

    fn mark(&mut self, id: u64) {
        let before = self.before();
        let first = self.subject.mark(id);
        self.marked(id, &before, self.shape.retention_ms, first);
    }

    fn mark_for(&mut self, id: u64, span: Span) {
        let retention_ms = self.span_ms(span);
        let before = self.before();
        let first = self.subject.mark_for(id, retention_ms);
        self.marked(id, &before, retention_ms, first);
    }

    fn marked(&mut self, id: u64, before: &Before, retention_ms: u64, first: bool) {
        let answer = Some(if first {
            Marked::First
        } else {
            Marked::Duplicate
        });
        let event = Event::Mark {
            retention_ms: window_ms(retention_ms),
            answer,
        };
        self.record(id, before, event);
    }

    fn claim(&mut self, id: u64, span: Span) {
        let lease_ms = self.span_ms(span);
        let before = self.before();
        let Ok(claim) = self.subject.claim(id, lease_ms) else {
            return;
        };
        let answer = Some(match claim {
            Claim::First(holder) => {
                self.tokens += 1;
                self.leases.push((self.tokens, holder));
                Claimed::First(self.tokens)
            }
            Claim::InFlight { .. } => Claimed::InFlight,
            Claim::Duplicate => Claimed::Duplicate,
        });
        let lease_ms = window_ms(lease_ms);
        self.record(id, &before, Event::Claim { lease_ms, answer });
    }

    fn complete(&mut self, retention_ms: Option<u64>) {
        if self.leases.is_empty() {
            return;
        }
        let (token, holder) = self.leases.remove(0);
        let id = holder.id();
        let before = self.before();
        let done = holder.complete(retention_ms);
        let event = Event::Complete {
            token,
            retention_ms: window_ms(retention_ms.unwrap_or(self.shape.retention_ms)),
            answer: settled(done),
        };
        self.record(id, &before, event);
    }

    fn extend(&mut self, span: Span) {
        let by_ms = self.span_ms(span);
        let before = self.before();
        let Some((token, holder)) = self.leases.first_mut() else {
            return;
        };
        let (token, id) = (*token, holder.id());
        let answer = settled(holder.extend(by_ms));
        let by_ms = window_ms(by_ms);
        let event = Event::Extend {
            token,
            by_ms,
            answer,
        };
        self.record(id, &before, event);
    }

    /// A span that needs no clamping: 1 ms to the retention.
    fn span_ms(&self, span: Span) -> u64 {
        self.shape.ms(span).clamp(1, self.shape.retention_ms)
    }

    fn before(&self) -> Before {
        begin_call();
        Before {
            stamp: (self.stamp)(),
            clock_ms: reading_ms(self.clock),
        }
    }

    fn record(&mut self, id: u64, before: &Before, event: Event) {
        let to_ms = reading_ms(self.clock);
        let call = Call {
            thread: self.thread,
            invoked: before.stamp,
            returned: (self.stamp)(),
            from_ms: before.clock_ms,
            to_ms,
            event,
        };
        self.log.calls.push((id, call));
    }

    /// Records the last call once more, as one that may have happened too.
    fn record_again(&mut self, event: Event) {
        if let Some(&(id, last)) = self.log.calls.last() {
            let thread = self.thread | AGAIN;
            let again = Call {
                thread,
                event,
                ..last
            };
            self.log.calls.push((id, again));
        }
    }
}

/// Added to a thread's number: the same thread's calls as they may have taken
/// effect once more.
const AGAIN: u32 = 1 << 16;

/// How long a window lasts for which `span_ms` was asked.
fn window_ms(span_ms: u64) -> i64 {
    (span_ms + EXACTNESS.extra_ms) as i64
}

fn settled(done: bool) -> Option<Settled> {
    Some(if done { Settled::Done } else { Settled::Lost })
}

fn reading_ms(clock: &impl Clock) -> i64 {
    clock.now().as_millis() as i64
}

/// Before any thread starts: fills the home of the hot ids, every second time for
/// half the retention, so that room comes back while the plan runs.
pub fn crowd<C: Moving>(plan: &Plan, subject: &Subject<C>) {
    begin_call();
    for n in 0..u64::from(plan.crowd) {
        let ms = plan.shape.retention_ms >> (n % 2);
        let first = subject.mark_for(2 * (HOT_IDS.len() as u64 + 1 + n), ms);
        assert!(first, "the crowd is new to the set");
    }
}

/// After all threads have ended: what is left must be what their answers imply,
/// be over in time, and be accounted for.
///
/// # Errors
///
/// A *first* that the set's books do not account for.
pub fn aftermath<C: Moving>(
    plan: &Plan,
    subject: &Subject<C>,
    clock: &C,
    stamp: Stamp,
) -> Result<Log, String> {
    let thread = plan.threads.len() as u32;
    let mut last = Actor::new(thread, subject, clock, plan.shape, stamp);
    for id in HOT_IDS {
        last.step(Step::Contains(id));
        last.step(Step::Mark(id));
        last.step(Step::Mark(id));
    }
    last.step(Step::Tick);
    last.step(Step::Advance(Span::Retention(4)));
    for id in HOT_IDS {
        last.step(Step::Contains(id));
    }
    last.step(Step::Tick);
    let stats = subject.stats();
    if stats.refused + stats.unrecorded + stats.forgotten_early > 0 {
        return Err(format!("the set had no limit and was full: {stats:?}"));
    }
    crate::oracle::accounted(&stats)?;
    Ok(last.finish())
}
