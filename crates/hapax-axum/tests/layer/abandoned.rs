//! What happens when the sender hangs up?

use crate::rig::{Gate, Held, Rig, json, raw, settle};
use axum::body::Body;
use bytes::Bytes;
use hapax_axum::{HangUp, Provider, Reason};
use http::StatusCode;
use http_body_util::channel::{Channel, Sender};
use std::{io, time::Duration};
use tower::ServiceExt;

/// A handler that waits at the gate.
fn gated(hang_up: HangUp) -> (Rig, Gate) {
    let gate = Gate::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| builder.hang_up(hang_up),
        {
            let gate = gate.clone();
            move || {
                let gate = gate.clone();
                async move {
                    gate.pass().await;
                    StatusCode::ACCEPTED
                }
            }
        },
    );
    (rig, gate)
}

#[tokio::test]
async fn handler_finishes_when_the_sender_hangs_up_and_the_id_is_done() {
    let (rig, gate) = gated(HangUp::Finish);
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert_eq!(rig.held("a").await, Held::InFlight);
    gate.open();
    settle().await;
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.post("a").await, 200);
}

#[tokio::test]
async fn cancelling_drops_the_handler_and_releases() {
    let (rig, gate) = gated(HangUp::Cancel);
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    settle().await;
    assert_eq!(rig.held("a").await, Held::Nothing);
    let counters = rig.counters();
    assert_eq!(
        (counters.cancelled, counters.released, counters.running),
        (1, 1, 0)
    );
}

#[tokio::test]
async fn cancelling_does_not_touch_a_request_that_is_answered() {
    let (rig, gate) = gated(HangUp::Cancel);
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    gate.open();
    assert_eq!(request.await.unwrap().unwrap().status(), 202);
    settle().await;
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.counters().cancelled, 0);
}

#[tokio::test]
async fn nothing_is_claimed_when_the_sender_leaves_while_sending() {
    let (rig, _) = gated(HangUp::Finish);
    let (mut sender, body) = channel();
    let request = tokio::spawn(rig.app.clone().oneshot(raw(body)));
    sender.send_data(Bytes::from(r#"{"id":"#)).await.unwrap();
    settle().await;
    request.abort();
    let _ = request.await;
    settle().await;
    assert!(rig.store.set().is_empty());
    let counters = rig.counters();
    assert_eq!(counters.rejected.get(Reason::BodyBroken), 1);
    assert_eq!((counters.rejected.total(), counters.first), (1, 0));
}

#[tokio::test]
async fn body_that_breaks_off_claims_nothing() {
    let (rig, _) = gated(HangUp::Finish);
    let (mut sender, body) = channel();
    let request = tokio::spawn(rig.app.clone().oneshot(raw(body)));
    sender
        .send_data(Bytes::from(r#"{"id":"a"}"#))
        .await
        .unwrap();
    sender.abort(io::Error::from(io::ErrorKind::ConnectionReset));
    assert_eq!(request.await.unwrap().unwrap().status(), 400);
    assert!(rig.store.set().is_empty());
    assert_eq!(rig.counters().rejected.get(Reason::BodyBroken), 1);
}

/// A timeout layer outside drops our future, which is the sender hanging up.
#[tokio::test(start_paused = true)]
async fn timeout_outside_is_the_sender_hanging_up() {
    let (rig, gate) = gated(HangUp::Finish);
    let request = rig.app.clone().oneshot(json("a"));
    let timed_out = tokio::time::timeout(Duration::from_secs(1), request).await;
    assert!(timed_out.is_err());
    assert_eq!(rig.held("a").await, Held::InFlight);
    gate.open();
    settle().await;
    assert_eq!(rig.held("a").await, Held::Done);
}

/// A body that the test sends piece by piece.
fn channel() -> (Sender<Bytes, io::Error>, Body) {
    let (sender, body) = Channel::new(4);
    (sender, Body::new(body))
}
