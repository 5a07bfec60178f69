//! The response future: read, verify, name; then hand over to a task and wait for it.
//!
//! Everything before the claim happens in this future. A sender that hangs up drops
//! it, and nothing was claimed. From the claim on, the work is a future of its own. It
//! is polled once right here, and if it has to wait for anything, it moves to a task
//! before this poll returns. So nobody can drop it half-way: dropping this future
//! leaves the task alone ([`HangUp::Finish`](crate::HangUp)) or tells it to stop and
//! release ([`HangUp::Cancel`](crate::HangUp)). Refusals, duplicates in memory and
//! handlers that never wait cost no task.

use crate::{
    Ending, Reason, batch,
    caught::caught,
    deliver, handshake,
    key::{Found, Named},
    layer::Shared,
    observe,
    reading::Reading,
    respond,
    service::BoxError,
    signature::{Signed, SignedRequest, Verifier, VerifyError, Verifying},
};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::Response,
};
use bytes::Bytes;
use http::{StatusCode, request::Parts};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{task::JoinHandle, time::Sleep};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_service::Service;
use tracing::Instrument;

pin_project! {
    /// Answers one request. The future of [`Webhook`](crate::Webhook).
    ///
    /// # Cancellation
    ///
    /// Before the body has arrived and its signature was checked, nothing is claimed.
    /// After that the handler's task goes on or is stopped, as
    /// [`HangUp`](crate::HangUp) says.
    pub struct ResponseFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        state: State<S>,
    }
}

pin_project! {
    #[project = StateProj]
    #[allow(clippy::large_enum_variant)] // Boxing would cost every request an allocation.
    enum State<S>
    where
        S: Service<Request>,
    {
        Pass { #[pin] future: S::Future },
        Read {
            body: Reading,
            arrived: Option<Arrived<S>>,
            timeout: Option<Pin<Box<Sleep>>>,
        },
        Verify {
            verifying: Verifying,
            arrived: Option<Arrived<S>>,
            body: Bytes,
            timeout: Option<Pin<Box<Sleep>>>,
        },
        Start { work: Option<Working<S::Error>>, cancel: Option<DropGuard>, shared: Arc<Shared> },
        Handle { task: JoinHandle<Result<Response, S::Error>>, _cancel: Option<DropGuard>, shared: Arc<Shared> },
        Answer { response: Option<Response> },
    }

    impl<S> PinnedDrop for State<S>
    where
        S: Service<Request>,
    {
        // A sender that leaves before the claim is in the books, too.
        fn drop(this: Pin<&mut Self>) {
            if let StateProj::Read { arrived, .. } | StateProj::Verify { arrived, .. } =
                this.project()
                && let Some(Arrived { shared, .. }) = arrived
            {
                shared.counting.reject(Reason::BodyBroken);
                observe::refused(shared, Reason::BodyBroken);
            }
        }
    }
}

/// A delivery from its claim to its settled claim.
type Working<E> = Pin<Box<dyn Future<Output = Result<Response, E>> + Send>>;

/// A request whose body is still to come.
pub(crate) struct Arrived<S> {
    pub(crate) inner: S,
    pub(crate) shared: Arc<Shared>,
    pub(crate) parts: Parts,
    /// Tells the task that the sender hung up, where that matters.
    pub(crate) cancel: Option<CancellationToken>,
}

impl<S> ResponseFuture<S>
where
    S: Service<Request>,
{
    pub(crate) fn pass(future: S::Future) -> Self {
        Self {
            state: State::Pass { future },
        }
    }

    pub(crate) fn answer(response: Response) -> Self {
        Self {
            state: State::Answer {
                response: Some(response),
            },
        }
    }

    pub(crate) fn read(arrived: Arrived<S>, body: Body) -> Self {
        let limit = arrived.shared.rules.body_limit;
        // A length that says too much is refused before a byte is read.
        let announced = body.size_hint().lower();
        if usize::try_from(announced).map_or(true, |length| length > limit) {
            return Self::answer(respond::refuse(&arrived.shared, Reason::BodyTooLarge));
        }
        Self {
            state: State::Read {
                body: Reading::new(body, limit),
                arrived: Some(arrived),
                timeout: None,
            },
        }
    }
}

impl<S, ResB> Future for ResponseFuture<S>
where
    S: Service<Request, Response = Response<ResB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    type Output = Result<Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProj::Pass { future } => {
                    return future.poll(cx).map_ok(|response| response.map(Body::new));
                }
                StateProj::Read {
                    body,
                    arrived,
                    timeout,
                } => {
                    let read = match body.poll(cx) {
                        Poll::Ready(read) => read,
                        Poll::Pending => {
                            let Some(waiting) = arrived else {
                                unreachable!("polled after it was ready")
                            };
                            let limit = waiting.shared.rules.body_timeout;
                            // Made here, so that a body that is already there costs no timer.
                            let timeout =
                                timeout.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                            ready!(timeout.as_mut().poll(cx));
                            Err(Reason::BodyTooSlow)
                        }
                    };
                    let arrived = arrived.take().expect("polled after it was ready");
                    match read {
                        Ok(body) => verify(arrived, body),
                        Err(reason) => refuse(&arrived.shared, reason),
                    }
                }
                StateProj::Verify {
                    verifying,
                    arrived,
                    body,
                    timeout,
                } => {
                    let Some(Arrived { shared, .. }) = arrived else {
                        unreachable!("polled after it was ready")
                    };
                    let verified = match caught(|| verifying.as_mut().poll(cx)) {
                        Some(Poll::Ready(verified)) => {
                            verified.map_err(|error| external(shared, &error))
                        }
                        Some(Poll::Pending) => {
                            let limit = shared.rules.store_timeout;
                            let timeout =
                                timeout.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                            ready!(timeout.as_mut().poll(cx));
                            observe::verifier_late(shared, limit);
                            Err(Reason::VerifierUnavailable)
                        }
                        None => Err(Reason::CheckPanicked),
                    };
                    let arrived = arrived.take().expect("polled after it was ready");
                    match verified {
                        Ok(()) => name(arrived, std::mem::take(body), &Signed::default()),
                        Err(reason) => refuse(&arrived.shared, reason),
                    }
                }
                StateProj::Start {
                    work,
                    cancel,
                    shared,
                } => {
                    let mut work = work.take().expect("polled after it was ready");
                    // The work catches the panics of the handler and of the functions in
                    // the layer's settings. What is left is what panics when it is dropped,
                    // and the store itself; the guard, if there was one, has released.
                    match caught(|| work.as_mut().poll(cx)) {
                        Some(Poll::Ready(answer)) => return Poll::Ready(answer),
                        Some(Poll::Pending) => State::Handle {
                            // What the handler logs belongs to the request's span.
                            task: tokio::spawn(work.in_current_span()),
                            _cancel: cancel.take(),
                            shared: Arc::clone(shared),
                        },
                        None => return Poll::Ready(Ok(panicked(shared))),
                    }
                }
                StateProj::Handle { task, shared, .. } => {
                    return Poll::Ready(match ready!(Pin::new(task).poll(cx)) {
                        Ok(answer) => answer,
                        // As above, or the runtime is shutting down.
                        Err(error) if error.is_panic() => Ok(panicked(shared)),
                        Err(_) => {
                            observe::ended(shared, "", Ending::Released);
                            Ok(respond::finish(
                                shared,
                                respond::try_again(),
                                Ending::Released,
                            ))
                        }
                    });
                }
                StateProj::Answer { response } => {
                    return Poll::Ready(Ok(response.take().expect("polled after it was ready")));
                }
            };
            state.set(next);
        }
    }
}

/// Checks the signature.
fn verify<S, ResB>(arrived: Arrived<S>, body: Bytes) -> State<S>
where
    S: Service<Request, Response = Response<ResB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    // The clock that timestamps are compared with may be the service's own.
    match caught(|| arrived.shared.verifier.check(&arrived.parts, &body)) {
        None => refuse(&arrived.shared, Reason::CheckPanicked),
        Some(Some(Ok(signed))) => name(arrived, body, &signed),
        Some(Some(Err(reason))) => refuse(&arrived.shared, reason),
        Some(None) => {
            let Verifier::External(external) = &arrived.shared.verifier else {
                unreachable!("only an external verifier has to ask")
            };
            let request = SignedRequest::new(&arrived.parts, &body);
            State::Verify {
                verifying: Arc::clone(external).verify(request),
                arrived: Some(arrived),
                body,
                timeout: None,
            }
        }
    }
}

/// Finds the id and starts the task.
fn name<S, ResB>(arrived: Arrived<S>, body: Bytes, signed: &Signed) -> State<S>
where
    S: Service<Request, Response = Response<ResB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    let shared = &arrived.shared;
    if let Some(response) = handshake::by_body(shared, &body) {
        return State::Answer {
            response: Some(response),
        };
    }
    let found = match caught(|| shared.finder.find(&arrived.parts, &body, signed)) {
        Some(Ok(found)) => found,
        Some(Err(reason)) => return refuse(shared, reason),
        None => return refuse(shared, Reason::CheckPanicked),
    };
    // First the token, then the look: a drain that has begun is seen here, and one that
    // begins later waits for the token.
    let tracked = shared.tasks.token();
    if shared.tasks.is_closed() {
        return refuse(shared, Reason::Draining);
    }
    let Arrived {
        inner,
        shared,
        parts,
        cancel,
    } = arrived;
    let work = deliver::Work {
        inner,
        shared: Arc::clone(&shared),
        parts,
        body,
        hung_up: cancel.clone(),
    };
    // Each future is made where it stays: on the heap. It is large, and moving it costs.
    let work: Working<S::Error> = match found {
        Found::One(Some(Named { id, key })) => Box::pin(async move {
            let answer = deliver::claimed(work, id, key).await;
            drop(tracked);
            answer
        }),
        Found::One(None) => Box::pin(async move {
            let answer = deliver::unchecked(work, Arc::from("")).await;
            drop(tracked);
            answer
        }),
        Found::Many(items) => Box::pin(async move {
            let answer = batch::deliver(work, items).await;
            drop(tracked);
            answer
        }),
    };
    State::Start {
        work: Some(work),
        cancel: cancel.map(CancellationToken::drop_guard),
        shared,
    }
}

/// Answers for work that panicked on its way.
fn panicked(shared: &Shared) -> Response {
    shared.counting.panicked.add(1);
    observe::panicked(shared, "the work on a delivery");
    // Its id went down with it.
    observe::ended(shared, "", Ending::Released);
    respond::finish(shared, StatusCode::INTERNAL_SERVER_ERROR, Ending::Released)
}

fn refuse<S>(shared: &Shared, reason: Reason) -> State<S>
where
    S: Service<Request>,
{
    State::Answer {
        response: Some(respond::refuse(shared, reason)),
    }
}

fn external(shared: &Shared, error: &VerifyError) -> Reason {
    match error {
        VerifyError::Missing => Reason::SignatureMissing,
        VerifyError::Wrong => Reason::SignatureWrong,
        VerifyError::Unavailable(cause) => {
            tracing::warn!(provider = &*shared.provider, cause = %cause, "verifier unavailable");
            Reason::VerifierUnavailable
        }
    }
}
