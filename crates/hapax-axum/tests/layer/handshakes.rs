//! Which requests are answered that are no deliveries?

use crate::rig::{PATH, RETENTION, Rig, Runs, raw, store, text};
use axum::{Router, body::Body, extract::Request, routing::any};
use hapax::ManualClock;
use hapax_axum::{Builder, Ending, Handshake, IdSource, Provider, Reason, WebhookLayer};
use hapax_store::MemoryStore;
use tower::ServiceExt;

fn cloudevents(configure: impl FnOnce(Builder) -> Builder) -> (Router, WebhookLayer, Runs) {
    let store = MemoryStore::new(RETENTION);
    let layer = configure(WebhookLayer::builder(Provider::cloudevents(), store).secret("t"))
        .build()
        .unwrap();
    let runs = Runs::default();
    let app = Router::new().route(PATH, any(runs.accepting()).layer(layer.clone()));
    (app, layer, runs)
}

fn options(origin: Option<&str>) -> Request {
    let mut request = Request::builder().method("OPTIONS").uri(PATH);
    if let Some(origin) = origin {
        request = request.header("webhook-request-origin", origin);
    }
    request
        .header("webhook-request-rate", "120")
        .body(Body::empty())
        .unwrap()
}

#[tokio::test]
async fn cloud_events_sender_is_told_that_its_origin_is_welcome() {
    let (app, layer, runs) = cloudevents(|b| b);
    let response = app.oneshot(options(Some("sender.example"))).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["webhook-allowed-origin"],
        "sender.example"
    );
    assert_eq!(response.headers()["webhook-allowed-rate"], "*");
    assert_eq!(response.headers()["allow"], "POST, OPTIONS");
    assert_eq!(response.extensions().get(), Some(&Ending::Handshake));
    assert_eq!((runs.get(), layer.counters().handshakes), (0, 1));
}

#[tokio::test]
async fn other_origins_are_refused_where_some_are_named() {
    let named = |b: Builder| b.allowed_origins(["one.example", "Two.example"]);
    let (app, layer, _) = cloudevents(named);
    let welcome = app
        .clone()
        .oneshot(options(Some("two.example")))
        .await
        .unwrap();
    assert_eq!(welcome.headers()["webhook-allowed-origin"], "two.example");
    let refused = app.oneshot(options(Some("three.example"))).await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("webhook-allowed-origin"));
    assert_eq!(layer.counters().rejected.get(Reason::OriginRefused), 1);
}

#[tokio::test]
async fn options_without_an_origin_and_other_providers_options_pass_by() {
    let (app, layer, runs) = cloudevents(|b| b);
    assert_eq!(app.oneshot(options(None)).await.unwrap().status(), 202);
    assert_eq!((runs.get(), layer.counters().passed), (1, 1));

    let layer = WebhookLayer::builder(Provider::unsigned_json(), store(&ManualClock::new()))
        .build()
        .unwrap();
    let app = Router::new().route(PATH, any(runs.accepting()).layer(layer));
    let response = app.oneshot(options(Some("x"))).await.unwrap();
    assert_eq!(response.status(), 202);
}

/// The signed handshake is among the vectors; this one shows what is no handshake.
#[tokio::test]
async fn url_verification_needs_its_type_and_a_challenge() {
    let provider = Provider::custom("acme")
        .id(IdSource::pointer("/event_id"))
        .handshake(Handshake::UrlVerification);
    let rig = Rig::with(provider, |b| b, Runs::default().accepting());
    let yes = rig
        .send(raw(r#"{"type":"url_verification","challenge":"c"}"#))
        .await;
    assert_eq!(yes.status(), 200);
    assert_eq!(yes.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(text(yes).await, "c");
    for no in [
        r#"{"type":"url_verification"}"#,
        r#"{"type":"url_verification","challenge":7}"#,
        r#"{"type":"event_callback","challenge":"c"}"#,
        r#"{"type":"url_verification","type":"x","challenge":"c"}"#,
        "",
    ] {
        assert_eq!(rig.send(raw(no)).await.status(), 400, "{no}");
    }
    assert!(rig.store.set().is_empty());
}
