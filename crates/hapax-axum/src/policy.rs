//! What the layer does where more than one answer is right.
//!
//! Each policy is an enum with a default that loses nothing. The builder takes them;
//! nothing else reads them twice.

use crate::Delivery;
use axum::response::Response;
use http::{StatusCode, request::Parts};
use std::{fmt, sync::Arc, time::Duration};

/// Chooses the answer to a copy of a delivery that is being handled right now.
///
/// Never 2xx unless you ask for it: the sender would stop, and if the first run then
/// fails, the event is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InFlight {
    /// 503 with `Retry-After`.
    Unavailable,
    /// 429 with `Retry-After`, for senders that obey it there.
    TooManyRequests,
    /// 409 without `Retry-After`. Some senders drop an event on any 4xx.
    Conflict,
    /// 202, only for a sender that never retries by itself: if the first run fails,
    /// nobody is told.
    Accepted,
    /// Waits for the first run to end, at most this long, and then answers as for a
    /// duplicate, or runs the handler if the first run failed, or 503. A batch does not
    /// wait.
    Wait(Duration),
}

/// Chooses what happens to a request without an id.
///
/// An id that is empty, too long, repeated or unprintable is refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissingId {
    /// 400.
    #[default]
    Reject,
    /// The handler runs without a claim, each time.
    PassThrough,
    /// The SHA-256 of the body (of the item, in a batch) is the id. Two events with
    /// the same bytes are then one event.
    BodyHash,
}

/// Chooses what happens when the store does not answer before the handler.
///
/// A full store is always 503.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StoreFailure {
    /// 503: the sender retries, nothing is lost.
    #[default]
    Reject,
    /// The handler runs without a claim. A retry may run it again.
    LetThrough,
}

/// Chooses what happens to the handler when the sender hangs up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HangUp {
    /// The handler runs to its end and the claim is settled by what it answers.
    /// Senders give up after 3 to 10 s and retry; stopping in the middle of side
    /// effects would run them twice.
    #[default]
    Finish,
    /// The handler is dropped at its next await and the claim is released.
    Cancel,
}

/// Chooses how long a claim is held without word from its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeasePolicy {
    /// The handler's limit plus a margin. The default, with 5 s.
    ///
    /// Clamped to the store's retention; a lease clamped below the handler's limit is
    /// extended while the handler runs.
    Budget {
        /// What settling may take.
        margin: Duration,
    },
    /// A short lease, extended each third of its length while the handler runs. A
    /// crashed process blocks the retry for this long at most.
    Renewed(Duration),
    /// A lease that is never extended. A handler that outlasts it is overtaken by the
    /// next copy, and told so by a warning and a counter.
    Fixed(Duration),
}

impl Default for LeasePolicy {
    fn default() -> Self {
        Self::Budget {
            margin: Duration::from_secs(5),
        }
    }
}

/// Decides what a handler's answer means for the claim.
///
/// The layer asks its classifier, 2xx completes by default. A handler that knows
/// better puts a verdict into its response's extensions, and that wins:
///
/// ```
/// use axum::{Extension, http::StatusCode};
/// use hapax_axum::Verdict;
///
/// // 422 for ever: completing spares the sender's retries.
/// async fn handler() -> (StatusCode, Extension<Verdict>) {
///     (StatusCode::UNPROCESSABLE_ENTITY, Extension(Verdict::Complete))
/// }
/// # let _ = handler;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The event is done; copies are duplicates.
    Complete,
    /// The event is not done; the retry runs.
    Release,
}

impl Verdict {
    /// Completes on 2xx, releases on anything else.
    #[must_use]
    pub fn by_status(status: StatusCode) -> Self {
        if status.is_success() {
            Self::Complete
        } else {
            Self::Release
        }
    }
}

/// Chooses the first half of the key, so that equal ids of two places never meet.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Scope {
    /// The request's path, as it was before nested routers shortened it.
    #[default]
    Path,
    /// A fixed name, for one event stream that comes in at several paths.
    Named(Arc<str>),
    /// What a function finds in the request: a tenant, a host.
    ///
    /// It runs after the signature was checked. Use only what the signature or your
    /// own routing vouches for. A panic is answered 500
    /// ([`Reason::CheckPanicked`](crate::Reason::CheckPanicked)).
    Function(Arc<dyn Fn(&Parts) -> String + Send + Sync>),
}

impl Scope {
    /// Scopes ids by a fixed name.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self::Named(name.into())
    }

    /// Scopes ids by what `f` finds in the request.
    pub fn function(f: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        Self::Function(Arc::new(f))
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("Path"),
            Self::Named(name) => f.debug_tuple("Named").field(name).finish(),
            Self::Function(_) => f.write_str("Function"),
        }
    }
}

/// Answers duplicates in place of the default.
pub(crate) type DuplicateFn = Arc<dyn Fn(&Delivery) -> Response + Send + Sync>;

/// Judges responses in place of the default.
pub(crate) type SuccessFn = Arc<dyn Fn(&http::response::Parts) -> Verdict + Send + Sync>;
