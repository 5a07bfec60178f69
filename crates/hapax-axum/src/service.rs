//! The service: what can be decided before the body is there.

use crate::{
    HangUp,
    extract::Carried,
    future::{Arrived, ResponseFuture},
    handshake,
    layer::Shared,
};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::Response,
};
use bytes::Bytes;
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// Any error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Wraps a handler. Made by [`WebhookLayer`](crate::WebhookLayer).
#[derive(Clone)]
pub struct Webhook<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> Webhook<S> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, ReqB, ResB> Service<http::Request<ReqB>> for Webhook<S>
where
    S: Service<Request, Response = Response<ResB>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    ReqB: HttpBody<Data = Bytes> + Send + 'static,
    ReqB::Error: Into<BoxError>,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = S::Error;
    type Future = ResponseFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<ReqB>) -> Self::Future {
        // The service that was polled ready serves this request; its clone, not ready
        // yet, waits for the next. Calling the clone would panic in some services.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let shared = Arc::clone(&self.shared);
        let (mut parts, body) = request.into_parts();
        // Boxes the body, unless it is Axum's already.
        let body = Body::new(body);

        if !shared.rules.methods.contains(&parts.method) {
            if let Some(answer) = handshake::by_method(&shared, &parts) {
                return ResponseFuture::answer(answer);
            }
            shared.counting.passed.add(1);
            parts.extensions.insert(Carried::Passed);
            let request = Request::from_parts(parts, body);
            return ResponseFuture::pass(inner.call(request));
        }

        let cancel = match shared.rules.hang_up {
            HangUp::Finish => None,
            HangUp::Cancel => Some(shared.stop.child_token()),
        };
        ResponseFuture::read(
            Arrived {
                inner,
                shared,
                parts,
                cancel,
            },
            body,
        )
    }
}

impl<S: fmt::Debug> fmt::Debug for Webhook<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("inner", &self.inner)
            .field("provider", &self.shared.provider)
            .finish()
    }
}
