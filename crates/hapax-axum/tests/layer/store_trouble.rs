//! What if the store does not answer?

use crate::rig::{PATH, Runs, json};
use axum::{Router, response::Response, routing::post};
use hapax_axum::{Builder, Ending, HangUp, Provider, Reason, StoreFailure, WebhookLayer};
use hapax_store::{ClaimStore, ErrorKind, Key, Outcome, SettleError, StoreError, StoreLease};
use std::{io, time::Duration};
use tower::ServiceExt;

/// A store that fails where it is told to.
#[derive(Clone, Copy)]
struct Broken {
    claim: Option<ErrorKind>,
}

struct BrokenLease;

impl ClaimStore for Broken {
    type Lease = BrokenLease;

    fn retention(&self) -> Duration {
        crate::rig::RETENTION
    }

    async fn claim(&self, _: &Key, _: Duration) -> Result<Outcome<BrokenLease>, StoreError> {
        match self.claim {
            Some(kind) => {
                let cause = io::Error::from(io::ErrorKind::ConnectionRefused);
                Err(StoreError::with_source(kind, cause))
            }
            None => Ok(Outcome::First(BrokenLease)),
        }
    }

    async fn forget(&self, _: &Key) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl StoreLease for BrokenLease {
    async fn complete(self) -> Result<(), SettleError> {
        Err(StoreError::new(ErrorKind::Timeout).into())
    }

    async fn release(self) -> Result<(), SettleError> {
        Err(StoreError::new(ErrorKind::Unavailable).into())
    }

    async fn extend(&mut self, _: Duration) -> Result<(), SettleError> {
        Err(StoreError::new(ErrorKind::Unavailable).into())
    }
}

async fn send(
    store: Broken,
    configure: impl FnOnce(Builder) -> Builder,
    runs: &Runs,
) -> (Response, WebhookLayer) {
    let layer = configure(WebhookLayer::builder(Provider::unsigned_json(), store))
        .build()
        .unwrap();
    let app = Router::new().route(PATH, post(runs.accepting()).layer(layer.clone()));
    (app.oneshot(json("a")).await.unwrap(), layer)
}

#[tokio::test]
async fn unreachable_store_is_503_and_the_handler_does_not_run() {
    for kind in [
        ErrorKind::Unavailable,
        ErrorKind::Timeout,
        ErrorKind::Corrupt,
    ] {
        let runs = Runs::default();
        let (response, layer) = send(Broken { claim: Some(kind) }, |b| b, &runs).await;
        assert_eq!(response.status(), 503);
        assert!(response.headers().contains_key("retry-after"));
        assert_eq!(runs.get(), 0);
        let counters = layer.counters();
        assert_eq!(counters.rejected.get(Reason::StoreUnavailable), 1);
        assert_eq!(counters.first, 0);
    }
}

#[tokio::test]
async fn unreachable_store_may_let_the_request_through() {
    let runs = Runs::default();
    let store = Broken {
        claim: Some(ErrorKind::Unavailable),
    };
    let let_through = |b: Builder| b.store_failure(StoreFailure::LetThrough);
    let (response, layer) = send(store, let_through, &runs).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.extensions().get(), Some(&Ending::Unchecked));
    assert_eq!((runs.get(), layer.counters().unchecked), (1, 1));
}

#[tokio::test]
async fn full_store_is_503_whatever_the_policy() {
    let runs = Runs::default();
    let store = Broken {
        claim: Some(ErrorKind::Full),
    };
    let let_through = |b: Builder| b.store_failure(StoreFailure::LetThrough);
    let (response, layer) = send(store, let_through, &runs).await;
    assert_eq!(response.status(), 503);
    assert_eq!(runs.get(), 0);
    assert_eq!(layer.counters().rejected.get(Reason::StoreFull), 1);
}

#[tokio::test]
async fn answer_is_the_handlers_when_completing_fails() {
    let runs = Runs::default();
    let (response, layer) = send(Broken { claim: None }, |b| b, &runs).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.extensions().get(), Some(&Ending::Lost));
    let counters = layer.counters();
    assert_eq!(
        (counters.lost, counters.completed, counters.released),
        (1, 0, 0)
    );
}

/// A store whose leases complete only when the gate opens.
struct Slow(crate::rig::Gate);

struct SlowLease(crate::rig::Gate);

impl ClaimStore for Slow {
    type Lease = SlowLease;

    fn retention(&self) -> Duration {
        crate::rig::RETENTION
    }

    async fn claim(&self, _: &Key, _: Duration) -> Result<Outcome<SlowLease>, StoreError> {
        Ok(Outcome::First(SlowLease(self.0.clone())))
    }

    async fn forget(&self, _: &Key) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl StoreLease for SlowLease {
    async fn complete(self) -> Result<(), SettleError> {
        self.0.pass().await;
        Ok(())
    }

    async fn release(self) -> Result<(), SettleError> {
        panic!("nothing releases a claim that is being completed");
    }

    async fn extend(&mut self, _: Duration) -> Result<(), SettleError> {
        Ok(())
    }
}

/// Once completing has begun, neither the sender nor the drain's deadline stops it.
#[tokio::test(start_paused = true)]
async fn nothing_interrupts_settling() {
    for hang_up in [HangUp::Finish, HangUp::Cancel] {
        let gate = crate::rig::Gate::default();
        let layer = WebhookLayer::builder(Provider::unsigned_json(), Slow(gate.clone()))
            .hang_up(hang_up)
            .build()
            .unwrap();
        let runs = Runs::default();
        let app = Router::new().route(PATH, post(runs.accepting()).layer(layer.clone()));
        let request = tokio::spawn(app.oneshot(json("a")));
        gate.entered().await;
        request.abort();
        assert!(request.await.is_err());
        let drain = {
            let layer = layer.clone();
            tokio::spawn(async move { layer.drain(Duration::from_secs(1)).await })
        };
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!drain.is_finished(), "the drain waits for the settling");
        gate.open();
        drain.await.unwrap();
        let counters = layer.counters();
        assert_eq!(
            (counters.completed, counters.released, counters.cancelled),
            (1, 0, 0)
        );
    }
}
