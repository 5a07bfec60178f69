//! The answers the layer gives itself, and the mark it leaves on every answer.

use crate::{Delivery, Ending, InFlight, Reason, caught::caught, layer::Shared, observe};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use std::time::Duration;

/// `Retry-After` where nothing tells a better time.
const LATER: Duration = Duration::from_secs(5);

/// Refuses a request before its handler.
pub(crate) fn refuse(shared: &Shared, reason: Reason) -> Response {
    shared.counting.reject(reason);
    observe::refused(shared, reason);
    let status = reason.status();
    let mut response = match status {
        // The sender's mistake; telling it helps to mend it.
        StatusCode::BAD_REQUEST => (status, reason.as_str()).into_response(),
        // Why a signature is wrong is for the log alone.
        _ => status.into_response(),
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        retry_after(&mut response, LATER);
    }
    mark(shared, &mut response, Ending::Rejected(reason));
    response
}

/// Answers a copy of a done delivery; 500 if the service's own answer panics. The
/// delivery stays done.
pub(crate) fn duplicate(shared: &Shared, delivery: &Delivery) -> Response {
    match (&shared.rules.duplicate, shared.rules.duplicate_body) {
        (Some(answer), _) => caught(|| answer(delivery)).unwrap_or_else(|| {
            shared.counting.panicked.add(1);
            observe::panicked(shared, "the answer to a duplicate");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }),
        (None, Some((kind, body))) => ([(CONTENT_TYPE, kind)], body).into_response(),
        (None, None) => StatusCode::OK.into_response(),
    }
}

/// Answers a copy of a delivery in flight.
pub(crate) fn in_flight(shared: &Shared, remaining: Duration) -> Response {
    let (status, retry) = match shared.rules.in_flight {
        InFlight::Unavailable | InFlight::Wait(_) => (StatusCode::SERVICE_UNAVAILABLE, true),
        InFlight::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, true),
        InFlight::Conflict => (StatusCode::CONFLICT, false),
        InFlight::Accepted => (StatusCode::ACCEPTED, false),
    };
    let mut response = status.into_response();
    if retry {
        retry_after(&mut response, remaining);
    }
    response
}

/// Asks for another try of what was not done.
pub(crate) fn try_again() -> Response {
    let mut response = StatusCode::SERVICE_UNAVAILABLE.into_response();
    retry_after(&mut response, LATER);
    response
}

/// Marks an answer with how it came about.
pub(crate) fn finish(shared: &Shared, answer: impl IntoResponse, ending: Ending) -> Response<Body> {
    let mut response = answer.into_response();
    mark(shared, &mut response, ending);
    response
}

/// Whole seconds, rounded up: half a second is not "now".
pub(crate) fn retry_after(response: &mut Response, after: Duration) {
    let part = u64::from(after.subsec_nanos() > 0);
    let seconds = after.as_secs().saturating_add(part);
    let value = HeaderValue::from(seconds.max(1));
    response.headers_mut().insert(RETRY_AFTER, value);
}

fn mark(shared: &Shared, response: &mut Response, ending: Ending) {
    if let Some(name) = &shared.rules.outcome_header {
        let value = HeaderValue::from_static(ending.as_str());
        response.headers_mut().insert(name.clone(), value);
    }
    response.extensions_mut().insert(ending);
}
