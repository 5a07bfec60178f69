//! The words in which the list is written.

use hapax_proof::history::{Call, Claimed, Event, Marked, Settled, Token};

/// A bug that a set could have.
pub(crate) struct Kill {
    pub(crate) name: &'static str,
    pub(crate) story: [&'static str; 2],
    pub(crate) refused: Vec<Call>,
    pub(crate) allowed: Vec<Call>,
}

/// A call between these stamps and clock readings; each thread calls in order.
pub(crate) fn call(thread: u32, stamps: (u64, u64), clock: (i64, i64), event: Event) -> Call {
    Call {
        thread,
        invoked: stamps.0,
        returned: stamps.1,
        from_ms: clock.0,
        to_ms: clock.1,
        event,
    }
}

/// Calls one after another, each at one clock reading.
pub(crate) fn one_by_one(calls: &[(i64, Event)]) -> Vec<Call> {
    let number = |(n, &(ms, event)): (usize, &(i64, Event))| {
        let stamp = 10 * n as u64;
        call(0, (stamp, stamp + 1), (ms, ms), event)
    };
    calls.iter().enumerate().map(number).collect()
}

pub(crate) const FIRST: Event = mark_for(20, Some(Marked::First));
pub(crate) const DUPLICATE: Event = mark_for(20, Some(Marked::Duplicate));
pub(crate) const MARK_UNKNOWN: Event = mark_for(20, None);
pub(crate) const IN_FLIGHT: Event = claim_for(5, Some(Claimed::InFlight));
pub(crate) const DONE_BEFORE: Event = claim_for(5, Some(Claimed::Duplicate));
pub(crate) const KNOWN: Event = Event::Contains { answer: true };
pub(crate) const UNKNOWN: Event = Event::Contains { answer: false };
pub(crate) const FORGOT: Event = Event::Forget { answer: Some(true) };
pub(crate) const NOTHING_TO_FORGET: Event = Event::Forget {
    answer: Some(false),
};
pub(crate) const CLEAR: Event = Event::Clear { certain: true };

pub(crate) const fn mark_for(retention_ms: i64, answer: Option<Marked>) -> Event {
    Event::Mark {
        retention_ms,
        answer,
    }
}

pub(crate) const fn claim_for(lease_ms: i64, answer: Option<Claimed>) -> Event {
    Event::Claim { lease_ms, answer }
}

pub(crate) const fn claimed(token: Token) -> Event {
    claim_for(5, Some(Claimed::First(token)))
}

pub(crate) const fn complete(token: Token, answer: Option<Settled>) -> Event {
    Event::Complete {
        token,
        retention_ms: 20,
        answer,
    }
}

pub(crate) const fn extend(token: Token, by_ms: i64, answer: Option<Settled>) -> Event {
    Event::Extend {
        token,
        by_ms,
        answer,
    }
}

pub(crate) const fn release(token: Token) -> Event {
    Event::Release {
        token,
        certain: true,
    }
}

pub(crate) const DONE: Option<Settled> = Some(Settled::Done);
pub(crate) const LOST: Option<Settled> = Some(Settled::Lost);
