//! Do a handler's events belong to the request that caused them?

use axum::{Router, body::Body, extract::Request, routing::post};
use hapax_axum::{Provider, WebhookLayer};
use hapax_store::MemoryStore;
use std::time::Duration;
use tower::ServiceExt;
use tracing::{Instrument, Span};
use tracing_subscriber::registry;

/// As soon as the handler waited, it went on in a task of its own and outside the span
/// of the request.
#[tokio::test]
async fn handler_that_waits_stays_in_the_requests_span() {
    let _here = tracing::subscriber::set_default(registry());
    let store = MemoryStore::new(Duration::from_secs(3600));
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .build()
        .unwrap();
    let handler = || async {
        let before = Span::current().id();
        tokio::task::yield_now().await;
        let after = Span::current().id();
        assert!(before.is_some());
        assert_eq!(before, after);
    };
    let app = Router::new().route("/", post(handler).layer(layer.clone()));
    let request = Request::post("/")
        .body(Body::from(r#"{"id":"a"}"#))
        .unwrap();
    let span = tracing::info_span!("request");
    let answer = app.oneshot(request).instrument(span).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(layer.counters().completed, 1);
}
