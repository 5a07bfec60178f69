//! Is the inner service called only when it said it was ready?

use crate::rig::{Rig, json};
use axum::{extract::Request, response::Response};
use std::{
    convert::Infallible,
    future::{Ready, poll_fn, ready},
    task::{Context, Poll},
};
use tower::{Layer, Service, limit::ConcurrencyLimitLayer};

/// Panics when it is called without having been polled ready. Its clone is not ready.
struct Strict {
    ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false }
    }
}

impl Service<Request> for Strict {
    type Response = Response;
    type Error = Infallible;
    type Future = Ready<Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called before it was ready"
        );
        ready(Ok(Response::default()))
    }
}

#[tokio::test]
async fn the_service_that_was_polled_ready_is_the_one_that_is_called() {
    let rig = Rig::new(|| async {});
    let mut service = rig.layer.layer(Strict { ready: false });
    for id in ["a", "b", "c"] {
        poll_fn(|cx| Service::<Request>::poll_ready(&mut service, cx))
            .await
            .unwrap();
        let response = service.call(json(id)).await.unwrap();
        assert_eq!(response.status(), 200, "{id}");
    }
    assert_eq!(rig.counters().panicked, 0);
    assert_eq!(rig.counters().completed, 3);
}

#[tokio::test]
async fn back_pressure_of_the_inner_service_reaches_the_caller_and_is_given_back() {
    let rig = Rig::new(|| async {});
    let inner = ConcurrencyLimitLayer::new(1).layer(Strict { ready: false });
    let mut service = rig.layer.layer(inner);
    poll_fn(|cx| Service::<Request>::poll_ready(&mut service, cx))
        .await
        .unwrap();
    let held = service.call(json("a"));
    // The only permit went into the call.
    let busy =
        poll_fn(|cx| Poll::Ready(Service::<Request>::poll_ready(&mut service, cx).is_pending()))
            .await;
    assert!(busy);
    assert_eq!(held.await.unwrap().status(), 200);
    poll_fn(|cx| Service::<Request>::poll_ready(&mut service, cx))
        .await
        .unwrap();
    // A request that is refused gives its permit back too.
    let refused = service.call(crate::rig::raw("no json")).await.unwrap();
    assert_eq!(refused.status(), 400);
    poll_fn(|cx| Service::<Request>::poll_ready(&mut service, cx))
        .await
        .unwrap();
}
