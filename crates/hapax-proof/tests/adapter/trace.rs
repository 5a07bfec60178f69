//! What was seen of each request from outside the layer, as calls on its id.
//!
//! A handler that started had won its claim by then. An answer tells how the claim
//! ended, and the claim was settled between the handler's end and the answer. A sender
//! that hung up has no answer: its claim was settled before the drain returned, as far
//! as is known.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use hapax::Clock;
use hapax_axum::{Ending, Reason};
use hapax_proof::{
    check::check,
    exactness::EXACTNESS,
    history::{Call, Claimed, Event, Settled},
    schedule::ScheduledClock,
};

use crate::plan::{End, IDS, Plan, Sent};

/// A point in real time and on the set's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    stamp: u64,
    ms: i64,
}

/// All calls of one run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: ScheduledClock,
    pub(crate) plan: Arc<Plan>,
    stamps: AtomicU64,
    calls: Mutex<[Vec<Call>; IDS]>,
}

/// One request, while it is on its way.
#[derive(Debug)]
pub(crate) struct Trace {
    /// Names the request, and its line in each history.
    pub(crate) name: u32,
    pub(crate) sent: Sent,
    began: Moment,
    inside: Mutex<Inside>,
}

/// What the handler wrote down.
#[derive(Clone, Debug, Default)]
struct Inside {
    /// When it started, and with which of the ids.
    started: Option<(Moment, Vec<usize>)>,
    ended: Option<(Moment, Ended)>,
}

/// How a handler's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    As(End),
    /// Its future was dropped.
    Dropped,
}

impl World {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            clock: ScheduledClock::default(),
            plan: Arc::clone(plan),
            stamps: AtomicU64::new(0),
            calls: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        let ms = self.clock.now().as_millis() as i64;
        // Relaxed: one thread at a time runs; the number itself is the order.
        let stamp = self.stamps.fetch_add(1, Ordering::Relaxed);
        Moment { stamp, ms }
    }

    /// Adds a call on the id that lies between two moments.
    pub(crate) fn note(&self, id: usize, thread: u32, from: Moment, to: Moment, event: Event) {
        let call = Call {
            thread,
            invoked: from.stamp,
            returned: to.stamp,
            from_ms: from.ms,
            to_ms: to.ms,
            event,
        };
        self.calls.lock().expect("no panic inside")[id].push(call);
    }

    /// Checks the history of each id.
    pub(crate) fn check(&self) {
        let mut calls = self.calls.lock().expect("no panic inside");
        for (id, history) in calls.iter_mut().enumerate() {
            // What a claim became may have been noted before the claim.
            history.sort_by_key(|call| call.invoked);
            if let Err(refusal) = check(history, 0) {
                panic!("id {id}: {}", refusal.explain(history));
            }
        }
    }

    /// The event of a claim.
    pub(crate) fn claim(&self, answer: Claimed) -> Event {
        Event::Claim {
            lease_ms: window(self.plan.lease_ms),
            answer: Some(answer),
        }
    }

    /// The event of a completion.
    pub(crate) fn complete(&self, token: u32, answer: Option<Settled>) -> Event {
        Event::Complete {
            token,
            retention_ms: window(self.plan.retention_ms),
            answer,
        }
    }

    /// The event of an extension.
    pub(crate) fn extend(&self, token: u32, answer: Settled) -> Event {
        Event::Extend {
            token,
            by_ms: window(self.plan.lease_ms),
            answer: Some(answer),
        }
    }
}

pub(crate) fn release(token: u32) -> Event {
    let certain = true;
    Event::Release { token, certain }
}

/// How long a window lasts for which `span_ms` was asked.
fn window(span_ms: u64) -> i64 {
    (span_ms + EXACTNESS.extra_ms) as i64
}

impl Trace {
    pub(crate) fn new(name: u32, sent: Sent, world: &World) -> Arc<Self> {
        Arc::new(Self {
            name,
            sent,
            began: world.now(),
            inside: Mutex::default(),
        })
    }

    pub(crate) fn start(&self, at: Moment, with: Vec<usize>) {
        let mut inside = self.inside.lock().expect("no panic inside");
        assert!(inside.started.is_none(), "a handler starts once");
        inside.started = Some((at, with));
    }

    /// Notes the handler's end; only the first one counts.
    pub(crate) fn end(&self, at: impl FnOnce() -> Moment, how: Ended) {
        if self.inside().ended.is_none() {
            let at = at();
            self.inside.lock().expect("no panic inside").ended = Some((at, how));
        }
    }

    /// Counts the claims that the handler knows to be won.
    pub(crate) fn won(&self) -> u64 {
        self.inside().started.map_or(0, |(_, ids)| ids.len() as u64)
    }

    fn inside(&self) -> Inside {
        self.inside.lock().expect("no panic inside").clone()
    }

    /// Writes down what the request's answer tells, or what its absence leaves open:
    /// all was settled by `last`.
    pub(crate) fn conclude(&self, world: &World, answer: Option<(Ending, Moment)>, last: Moment) {
        let at = answer.map_or(last, |(_, at)| at);
        let answer = answer.map(|(ending, _)| ending);
        let inside = self.inside();
        for &id in self.sent.ids {
            match &inside.started {
                Some((started, with)) if with.contains(&id) => {
                    let ended = inside.ended.expect("what started has ended by now");
                    self.conclude_first(world, id, *started, ended, answer, at);
                }
                started => self.conclude_copy(world, id, started.is_some(), answer, at),
            }
        }
    }

    /// The handler was called for this id.
    fn conclude_first(
        &self,
        world: &World,
        id: usize,
        started: Moment,
        (ended, how): (Moment, Ended),
        answer: Option<Ending>,
        at: Moment,
    ) {
        let token = token(self.name, id);
        let first = world.claim(Claimed::First(token));
        world.note(id, self.name, self.began, started, first);
        let accepted = match how {
            Ended::As(End::Accepts) => true,
            // The first of those that it got.
            Ended::As(End::FailsOne) => self.inside().started.is_some_and(|s| s.1[0] != id),
            // Its holder writes down the rest.
            Ended::As(End::HandsOver(_)) => {
                assert!(matches!(answer, None | Some(Ending::HandedOver)));
                return;
            }
            _ => false,
        };
        let alone = self.sent.ids.len() == 1;
        let event = match answer {
            Some(Ending::Completed) if accepted => world.complete(token, Some(Settled::Done)),
            Some(Ending::Lost) if accepted && alone => world.complete(token, Some(Settled::Lost)),
            // The answer does not tell, or is about the whole batch.
            _ if accepted && (answer.is_none() || !alone) => world.complete(token, None),
            None | Some(Ending::Released) if !accepted => release(token),
            answer => panic!("{answer:?} after a handler that ended so: {how:?}"),
        };
        world.note(id, self.name, ended, at, event);
    }

    /// The handler was not called for this id.
    fn conclude_copy(
        &self,
        world: &World,
        id: usize,
        ran: bool,
        answer: Option<Ending>,
        at: Moment,
    ) {
        let known = !ran && self.sent.ids.len() == 1;
        let claimed = match answer {
            Some(Ending::Duplicate) if !ran => Claimed::Duplicate,
            Some(Ending::InFlight) if known => Claimed::InFlight,
            // All of the batch is done now.
            Some(Ending::Completed) if ran => Claimed::Duplicate,
            // The endpoint closed between the claim and the handler.
            Some(Ending::Released) if known => {
                let token = token(self.name, id);
                let first = world.claim(Claimed::First(token));
                world.note(id, self.name, self.began, at, first);
                world.note(id, self.name, at, at, release(token));
                return;
            }
            Some(Ending::Rejected(Reason::Draining)) | None => return,
            // One answer for a batch does not tell of each.
            _ if !known => return,
            answer => panic!("{answer:?} without a handler"),
        };
        world.note(id, self.name, self.began, at, world.claim(claimed));
    }
}

/// Names the claim that a request won on one of its ids.
pub(crate) fn token(name: u32, id: usize) -> u32 {
    name * IDS as u32 + id as u32
}
