//! What if a store or a verifier takes for ever?

use crate::rig::{PATH, RETENTION, Rig, Runs, json, raw};
use axum::{Router, routing::post};
use hapax_axum::{
    Builder, Counters, Ending, IdSource, InFlight, Provider, Reason, STORE_TIMEOUT, StoreFailure,
    WebhookLayer,
    signature::{SignedRequest, Verify, VerifyError},
};
use hapax_store::{ClaimStore, Key, MemoryLease, MemoryStore, Outcome, StoreError};
use http::{Request, StatusCode};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

/// A store that claims at once and then takes its time to say so, from its `after`-th
/// claim on.
#[derive(Clone)]
struct Silent {
    store: MemoryStore,
    takes: Duration,
    after: usize,
    claims: Arc<AtomicUsize>,
}

impl Silent {
    fn new(takes: Duration) -> Self {
        Self {
            store: MemoryStore::new(RETENTION),
            takes,
            after: 0,
            claims: Arc::default(),
        }
    }
}

impl ClaimStore for Silent {
    type Lease = MemoryLease;

    fn retention(&self) -> Duration {
        RETENTION
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<MemoryLease>, StoreError> {
        let claimed = self.store.claim(key, lease).await;
        // SeqCst: a test's counter; no partner worth naming.
        if self.claims.fetch_add(1, Ordering::SeqCst) >= self.after {
            sleep(self.takes).await;
        }
        claimed
    }

    async fn forget(&self, _: &Key) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// Sends a request and returns status, `Retry-After`, what it took, and the counters.
async fn send(
    provider: Provider,
    store: &Silent,
    configure: impl FnOnce(Builder) -> Builder,
    request: Request<axum::body::Body>,
    runs: &Runs,
) -> (StatusCode, bool, Duration, Counters) {
    let layer = configure(WebhookLayer::builder(provider, store.clone()))
        .build()
        .expect("a good configuration");
    let app = Router::new().route(PATH, post(runs.accepting()).layer(layer.clone()));
    let before = Instant::now();
    let Ok(response) = app.oneshot(request).await;
    let later = response.headers().contains_key("retry-after");
    (response.status(), later, before.elapsed(), layer.counters())
}

const FOR_EVER: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn late_store_is_a_failed_one_and_what_it_claimed_is_free() {
    let (runs, store) = (Runs::default(), Silent::new(FOR_EVER));
    let unsigned = Provider::unsigned_json();
    let (status, later, took, counters) = send(unsigned, &store, |b| b, json("a"), &runs).await;
    assert_eq!((status.as_u16(), later), (503, true));
    assert_eq!(took, STORE_TIMEOUT);
    assert_eq!(counters.rejected.get(Reason::StoreUnavailable), 1);
    assert_eq!((runs.get(), counters.first), (0, 0));
    assert!(store.store.set().is_empty());
}

#[tokio::test(start_paused = true)]
async fn late_store_may_let_the_request_through() {
    let (runs, store) = (Runs::default(), Silent::new(FOR_EVER));
    let configure = |b: Builder| {
        b.store_failure(StoreFailure::LetThrough)
            .store_timeout(Duration::from_millis(70))
    };
    let unsigned = Provider::unsigned_json();
    let (status, _, took, counters) = send(unsigned, &store, configure, json("a"), &runs).await;
    assert_eq!(status, 202);
    assert_eq!(took, Duration::from_millis(70));
    assert_eq!((runs.get(), counters.unchecked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn store_that_answers_just_in_time_is_believed() {
    let just = STORE_TIMEOUT - Duration::from_millis(1);
    let (runs, store) = (Runs::default(), Silent::new(just));
    let unsigned = Provider::unsigned_json();
    let (status, _, took, counters) = send(unsigned, &store, |b| b, json("a"), &runs).await;
    assert_eq!((status.as_u16(), took), (202, just));
    assert_eq!((counters.first, counters.completed), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn batch_has_the_limit_once_for_all_its_items() {
    let (runs, store) = (Runs::default(), Silent::new(STORE_TIMEOUT / 2));
    let acme = || Provider::custom("acme").id(IdSource::items("/id"));
    let items = || raw(r#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#);
    let (status, later, took, counters) = send(acme(), &store, |b| b, items(), &runs).await;
    assert_eq!((status.as_u16(), later), (503, true));
    assert_eq!(took, STORE_TIMEOUT);
    assert_eq!(counters.rejected.get(Reason::StoreUnavailable), 1);
    assert!(store.store.set().is_empty());

    let let_through = |b: Builder| b.store_failure(StoreFailure::LetThrough);
    let (status, _, _, counters) = send(acme(), &store, let_through, items(), &runs).await;
    assert_eq!((status.as_u16(), counters.unchecked), (202, 3));
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_waits_has_the_limit_for_each_look() {
    let store = Silent {
        after: 2,
        ..Silent::new(FOR_EVER)
    };
    // Somebody else holds it, and the first two looks are answered at once.
    let held = store.store.claim(&Key::new(PATH, b"a"), FOR_EVER).await;
    let wait = Duration::from_secs(60);
    let configure = |b: Builder| b.in_flight(InFlight::Wait(wait));
    let runs = Runs::default();
    let unsigned = Provider::unsigned_json();
    let (status, _, took, counters) = send(unsigned, &store, configure, json("a"), &runs).await;
    assert_eq!(status, 503);
    assert!(took >= STORE_TIMEOUT && took < STORE_TIMEOUT + Duration::from_secs(1));
    assert_eq!(counters.rejected.get(Reason::StoreUnavailable), 1);
    drop(held);
}

struct Thinking(Duration);

impl Verify for Thinking {
    async fn verify(&self, _: &SignedRequest) -> Result<(), VerifyError> {
        sleep(self.0).await;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn late_verifier_is_503_whatever_the_policy_and_claims_nothing() {
    let rig = |takes| {
        let configure = move |builder: Builder| {
            builder
                .verifier(Thinking(takes))
                .store_failure(StoreFailure::LetThrough)
        };
        Rig::with(Provider::paypal(), configure, Runs::default().accepting())
    };
    let late = rig(STORE_TIMEOUT + Duration::from_millis(1));
    let before = Instant::now();
    let response = late.send(json("a")).await;
    assert_eq!(before.elapsed(), STORE_TIMEOUT);
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    let refused = Ending::Rejected(Reason::VerifierUnavailable);
    assert_eq!(response.extensions().get(), Some(&refused));
    let counters = late.counters();
    assert_eq!(counters.rejected.get(Reason::VerifierUnavailable), 1);
    assert_eq!(counters.rejected.total(), 1);
    assert!(late.store.set().is_empty());

    let in_time = rig(STORE_TIMEOUT - Duration::from_millis(1));
    assert_eq!(in_time.post("a").await, 202);
}
