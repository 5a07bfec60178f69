//! What does a panic leave behind?

use crate::rig::{Held, Rig, Runs, json, settle};
use axum::{extract::Request, response::Response};
use hapax_axum::Ending;
use http::StatusCode;
use std::convert::Infallible;
use tower::{Layer, ServiceExt, service_fn};

#[tokio::test]
async fn panic_is_answered_500_and_the_retry_runs() {
    let runs = Runs::default();
    let rig = Rig::new(move || {
        let run = runs.add();
        async move {
            assert!(run > 1, "the first run panics");
            StatusCode::ACCEPTED
        }
    });
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 500);
    assert_eq!(response.extensions().get(), Some(&Ending::Released));
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.post("a").await, 202);
    let counters = rig.counters();
    assert_eq!(
        (counters.panicked, counters.released, counters.running),
        (1, 1, 0)
    );
}

#[tokio::test]
async fn panic_after_an_await_is_the_same() {
    let rig = Rig::new(|| async {
        tokio::task::yield_now().await;
        if true {
            panic!("later");
        }
    });
    assert_eq!(rig.post("a").await, 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test]
async fn panic_in_the_inner_call_is_the_same() {
    let rig = Rig::new(|| async {});
    let service = rig.layer.layer(service_fn(|_: Request| {
        if true {
            panic!("before any future is there");
        }
        std::future::ready(Ok::<Response, Infallible>(Response::default()))
    }));
    assert_eq!(service.oneshot(json("a")).await.unwrap().status(), 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

/// A handler whose local panics when it is dropped takes the task down after the
/// handler itself was caught: the guard's drop must release.
#[tokio::test(start_paused = true)]
async fn panic_in_a_drop_is_answered_500_and_releases() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in drop");
            }
        }
    }
    // Held over an await, so that the handler's limit drops it.
    let rig = Rig::new(|| async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    });
    assert_eq!(rig.post("a").await, 500);
    settle().await;
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.counters().running, 0);
}
