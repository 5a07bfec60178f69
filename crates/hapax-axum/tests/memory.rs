//! How much memory does a body take on its way in?

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    routing::post,
};
use hapax_axum::{Provider, WebhookLayer};
use hapax_store::MemoryStore;
use http_body_util::channel::Channel;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{alloc::System, convert::Infallible, time::Duration};
use tower::Service;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A sender of single bytes was given thirty times their number in memory: a list with
/// an entry for each.
#[tokio::test(flavor = "current_thread")]
async fn body_in_single_bytes_takes_memory_of_its_length() {
    const LENGTH: usize = 1 << 18;
    let store = MemoryStore::new(Duration::from_secs(96 * 3600));
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .build()
        .unwrap();
    let handler = post(|body: Bytes| async move { body.len().to_string() }).layer(layer);
    let mut app: Router = Router::new().route("/", handler);
    let (mut sender, body) = Channel::<Bytes, Infallible>::new(16);
    let request = Request::post("/").body(Body::new(body)).unwrap();
    let start = br#"{"id":"a"}"#;
    let region = Region::new(ALLOCATOR);
    let sending = async {
        for i in 0..LENGTH {
            let byte = start.get(i..=i).unwrap_or(b" ");
            sender.send_data(Bytes::from_static(byte)).await.unwrap();
        }
        drop(sender);
    };
    let (answer, ()) = tokio::join!(app.call(request), sending);
    let change = region.change();
    assert_eq!(answer.unwrap().status(), 200);
    // A buffer that doubles has allocated twice its length in the end.
    let bytes = change.bytes_allocated + change.bytes_reallocated.unsigned_abs();
    assert!(bytes < 4 * LENGTH, "{bytes} bytes for {LENGTH}");
}
