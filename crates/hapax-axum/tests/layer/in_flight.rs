//! What is a copy told while the first run goes on?

use crate::rig::{Gate, Held, Rig, Runs, json, settle};
use axum::response::Response;
use hapax_axum::{Ending, InFlight, LeasePolicy, Provider};
use http::StatusCode;
use std::time::Duration;
use tokio::task::JoinHandle;
use tower::ServiceExt;

const LEASE: Duration = Duration::from_millis(20_500);

/// A rig whose first run waits at the gate and then answers `status`.
fn gated(answer: InFlight, status: StatusCode) -> (Rig, Gate, Runs) {
    let gate = Gate::default();
    let runs = Runs::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| builder.in_flight(answer).lease(LeasePolicy::Fixed(LEASE)),
        {
            let (gate, runs) = (gate.clone(), runs.clone());
            move || {
                let (gate, runs) = (gate.clone(), runs.clone());
                async move {
                    if runs.add() == 1 {
                        gate.pass().await;
                        status
                    } else {
                        StatusCode::ACCEPTED
                    }
                }
            }
        },
    );
    (rig, gate, runs)
}

fn spawn(rig: &Rig) -> JoinHandle<Response> {
    let app = rig.app.clone();
    tokio::spawn(async move { app.oneshot(json("a")).await.unwrap() })
}

#[tokio::test]
async fn copy_in_flight_gets_503_and_the_lease_rounded_up() {
    let (rig, gate, runs) = gated(InFlight::Unavailable, StatusCode::ACCEPTED);
    let first = spawn(&rig);
    gate.entered().await;
    let copy = rig.send(json("a")).await;
    assert_eq!(copy.status(), 503);
    assert_eq!(copy.headers()["retry-after"], "21");
    assert_eq!(copy.extensions().get(), Some(&Ending::InFlight));
    assert_eq!(rig.held("a").await, Held::InFlight);
    gate.open();
    assert_eq!(first.await.unwrap().status(), 202);
    assert_eq!(rig.post("a").await, 200);
    assert_eq!(runs.get(), 1);
    assert_eq!(rig.counters().in_flight, 1);
}

#[tokio::test]
async fn other_answers_can_be_chosen() {
    for (answer, status, retry) in [
        (InFlight::TooManyRequests, 429, true),
        (InFlight::Conflict, 409, false),
        (InFlight::Accepted, 202, false),
    ] {
        let (rig, gate, _) = gated(answer, StatusCode::ACCEPTED);
        let first = spawn(&rig);
        gate.entered().await;
        let copy = rig.send(json("a")).await;
        assert_eq!(copy.status(), status);
        assert_eq!(copy.headers().contains_key("retry-after"), retry);
        gate.open();
        first.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_copy_becomes_a_duplicate_when_the_first_run_succeeds() {
    let (rig, gate, runs) = gated(InFlight::Wait(Duration::from_secs(5)), StatusCode::ACCEPTED);
    let first = spawn(&rig);
    gate.entered().await;
    let copy = spawn(&rig);
    settle().await;
    gate.open();
    assert_eq!(first.await.unwrap().status(), 202);
    assert_eq!(copy.await.unwrap().status(), 200);
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_copy_runs_when_the_first_run_fails() {
    let (rig, gate, runs) = gated(
        InFlight::Wait(Duration::from_secs(5)),
        StatusCode::INTERNAL_SERVER_ERROR,
    );
    let first = spawn(&rig);
    gate.entered().await;
    let copy = spawn(&rig);
    settle().await;
    gate.open();
    assert_eq!(first.await.unwrap().status(), 500);
    assert_eq!(copy.await.unwrap().status(), 202);
    assert_eq!(runs.get(), 2);
    assert_eq!(rig.held("a").await, Held::Done);
}

#[tokio::test(start_paused = true)]
async fn waiting_copy_gives_up_after_its_time() {
    let (rig, gate, _) = gated(InFlight::Wait(Duration::from_secs(5)), StatusCode::ACCEPTED);
    let first = spawn(&rig);
    gate.entered().await;
    let before = tokio::time::Instant::now();
    let copy = rig.send(json("a")).await;
    assert_eq!(copy.status(), 503);
    assert_eq!(before.elapsed(), Duration::from_secs(5));
    gate.open();
    first.await.unwrap();
}
