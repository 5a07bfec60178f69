//! One delivery, from the claim to the settled claim. As soon as it has to wait, it runs
//! on a task of its own.
//!
//! The order matters: the handler's future is dropped before its claim is released,
//! so that no copy starts while the first run is still being torn down. Nothing here
//! can be cut off by the sender: it can only ask, through `stop`, that the handler be
//! dropped, and settling follows all the same.

use crate::{
    Delivery, DeliveryOutcome, Ending, InFlight, Reason, StoreFailure, Verdict,
    caught::caught,
    extract::Carried,
    guard::{Guard, Slot},
    layer::Shared,
    observe::{self, Running},
    respond,
    service::BoxError,
};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use hapax_store::{AnyLease, ClaimStore, ErrorKind, Key, Outcome, StoreError};
use http::{StatusCode, request::Parts};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// A request that was proven and named.
pub(crate) struct Work<S> {
    pub(crate) inner: S,
    pub(crate) shared: Arc<Shared>,
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    /// Tells that the sender hung up, where that stops the handler. A child of the
    /// drain's token.
    pub(crate) hung_up: Option<CancellationToken>,
}

/// How a handler's run ended.
pub(crate) enum Ran<T> {
    Answered(T),
    Panicked,
    TimedOut,
    Stopped,
}

/// Claims the id and, if it is first, runs the handler under the claim.
pub(crate) async fn claimed<S, ResB>(
    mut work: Work<S>,
    id: Arc<str>,
    key: Key,
) -> Result<Response, S::Error>
where
    S: Service<Request, Response = Response<ResB>>,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    let shared = Arc::clone(&work.shared);
    let lease = match claim(&shared, &key, work.stop()).await {
        Ok(Outcome::First(lease)) => lease,
        Ok(Outcome::Duplicate { .. }) => {
            shared.counting.duplicate.add(1);
            observe::ended(&shared, &id, Ending::Duplicate);
            let delivery = work.delivery(id, DeliveryOutcome::Duplicate);
            let answer = respond::duplicate(&shared, &delivery);
            return Ok(respond::finish(&shared, answer, Ending::Duplicate));
        }
        Ok(Outcome::InFlight { remaining }) => {
            shared.counting.in_flight.add(1);
            observe::ended(&shared, &id, Ending::InFlight);
            let answer = respond::in_flight(&shared, remaining);
            return Ok(respond::finish(&shared, answer, Ending::InFlight));
        }
        Err(error) => match refusal(&shared, &error) {
            Some(reason) => return Ok(respond::refuse(&shared, reason)),
            None => return unchecked(work, id).await,
        },
    };

    shared.counting.first.add(1);
    let delivery = work.delivery(Arc::clone(&id), DeliveryOutcome::First);
    let guard = Guard::new(lease, Arc::clone(&shared), delivery.clone());
    let slot = Arc::new(Slot::new(guard));
    work.carry(delivery.clone(), Carried::Claim(Arc::clone(&slot)));
    let leasing = shared.rules.leasing;
    let keep_alive = slot.keep_alive(leasing.length, leasing.extend_every);
    let ran = work.run(keep_alive).await;

    let (answer, verdict) = judge(&shared, &delivery, ran);
    let ending = match (slot.take().await, verdict) {
        (None, _) => Ending::HandedOver,
        (Some(guard), Verdict::Complete) => match guard.complete().await {
            Ok(()) => Ending::Completed,
            Err(_) => Ending::Lost,
        },
        (Some(guard), Verdict::Release) => {
            // What can go wrong here is logged; the lease's end bounds it.
            let _ = guard.release().await;
            Ending::Released
        }
    };
    observe::ended(&shared, &id, ending);
    answer.map(|answer| respond::finish(&shared, answer, ending))
}

/// Runs the handler without a claim.
pub(crate) async fn unchecked<S, ResB>(
    mut work: Work<S>,
    id: Arc<str>,
) -> Result<Response, S::Error>
where
    S: Service<Request, Response = Response<ResB>>,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    let shared = Arc::clone(&work.shared);
    shared.counting.unchecked.add(1);
    let delivery = work.delivery(Arc::clone(&id), DeliveryOutcome::Unchecked);
    work.parts.extensions.insert(delivery.clone());
    let ran = work.run(std::future::pending::<()>()).await;
    let (answer, _) = judge(&shared, &delivery, ran);
    observe::ended(&shared, &id, Ending::Unchecked);
    answer.map(|answer| respond::finish(&shared, answer, Ending::Unchecked))
}

/// Claims; a copy in flight may wait for the first run, by policy.
async fn claim(
    shared: &Shared,
    key: &Key,
    stop: &CancellationToken,
) -> Result<Outcome<AnyLease>, StoreError> {
    /// The first run is looked after soon, and then ever more slowly.
    const FIRST_LOOK: Duration = Duration::from_millis(20);
    const SLOWEST_LOOK: Duration = Duration::from_millis(500);

    let length = shared.rules.leasing.length;
    let outcome = in_time(shared, shared.store.claim(key, length)).await??;
    let InFlight::Wait(wait) = shared.rules.in_flight else {
        return Ok(outcome);
    };
    let mut outcome = outcome;
    let deadline = Instant::now() + wait;
    let mut pause = FIRST_LOOK;
    while outcome.is_in_flight() && Instant::now() < deadline {
        let until = deadline.min(Instant::now() + pause);
        let slept = stop.run_until_cancelled(tokio::time::sleep_until(until));
        if slept.await.is_none() {
            break;
        }
        pause = (pause * 2).min(SLOWEST_LOOK);
        outcome = in_time(shared, shared.store.claim(key, length)).await??;
    }
    Ok(outcome)
}

/// Waits for the store's answer to a claim, but not for ever.
///
/// A claim that is late is dropped. The store then releases what it may have claimed, or
/// leaves it to the end of the lease.
pub(crate) async fn in_time<T>(
    shared: &Shared,
    claim: impl Future<Output = T>,
) -> Result<T, StoreError> {
    let limit = shared.rules.store_timeout;
    let mut claim = pin!(claim);
    // Made at its first poll, so that a store in memory costs no timer.
    let mut late = pin!(async move { tokio::time::sleep(limit).await });
    poll_fn(|cx| {
        if let Poll::Ready(answer) = claim.as_mut().poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        late.as_mut()
            .poll(cx)
            .map(|()| Err(StoreError::new(ErrorKind::Timeout)))
    })
    .await
}

/// Returns why a failed claim refuses the request, or `None` to let it through.
pub(crate) fn refusal(shared: &Shared, error: &StoreError) -> Option<Reason> {
    observe::store_failed(shared, error);
    match (error.kind(), shared.rules.store_failure) {
        (ErrorKind::Full, _) => Some(Reason::StoreFull),
        (_, StoreFailure::Reject) => Some(Reason::StoreUnavailable),
        (_, StoreFailure::LetThrough) => None,
    }
}

/// Turns a run into an answer and a verdict. A judge that panics is a handler that does.
pub(crate) fn judge<ResB, E>(
    shared: &Shared,
    delivery: &Delivery,
    ran: Ran<Result<Response<ResB>, E>>,
) -> (Result<Response, E>, Verdict)
where
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    let counting = &shared.counting;
    let (count, how, answer) = match ran {
        Ran::Answered(Ok(response)) => {
            let (parts, body) = response.into_parts();
            let verdict = match (parts.extensions.get::<Verdict>(), &shared.rules.success) {
                (Some(verdict), _) => Some(*verdict),
                (None, Some(success)) => caught(|| success(&parts)),
                (None, None) => Some(Verdict::by_status(parts.status)),
            };
            if let Some(verdict) = verdict {
                let response = Response::from_parts(parts, Body::new(body));
                return (Ok(response), verdict);
            }
            (
                &counting.panicked,
                "was answered, and its judge panicked",
                StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            )
        }
        Ran::Answered(Err(error)) => return (Err(error), Verdict::Release),
        Ran::Panicked => (
            &counting.panicked,
            "panicked",
            StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        ),
        Ran::TimedOut => (
            &counting.timed_out,
            "reached its limit",
            StatusCode::GATEWAY_TIMEOUT.into_response(),
        ),
        Ran::Stopped => (&counting.cancelled, "was stopped", respond::try_again()),
    };
    count.add(1);
    observe::stopped(delivery, how);
    (Ok(answer), Verdict::Release)
}

impl<S> Work<S> {
    /// Tells when to drop the handler.
    fn stop(&self) -> &CancellationToken {
        self.hung_up.as_ref().unwrap_or(&self.shared.stop)
    }

    /// Returns the sender's number of this attempt.
    pub(crate) fn attempt(&self) -> Option<u32> {
        let name = self.shared.rules.attempt.as_ref()?;
        self.parts.headers.get(name)?.to_str().ok()?.parse().ok()
    }

    fn delivery(&self, id: Arc<str>, outcome: DeliveryOutcome) -> Delivery {
        self.shared.delivery(id, self.attempt(), outcome)
    }

    /// Puts into the request what the extractors find there.
    pub(crate) fn carry(&mut self, delivery: Delivery, carried: Carried) {
        self.parts.extensions.insert(delivery);
        self.parts.extensions.insert(carried);
    }

    /// Runs the handler to its answer, its panic, its limit or its stop, whichever is
    /// first, and polls `beside` along with it.
    ///
    /// The handler is dropped when this returns.
    pub(crate) async fn run(self, beside: impl Future) -> Ran<Result<S::Response, S::Error>>
    where
        S: Service<Request>,
    {
        let Self {
            mut inner,
            shared,
            parts,
            body,
            hung_up,
        } = self;
        let stop = hung_up.as_ref().unwrap_or(&shared.stop);
        if stop.is_cancelled() {
            // The store took its time. Nobody waits any more: do not begin.
            return Ran::Stopped;
        }
        let _running = Running::start(&shared);
        let request = Request::from_parts(parts, Body::from(body));
        // `call` itself may panic: it runs inside the future.
        let mut handler = pin!(async move { inner.call(request).await });
        let mut stopped = pin!(stop.cancelled());
        let limit = shared.rules.handler_limit;
        let mut limit = pin!(async move { tokio::time::sleep(limit).await });
        let mut beside = pin!(beside);
        poll_fn(|cx| {
            // Whatever the handler was borrowing is dropped with it; nobody sees it in
            // a half-changed state through us.
            match caught(|| handler.as_mut().poll(cx)) {
                None => return Poll::Ready(Ran::Panicked),
                Some(Poll::Ready(answer)) => return Poll::Ready(Ran::Answered(answer)),
                Some(Poll::Pending) => {}
            }
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ran::Stopped);
            }
            if limit.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ran::TimedOut);
            }
            let _ = beside.as_mut().poll(cx);
            Poll::Pending
        })
        .await
    }
}
