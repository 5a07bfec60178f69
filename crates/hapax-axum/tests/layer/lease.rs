//! How long is a claim held, and what if that is too short?

use crate::rig::{Gate, Held, Rig, Runs, json, settle};
use axum::response::Response;
use hapax_axum::{Ending, LeasePolicy, Provider};
use http::StatusCode;
use std::time::Duration;
use tokio::task::JoinHandle;
use tower::ServiceExt;

const SECOND: Duration = Duration::from_secs(1);

fn gated(lease: LeasePolicy) -> (Rig, Gate, Runs) {
    let (gate, runs) = (Gate::default(), Runs::default());
    let rig = Rig::with(Provider::unsigned_json(), |builder| builder.lease(lease), {
        let (gate, runs) = (gate.clone(), runs.clone());
        move || {
            let (gate, runs) = (gate.clone(), runs.clone());
            async move {
                runs.add();
                gate.pass().await;
                StatusCode::ACCEPTED
            }
        }
    });
    (rig, gate, runs)
}

fn spawn(rig: &Rig) -> JoinHandle<Response> {
    let app = rig.app.clone();
    tokio::spawn(async move { app.oneshot(json("a")).await.unwrap() })
}

/// Moves the set's clock and Tokio's together.
async fn pass(rig: &Rig, time: Duration) {
    rig.clock.advance(time);
    tokio::time::advance(time).await;
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn renewed_lease_outlives_its_length_while_the_handler_runs() {
    let (rig, gate, runs) = gated(LeasePolicy::Renewed(3 * SECOND));
    let first = spawn(&rig);
    gate.entered().await;
    for _ in 0..30 {
        pass(&rig, SECOND).await;
        assert_eq!(rig.held("a").await, Held::InFlight);
    }
    assert_eq!(rig.post("a").await, 503);
    gate.open();
    let first = first.await.unwrap();
    assert_eq!(first.extensions().get(), Some(&Ending::Completed));
    assert_eq!(runs.get(), 1);
}

/// The counter-proof to the test above: without renewal the same handler is overtaken.
#[tokio::test(start_paused = true)]
async fn handler_that_outlasts_a_fixed_lease_is_overtaken_and_told() {
    let (rig, gate, runs) = gated(LeasePolicy::Fixed(3 * SECOND));
    let first = spawn(&rig);
    gate.entered().await;
    pass(&rig, 4 * SECOND).await;
    let second = spawn(&rig);
    gate.entered().await;
    assert_eq!(runs.get(), 2);
    gate.open();
    gate.open();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    // The answer is the handler's: asking for a retry would run it again for certain.
    assert_eq!(first.status(), 202);
    assert_eq!(first.extensions().get(), Some(&Ending::Lost));
    assert_eq!(second.extensions().get(), Some(&Ending::Completed));
    assert_eq!(rig.held("a").await, Held::Done);
    let counters = rig.counters();
    assert_eq!(
        (counters.lost, counters.completed, counters.released),
        (1, 1, 0)
    );
}

/// An overtaken handler that fails must not release the claim of its successor.
#[tokio::test(start_paused = true)]
async fn overtaken_handler_that_fails_leaves_the_new_claim_alone() {
    let (gate, runs) = (Gate::default(), Runs::default());
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| builder.lease(LeasePolicy::Fixed(3 * SECOND)),
        {
            let (gate, runs) = (gate.clone(), runs.clone());
            move || {
                let (gate, run) = (gate.clone(), runs.add());
                async move {
                    gate.pass().await;
                    match run {
                        1 => StatusCode::INTERNAL_SERVER_ERROR,
                        _ => StatusCode::ACCEPTED,
                    }
                }
            }
        },
    );
    let first = spawn(&rig);
    gate.entered().await;
    pass(&rig, 4 * SECOND).await;
    let second = spawn(&rig);
    gate.entered().await;
    gate.open();
    assert_eq!(first.await.unwrap().status(), 500);
    assert_eq!(rig.held("a").await, Held::InFlight);
    gate.open();
    assert_eq!(second.await.unwrap().status(), 202);
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test(start_paused = true)]
async fn default_lease_covers_the_handlers_limit() {
    let (rig, gate, _) = gated(LeasePolicy::default());
    let first = spawn(&rig);
    gate.entered().await;
    // One moment before the handler's limit the claim is still held, unextended.
    pass(&rig, 60 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(rig.held("a").await, Held::InFlight);
    pass(&rig, Duration::from_millis(1)).await;
    assert_eq!(first.await.unwrap().status(), 504);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test(start_paused = true)]
async fn budget_over_the_retention_is_clamped_and_extended() {
    // A retention of 3 s under a handler limit of 60 s.
    let clock = hapax::ManualClock::new();
    let set = hapax::DedupSet::builder()
        .retention(3 * SECOND)
        .clock(clock.clone())
        .build()
        .unwrap();
    let store = hapax_store::MemoryStore::from(set);
    let layer = hapax_axum::WebhookLayer::builder(Provider::unsigned_json(), store.clone())
        .build()
        .unwrap();
    let gate = Gate::default();
    let app = axum::Router::new().route(
        crate::rig::PATH,
        axum::routing::post({
            let gate = gate.clone();
            move || {
                let gate = gate.clone();
                async move { gate.pass().await }
            }
        })
        .layer(layer.clone()),
    );
    let rig = Rig {
        clock,
        store,
        layer,
        app,
    };
    let first = spawn(&rig);
    gate.entered().await;
    for _ in 0..20 {
        pass(&rig, SECOND).await;
        assert_eq!(rig.held("a").await, Held::InFlight);
    }
    gate.open();
    assert_eq!(first.await.unwrap().status(), 200);
}
