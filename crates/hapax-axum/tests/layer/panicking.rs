//! What does a panic leave behind?

use crate::rig::{Held, PATH, RETENTION, Rig, Runs, json, settle};
use axum::{Router, extract::Request, response::Response, routing::post};
use hapax_axum::{
    Builder, Ending, IdSource, Provider, Reason, Scope, WebhookLayer,
    signature::{SignedRequest, Verify, VerifyError},
};
use hapax_store::{ClaimStore, Key, MemoryLease, Outcome, StoreError};
use http::StatusCode;
use std::{convert::Infallible, time::Duration};
use tower::{Layer, ServiceExt, service_fn};

#[tokio::test]
async fn panic_is_answered_500_and_the_retry_runs() {
    let runs = Runs::default();
    let rig = Rig::new(move || {
        let run = runs.add();
        async move {
            assert!(run > 1, "the first run panics");
            StatusCode::ACCEPTED
        }
    });
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.extensions().get(), Some(&Ending::Released));
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.post("a").await, 202);
    let counters = rig.counters();
    assert_eq!(
        (counters.panicked, counters.released, counters.running),
        (1, 1, 0)
    );
}

#[tokio::test]
async fn panic_after_an_await_is_the_same() {
    let rig = Rig::new(|| async {
        tokio::task::yield_now().await;
        if true {
            panic!("later");
        }
    });
    assert_eq!(rig.post("a").await, 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test]
async fn panic_in_the_inner_call_is_the_same() {
    let rig = Rig::new(|| async {});
    let service = rig.layer.layer(service_fn(|_: Request| {
        if true {
            panic!("before any future is there");
        }
        std::future::ready(Ok::<Response, Infallible>(Response::default()))
    }));
    assert_eq!(service.oneshot(json("a")).await.unwrap().status(), 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

/// A handler whose local panics when it is dropped takes the task down after the
/// handler itself was caught: the guard's drop must release.
#[tokio::test(start_paused = true)]
async fn panic_in_a_drop_is_answered_500_and_releases() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in drop");
            }
        }
    }
    // Held over an await, so that the handler's limit drops it.
    let rig = Rig::new(|| async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    });
    assert_eq!(rig.post("a").await, 500);
    settle().await;
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.counters().running, 0);
}

/// It was answered 500 and released, and counted nowhere.
#[tokio::test]
async fn panic_of_the_judge_is_one_of_the_handler() {
    let judge = |builder: Builder| builder.success(|_| panic!("the judge"));
    let runs = Runs::default();
    let rig = Rig::with(Provider::unsigned_json(), judge, runs.accepting());
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.extensions().get(), Some(&Ending::Released));
    assert_eq!(rig.held("a").await, Held::Nothing);
    let counters = rig.counters();
    assert_eq!((counters.panicked, counters.released), (1, 1));
}

#[tokio::test]
async fn panic_of_the_answer_to_a_duplicate_leaves_it_done() {
    let answer = |builder: Builder| builder.on_duplicate(|_| panic!("the answer"));
    let runs = Runs::default();
    let rig = Rig::with(Provider::unsigned_json(), answer, runs.accepting());
    assert_eq!(rig.post("a").await, 202);
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.extensions().get(), Some(&Ending::Duplicate));
    assert_eq!(rig.held("a").await, Held::Done);
    let counters = rig.counters();
    assert_eq!((counters.panicked, counters.duplicate), (1, 1));
}

struct Falling;

impl Verify for Falling {
    async fn verify(&self, _: &SignedRequest) -> Result<(), VerifyError> {
        tokio::task::yield_now().await;
        panic!("the verifier")
    }
}

/// It unwound into the server, which dropped the connection, and was counted nowhere.
#[tokio::test]
async fn panic_before_the_claim_is_a_refusal_and_claims_nothing() {
    let id = IdSource::function(|_, _| panic!("the id"));
    let clock = |builder: Builder| builder.secret("s").wall_clock(|| panic!("the clock"));
    let stripe = || {
        let mut request = json("a");
        let signature = "t=1700000000,v1=00".parse().expect("a value");
        request.headers_mut().insert("stripe-signature", signature);
        request
    };
    let runs = Runs::default();
    let rig = |provider, configure: fn(Builder) -> Builder| {
        Rig::with(provider, configure, runs.accepting())
    };
    for (rig, request) in [
        (
            rig(Provider::unsigned_json(), |builder| {
                builder.scope(Scope::function(|_| panic!("the scope")))
            }),
            json("a"),
        ),
        (
            rig(Provider::custom("acme").id(id), |builder| builder),
            json("a"),
        ),
        (rig(Provider::stripe(), clock), stripe()),
        (
            rig(Provider::paypal(), |builder| builder.verifier(Falling)),
            json("a"),
        ),
    ] {
        let response = rig.send(request).await;
        assert_eq!(response.status(), 500);
        let refused = Ending::Rejected(Reason::CheckPanicked);
        assert_eq!(response.extensions().get(), Some(&refused));
        let counters = rig.counters();
        assert_eq!(counters.rejected.get(Reason::CheckPanicked), 1);
        assert_eq!((counters.rejected.total(), counters.panicked), (1, 0));
        assert!(rig.store.set().is_empty());
    }
    assert_eq!(runs.get(), 0);
}

struct FallingStore;

impl ClaimStore for FallingStore {
    type Lease = MemoryLease;

    fn retention(&self) -> Duration {
        RETENTION
    }

    async fn claim(&self, _: &Key, _: Duration) -> Result<Outcome<MemoryLease>, StoreError> {
        panic!("the store")
    }

    async fn forget(&self, _: &Key) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[tokio::test]
async fn panic_of_the_store_is_answered_500_and_counted() {
    let layer = WebhookLayer::builder(Provider::unsigned_json(), FallingStore)
        .build()
        .expect("a good configuration");
    let runs = Runs::default();
    let app = Router::new().route(PATH, post(runs.accepting()).layer(layer.clone()));
    let Ok(response) = app.oneshot(json("a")).await;
    assert_eq!(response.status(), 500);
    assert_eq!((runs.get(), layer.counters().panicked), (0, 1));
}
