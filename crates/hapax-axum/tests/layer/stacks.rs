//! Does the layer get along with the layers people put around it and into it?

use crate::rig::{Gate, Held, PATH, Rig, Runs, json, raw, settle, store, text};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    handler::Handler,
    response::Response,
    routing::post,
};
use flate2::{Compression, write::GzEncoder};
use hapax::ManualClock;
use hapax_axum::{Delivery, Ending, Provider, Verified, WebhookLayer};
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use http_body_util::BodyExt;
use sha2::Sha256;
use std::{convert::Infallible, io::Write, time::Duration};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};
use tower_http::{
    catch_panic::CatchPanicLayer, compression::CompressionLayer,
    decompression::RequestDecompressionLayer, limit::RequestBodyLimitLayer, timeout::TimeoutLayer,
    trace::TraceLayer,
};

const SECOND: Duration = Duration::from_secs(1);

fn layer() -> (WebhookLayer, crate::rig::Store) {
    let store = store(&ManualClock::new());
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store.clone())
        .build()
        .unwrap();
    (layer, store)
}

/// The order this crate recommends, outermost first, and more inside.
fn stacked<T: 'static>(handler: impl Handler<T, ()>) -> Rig {
    let (layer, store) = layer();
    let stack = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyLimitLayer::new(4096))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::GATEWAY_TIMEOUT,
            5 * SECOND,
        ))
        .layer(CompressionLayer::new())
        .layer(layer.clone())
        .layer(CompressionLayer::new())
        .layer(TraceLayer::new_for_http())
        .layer(RequestBodyLimitLayer::new(2048))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            50 * SECOND,
        ))
        .layer(CatchPanicLayer::new());
    Rig {
        clock: ManualClock::new(),
        store,
        layer,
        app: Router::new().route(PATH, post(handler).layer(stack)),
    }
}

#[tokio::test]
async fn deliveries_pass_through_a_full_stack_once() {
    let rig = stacked(
        |delivery: Delivery, Verified(body): Verified<Bytes>| async move {
            format!("{} {}", delivery.id(), body.len())
        },
    );
    assert_eq!(text(rig.send(json("a")).await).await, "a 10");
    let second = rig.send(json("a")).await;
    assert_eq!(second.extensions().get(), Some(&Ending::Duplicate));
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test]
async fn panic_under_an_inner_catch_panic_releases() {
    let rig = stacked(|| async {
        if true {
            panic!("boom");
        }
    });
    assert_eq!(rig.post("a").await, 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test]
async fn outer_limit_is_413_too() {
    let (layer, store) = layer();
    let app: Router = Router::new()
        .route(PATH, post(|| async {}).layer(layer))
        .layer(RequestBodyLimitLayer::new(16));
    // No length to refuse by: the limit strikes while our layer reads.
    let (mut sender, channel) = http_body_util::channel::Channel::<Bytes, std::io::Error>::new(4);
    for _ in 0..2 {
        sender
            .send_data(Bytes::from_static(&[b' '; 16]))
            .await
            .unwrap();
    }
    drop(sender);
    let response = app.oneshot(raw(Body::new(channel))).await.unwrap();
    assert_eq!(response.status(), 413);
    assert!(store.set().is_empty());
}

#[tokio::test(start_paused = true)]
async fn outer_timeout_answers_and_the_handler_finishes() {
    let gate = Gate::default();
    let rig = stacked({
        let gate = gate.clone();
        move || {
            let gate = gate.clone();
            async move { gate.pass().await }
        }
    });
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 504);
    assert_eq!(rig.held("a").await, Held::InFlight);
    gate.open();
    settle().await;
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test(start_paused = true)]
async fn inner_timeout_is_a_failure_and_releases() {
    let (layer, store) = layer();
    let inner = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, SECOND);
    let app = Router::new().route(
        PATH,
        post(|| async { std::future::pending::<()>().await })
            .layer(ServiceBuilder::new().layer(layer.clone()).layer(inner)),
    );
    assert_eq!(app.oneshot(json("a")).await.unwrap().status(), 504);
    assert!(store.set().is_empty());
    assert_eq!(layer.counters().released, 1);
}

#[tokio::test]
async fn compressed_answer_still_completes() {
    let rig = stacked(|| async { "x".repeat(1000) });
    let mut request = json("a");
    request
        .headers_mut()
        .insert("accept-encoding", "gzip".parse().unwrap());
    let response = rig.send(request).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert!(
        response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .len()
            < 1000
    );
    assert_eq!(rig.held("a").await, Held::Done);
}

/// The sender signs what it sends, compressed; the handler wants it unpacked.
#[tokio::test]
async fn signature_is_over_the_compressed_bytes_and_the_handler_gets_them_unpacked() {
    let store = store(&ManualClock::new());
    let layer = WebhookLayer::builder(Provider::github(), store.clone())
        .secret("s")
        .build()
        .unwrap();
    let stack = ServiceBuilder::new()
        .layer(layer)
        .layer(RequestDecompressionLayer::new());
    let app = Router::new().route(PATH, post(|body: String| async { body }).layer(stack));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"plain text").unwrap();
    let body = gzip.finish().unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s").unwrap();
    mac.update(&body);
    let request = Request::post(PATH)
        .header("content-encoding", "gzip")
        .header("x-github-delivery", "1")
        .header(
            "x-hub-signature-256",
            format!("sha256={}", hex::encode(mac.finalize().into_bytes())),
        )
        .body(Body::from(body))
        .unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(text(response).await, "plain text");
}

#[tokio::test]
async fn works_as_router_layer_route_layer_and_under_a_fallback() {
    let runs = Runs::default();
    let routes = || Router::new().route(PATH, post(runs.accepting()));
    for app in [
        routes().layer(layer().0),
        routes().route_layer(layer().0),
        Router::new().fallback(runs.accepting()).layer(layer().0),
        Router::new().fallback_service(routes()).layer(layer().0),
        Router::new().merge(routes().route_layer(layer().0)),
    ] {
        for status in [202, 200] {
            let response = app.clone().oneshot(json("a")).await.unwrap();
            assert_eq!(response.status(), status);
        }
    }
    assert_eq!(runs.get(), 5);
    // A route layer leaves unknown paths alone; a layer checks them as well.
    let unknown = || {
        Request::post("/nowhere")
            .body(Body::from("no json"))
            .unwrap()
    };
    let app = routes().route_layer(layer().0);
    assert_eq!(app.oneshot(unknown()).await.unwrap().status(), 404);
    let app = routes().layer(layer().0);
    assert_eq!(app.oneshot(unknown()).await.unwrap().status(), 400);
}

#[tokio::test]
async fn works_without_axum_around_any_service_and_body() {
    let (layer, _) = layer();
    let service = layer.layer(service_fn(|request: Request| async move {
        let delivery = request.extensions().get::<Delivery>().unwrap().clone();
        let body = http_body_util::Full::new(Bytes::from(delivery.id().to_owned()));
        Ok::<_, Infallible>(Response::new(body))
    }));
    let request = http::Request::post("/")
        .body(http_body_util::Full::new(Bytes::from_static(
            br#"{"id":"a"}"#,
        )))
        .unwrap();
    assert_eq!(text(service.oneshot(request).await.unwrap()).await, "a");
}

#[test]
fn types_are_what_a_router_wants() {
    fn router_wants<T: Clone + Send + Sync + 'static>() {}
    fn future_is_send<S>(_: &S)
    where
        S: tower::Service<Request>,
        S::Future: Send + 'static,
    {
    }
    router_wants::<WebhookLayer>();
    router_wants::<hapax_axum::Webhook<axum::routing::Route>>();
    let inner = service_fn(|_: Request| async { Ok::<Response, Infallible>(Response::default()) });
    future_is_send(&layer().0.layer(inner));
}
