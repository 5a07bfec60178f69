//! How often does one request allocate because of the layer?
//!
//! Counted against the same handler without the layer, in one thread. The numbers
//! stand in the crate's documentation; a change here is a change there. The `metrics`
//! feature allocates for its labels, and is not counted.
#![cfg(not(feature = "metrics"))]

use axum::{Router, body::Body, extract::Request, routing::post};
use hapax_axum::{Delivery, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use sha2::Sha256;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{alloc::System, time::Duration};
use tower::Service;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// At most so many more than without the layer, for a first and for a duplicate.
const FIRST: isize = 20;
const DUPLICATE: isize = 11;

const BODY: &str = r#"{"zen":"Keep it logically awesome."}"#;

fn request(id: &str) -> Request {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s").unwrap();
    mac.update(BODY.as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    Request::post("/github")
        .header("x-github-delivery", id)
        .header("x-hub-signature-256", format!("sha256={signature}"))
        .body(Body::from(BODY))
        .unwrap()
}

/// Sends one request and returns how many allocations that took.
async fn count(app: &mut Router, request: Request, status: u16) -> isize {
    let region = Region::new(ALLOCATOR);
    let response = app.call(request).await.unwrap();
    let change = region.change();
    assert_eq!(response.status(), status);
    isize::try_from(change.allocations + change.reallocations).unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn a_request_allocates_as_often_as_documented() {
    let bare = post(|| async { StatusCode::ACCEPTED });
    let layered = post(|_: Delivery| async { StatusCode::ACCEPTED });
    let store = MemoryStore::new(Duration::from_secs(96 * 3600));
    let layer = WebhookLayer::builder(Provider::github(), store)
        .secret("s")
        .build()
        .unwrap();
    let mut without: Router = Router::new().route("/github", bare);
    let mut with: Router = Router::new().route("/github", layered.layer(layer));
    // The first requests fill lazy statics and the set's first table.
    for id in ["warm", "up"] {
        count(&mut without, request(id), 202).await;
        count(&mut with, request(id), 202).await;
    }
    let bare = count(&mut without, request("a"), 202).await;
    let first = count(&mut with, request("a"), 202).await - bare;
    let duplicate = count(&mut with, request("a"), 200).await - bare;
    assert!(first <= FIRST, "{first} for a first delivery");
    assert!(duplicate <= DUPLICATE, "{duplicate} for a duplicate");
}
