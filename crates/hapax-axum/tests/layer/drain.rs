//! What does a graceful shutdown do to running handlers?

use crate::rig::{Gate, Held, Rig, Runs, json, settle};
use hapax_axum::{Drained, HangUp, LeasePolicy, Provider, Reason};
use http::StatusCode;
use std::time::Duration;
use tower::ServiceExt;

fn gated() -> (Rig, Gate) {
    let gate = Gate::default();
    let rig = Rig::new({
        let gate = gate.clone();
        move || {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                StatusCode::ACCEPTED
            }
        }
    });
    (rig, gate)
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_a_handler_whose_sender_is_gone() {
    let (rig, gate) = gated();
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    request.abort();
    let layer = rig.layer.clone();
    let drain = tokio::spawn(async move { layer.drain(Duration::from_secs(10)).await });
    settle().await;
    assert!(!drain.is_finished());
    gate.open();
    assert_eq!(drain.await.unwrap().stopped, 0);
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test(start_paused = true)]
async fn handlers_still_running_at_the_deadline_are_stopped_and_released() {
    let (rig, gate) = gated();
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    let before = tokio::time::Instant::now();
    let drained = rig.layer.drain(Duration::from_secs(10)).await;
    assert_eq!(drained.stopped, 1);
    assert_eq!(before.elapsed(), Duration::from_secs(10));
    let response = request.await.unwrap().unwrap();
    assert_eq!(response.status(), 503);
    // Every 503 of the layer says when to come back; this one did not.
    assert!(response.headers().contains_key("retry-after"));
    assert_eq!(rig.held("a").await, Held::Nothing);
    let counters = rig.counters();
    assert_eq!((counters.cancelled, counters.released), (1, 1));
}

#[tokio::test]
async fn new_deliveries_are_refused_with_503_once_draining() {
    let rig = Rig::new(Runs::default().accepting());
    let Drained { stopped, .. } = rig.layer.drain(Duration::ZERO).await;
    assert_eq!(stopped, 0);
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    assert!(rig.store.set().is_empty());
    assert_eq!(rig.counters().rejected.get(Reason::Draining), 1);
}

#[tokio::test(start_paused = true)]
async fn drain_stops_cancellable_handlers_too() {
    let gate = Gate::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| {
            builder
                .hang_up(HangUp::Cancel)
                .lease(LeasePolicy::Renewed(Duration::from_secs(3)))
        },
        {
            let gate = gate.clone();
            move || {
                let gate = gate.clone();
                async move { gate.pass().await }
            }
        },
    );
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    gate.entered().await;
    assert_eq!(rig.layer.drain(Duration::from_secs(1)).await.stopped, 1);
    assert_eq!(request.await.unwrap().unwrap().status(), 503);
    assert_eq!(rig.held("a").await, Held::Nothing);
}
