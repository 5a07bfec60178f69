//! What can a handler ask for, and what if the layer is not there?

use crate::rig::{Gate, Held, RETENTION, Rig, json, raw, settle, text};
use axum::{
    Json, Router,
    body::Bytes,
    routing::{get, post},
};
use hapax_axum::{
    ClaimHandle, Delivery, DeliveryOutcome, Ending, IdSource, Items, LeasePolicy, Provider,
    Verified, WebhookLayer,
};
use hapax_store::{MemoryStore, SettleError};
use http::StatusCode;
use std::time::Duration;
use tower::ServiceExt;

#[tokio::test]
async fn delivery_tells_provider_id_attempt_and_outcome() {
    let provider = Provider::custom("acme")
        .id(IdSource::pointer("/id"))
        .attempt_header("x-attempt");
    let rig = Rig::with(
        provider,
        |b| b,
        |delivery: Delivery| async move {
            assert_eq!(delivery.outcome(), DeliveryOutcome::First);
            format!(
                "{} {} {:?}",
                delivery.provider(),
                delivery.id(),
                delivery.attempt()
            )
        },
    );
    let mut request = json("a");
    request
        .headers_mut()
        .insert("x-attempt", "3".parse().unwrap());
    assert_eq!(text(rig.send(request).await).await, "acme a Some(3)");
    let mut request = json("b");
    request
        .headers_mut()
        .insert("x-attempt", "three".parse().unwrap());
    assert_eq!(text(rig.send(request).await).await, "acme b None");
}

#[tokio::test]
async fn debug_of_a_delivery_hides_the_id() {
    let rig = Rig::new(|delivery: Delivery| async move { format!("{delivery:?}") });
    let shown = text(rig.send(json("secret-id")).await).await;
    assert!(!shown.contains("secret-id"), "{shown}");
    // `printf %s secret-id | sha256sum | cut -c1-16`
    assert!(shown.contains("2d4e223a1833d38f"), "{shown}");
}

#[tokio::test]
async fn verified_gives_the_same_bytes_in_any_shape() {
    let rig = Rig::new(|Verified(body): Verified<Bytes>| async move { body });
    assert_eq!(
        text(rig.send(raw(r#"{ "id":"a" }"#)).await).await,
        r#"{ "id":"a" }"#
    );

    let rig = Rig::new(
        |Verified(Json(body)): Verified<Json<serde_json::Value>>| async move {
            body["id"].as_str().unwrap().to_owned()
        },
    );
    let mut request = json("a");
    request
        .headers_mut()
        .insert("content-type", "application/json".parse().unwrap());
    assert_eq!(text(rig.send(request).await).await, "a");
    // The inner extractor's own rejection comes through, and releases.
    assert_eq!(rig.post("b").await, 415);
    assert_eq!(rig.held("b").await, Held::Nothing);
}

#[tokio::test]
async fn missing_layer_is_a_500_that_says_so() {
    let app = Router::new()
        .route("/delivery", post(|_: Delivery| async {}))
        .route("/verified", post(|_: Verified<Bytes>| async {}))
        .route("/claim", post(|_: ClaimHandle| async {}))
        .route("/items", post(|_: Items| async {}))
        .route(
            "/optional",
            post(|d: Option<Delivery>| async move {
                assert!(d.is_none());
            }),
        );
    for path in ["/delivery", "/verified", "/claim", "/items"] {
        let request = http::Request::post(path)
            .body(axum::body::Body::empty())
            .unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        assert!(text(response).await.contains("WebhookLayer"), "{path}");
    }
    let request = http::Request::post("/optional")
        .body(axum::body::Body::empty())
        .unwrap();
    assert_eq!(app.oneshot(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn method_that_passed_by_is_told_apart_from_a_missing_layer() {
    let layer = WebhookLayer::builder(Provider::unsigned_json(), MemoryStore::new(RETENTION))
        .build()
        .unwrap();
    let app = Router::new().route("/", get(|_: Delivery| async {}).layer(layer));
    let request = http::Request::get("/")
        .body(axum::body::Body::empty())
        .unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(response.status(), 500);
    assert!(text(response).await.contains("does not check this method"));
}

#[tokio::test]
async fn taken_claim_is_left_alone_and_settled_by_its_holder() {
    let gate = Gate::default();
    let rig = Rig::new({
        let gate = gate.clone();
        move |claim: ClaimHandle| {
            let gate = gate.clone();
            async move {
                tokio::spawn(async move {
                    gate.pass().await;
                    claim.complete().await.unwrap();
                });
                StatusCode::ACCEPTED
            }
        }
    });
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.extensions().get(), Some(&Ending::HandedOver));
    assert_eq!(rig.held("a").await, Held::InFlight);
    // A drain waits for the work that was handed over.
    let layer = rig.layer.clone();
    let drain = tokio::spawn(async move { layer.drain(Duration::from_secs(3600)).await });
    gate.entered().await;
    settle().await;
    assert!(!drain.is_finished());
    gate.open();
    drain.await.unwrap();
    assert_eq!(rig.held("a").await, Held::Done);
    let counters = rig.counters();
    assert_eq!((counters.handed_over, counters.completed), (1, 1));
}

#[tokio::test]
async fn dropped_handle_releases() {
    let rig = Rig::new(|claim: ClaimHandle| async move { drop(claim) });
    assert_eq!(rig.post("a").await, 200);
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.counters().released, 1);
}

#[tokio::test]
async fn handle_is_there_once() {
    let rig = Rig::new(
        |first: ClaimHandle, second: Result<ClaimHandle, _>| async move {
            first.complete().await.unwrap();
            let second: hapax_axum::MissingLayer = second.unwrap_err();
            second.to_string()
        },
    );
    let response = rig.send(json("a")).await;
    assert!(text(response).await.contains("already taken"));
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test(start_paused = true)]
async fn handle_extends_while_the_work_goes_on_and_follows_its_result() {
    let gate = Gate::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |b| b.lease(LeasePolicy::Renewed(Duration::from_secs(3))),
        {
            let gate = gate.clone();
            move |claim: ClaimHandle, delivery: Delivery| {
                let gate = gate.clone();
                async move {
                    tokio::spawn(claim.complete_after(async move {
                        gate.pass().await;
                        if delivery.id() == "good" {
                            Ok(())
                        } else {
                            Err(())
                        }
                    }));
                }
            }
        },
    );
    for (id, held) in [("good", Held::Done), ("bad", Held::Nothing)] {
        assert_eq!(rig.post(id).await, 200);
        gate.entered().await;
        for _ in 0..10 {
            rig.clock.advance(Duration::from_secs(1));
            tokio::time::advance(Duration::from_secs(1)).await;
            settle().await;
        }
        assert_eq!(rig.held(id).await, Held::InFlight);
        gate.open();
        settle().await;
        assert_eq!(rig.held(id).await, held);
    }
}

#[tokio::test]
async fn handle_is_told_when_its_lease_was_lost() {
    let (told, mut hears) = tokio::sync::mpsc::channel(1);
    let rig = Rig::with(
        Provider::unsigned_json(),
        |b| b.lease(LeasePolicy::Fixed(Duration::from_secs(3))),
        move |mut claim: ClaimHandle| {
            let told = told.clone();
            async move {
                claim.extend(Duration::from_secs(5)).await.unwrap();
                told.send(claim).await.unwrap();
            }
        },
    );
    assert_eq!(rig.post("a").await, 200);
    let claim = hears.recv().await.unwrap();
    rig.clock.advance(Duration::from_secs(6));
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert!(matches!(claim.complete().await, Err(SettleError::Lost)));
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.counters().lost, 1);
}
