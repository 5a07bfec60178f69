//! What callers saw of one id: calls, answers, and when.
//!
//! A history is a slice of [`Call`]s. Calls of one `thread` stand in program
//! order. Two stamps order calls of different threads: `a` came before `b` in
//! real time when `a.returned < b.invoked`. They may come from any source that
//! agrees with real time (a counter, a monotonic clock); equal stamps say
//! nothing. Two readings of the set's clock, one before and one after the call,
//! enclose the instant at which it took effect.
//!
//! An outcome that the caller never learned (a time-out, a lost connection) is
//! *unknown*: the call took effect inside its interval, or never. Its thread can
//! not be known to have stopped, so what follows belongs to a new thread; a call
//! that may still be under way has [`NEVER`] as its end.

use std::fmt;

/// The end of a call that was never seen to return, for `returned`.
pub const NEVER: u64 = u64::MAX;

/// The last clock reading of a call that was never seen to return, for `to_ms`.
///
/// Far above any reading, and far enough below the largest number that a
/// retention can be added to it.
pub const NEVER_MS: i64 = i64::MAX / 4;

/// The name of one lease; no two claims of a history may be granted the same.
pub type Token = u32;

/// One call on the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whose call: calls of one thread follow one another as listed.
    pub thread: u32,
    /// Real-time stamp, taken before the call.
    pub invoked: u64,
    /// Real-time stamp, taken after the call.
    pub returned: u64,
    /// The set's clock before the call, in ms.
    pub from_ms: i64,
    /// The set's clock after the call, in ms.
    pub to_ms: i64,
    /// What was asked and what was answered.
    pub event: Event,
}

/// A question and its answer; `None` is an answer that nobody received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `check_and_mark` and its relatives.
    Mark {
        /// The retention of this call, in ms.
        retention_ms: i64,
        /// What the caller was told.
        answer: Option<Marked>,
    },
    /// `claim` and its relatives.
    Claim {
        /// The lease of this call after clamping, in ms.
        lease_ms: i64,
        /// What the caller was told.
        answer: Option<Claimed>,
    },
    /// `Lease::complete` and `complete_for`.
    Complete {
        /// Which lease.
        token: Token,
        /// The retention of this call, in ms.
        retention_ms: i64,
        /// What the caller was told.
        answer: Option<Settled>,
    },
    /// `Lease::extend`.
    Extend {
        /// Which lease.
        token: Token,
        /// The new end, in ms from now, after clamping.
        by_ms: i64,
        /// What the caller was told.
        answer: Option<Settled>,
    },
    /// `Lease::release`, or the lease was dropped.
    Release {
        /// Which lease.
        token: Token,
        /// Whether the call is known to have returned.
        certain: bool,
    },
    /// `forget`.
    Forget {
        /// What the caller was told.
        answer: Option<bool>,
    },
    /// `contains`. An unknown answer says nothing; such a call is not recorded.
    Contains {
        /// What the caller was told.
        answer: bool,
    },
    /// `clear`, as far as this id is concerned.
    Clear {
        /// Whether the call is known to have returned.
        certain: bool,
    },
}

/// The answer to a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The id was not known; now it is.
    First,
    /// The id is done or in flight.
    Duplicate,
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The id was not known; the caller holds it by this lease.
    First(Token),
    /// Somebody holds it.
    InFlight,
    /// The id is done.
    Duplicate,
}

/// The answer to a lease's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The lease was the holder's and did what was asked.
    Done,
    /// The lease was lost, for good; nothing was changed.
    Lost,
}

impl Call {
    /// Tells whether the caller learned the outcome.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        match self.event {
            Event::Mark { answer, .. } => answer.is_some(),
            Event::Claim { answer, .. } => answer.is_some(),
            Event::Complete { answer, .. } | Event::Extend { answer, .. } => answer.is_some(),
            Event::Forget { answer } => answer.is_some(),
            Event::Release { certain, .. } | Event::Clear { certain } => certain,
            Event::Contains { .. } => true,
        }
    }

    /// Tells whether the answer is such that the call changed nothing, wherever
    /// it took effect.
    ///
    /// A release and a `clear` change nothing *here* and something *there*, and
    /// so does a call whose outcome is unknown: none of them only observes.
    #[must_use]
    pub fn only_observes(&self) -> bool {
        match self.event {
            Event::Mark { answer, .. } => answer == Some(Marked::Duplicate),
            Event::Claim { answer, .. } => {
                matches!(answer, Some(Claimed::InFlight | Claimed::Duplicate))
            }
            Event::Complete { answer, .. } | Event::Extend { answer, .. } => {
                answer == Some(Settled::Lost)
            }
            Event::Forget { answer } => answer == Some(false),
            Event::Contains { .. } => true,
            Event::Release { .. } | Event::Clear { .. } => false,
        }
    }

    /// Returns the lease that this call granted, if it granted one.
    #[must_use]
    pub fn granted(&self) -> Option<Token> {
        match self.event {
            Event::Claim {
                answer: Some(Claimed::First(token)),
                ..
            } => Some(token),
            _ => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark {
                retention_ms,
                answer,
            } => write!(f, "mark for {retention_ms} -> {}", Shown(answer)),
            Self::Claim { lease_ms, answer } => {
                write!(f, "claim for {lease_ms} -> {}", Shown(answer))
            }
            Self::Complete {
                token,
                retention_ms,
                answer,
            } => write!(
                f,
                "complete #{token} for {retention_ms} -> {}",
                Shown(answer)
            ),
            Self::Extend {
                token,
                by_ms,
                answer,
            } => write!(f, "extend #{token} by {by_ms} -> {}", Shown(answer)),
            Self::Release { token, certain } => {
                write!(f, "release #{token} -> {}", Shown(&certain.then_some(())))
            }
            Self::Forget { answer } => write!(f, "forget -> {}", Shown(answer)),
            Self::Contains { answer } => write!(f, "contains -> {answer}"),
            Self::Clear { certain } => {
                write!(f, "clear -> {}", Shown(&certain.then_some(())))
            }
        }
    }
}

/// An answer in print: itself, or `unknown`.
struct Shown<'a, T>(&'a Option<T>);

impl<T: fmt::Debug> fmt::Display for Shown<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(answer) => write!(f, "{answer:?}"),
            None => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "thread {:>2}  clock {:>5}..{:<5}  stamps {:>5}..{:<5}  {}",
            self.thread, self.from_ms, self.to_ms, self.invoked, self.returned, self.event
        )
    }
}
