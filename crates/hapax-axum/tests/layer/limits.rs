//! Where does the layer stop?

use crate::rig::{Held, Rig, Runs, json, raw, settle};
use axum::body::Body;
use bytes::Bytes;
use hapax_axum::{Ending, Provider, Reason};
use http_body_util::channel::Channel;
use std::{io, time::Duration};
use tower::ServiceExt;

const LIMIT: usize = 64;

fn limited() -> Rig {
    Rig::with(
        Provider::unsigned_json(),
        |builder| builder.body_limit(LIMIT),
        Runs::default().accepting(),
    )
}

/// A JSON body of exactly `len` bytes.
fn body(len: usize) -> String {
    let text = r#"{"id":"a","x":""}"#;
    text.replace(
        r#""x":"""#,
        &format!(r#""x":"{}""#, "y".repeat(len - text.len())),
    )
}

#[tokio::test]
async fn body_at_the_limit_passes_and_one_byte_more_is_413() {
    let rig = limited();
    assert_eq!(rig.send(raw(body(LIMIT + 1))).await.status(), 413);
    assert!(rig.store.set().is_empty());
    assert_eq!(rig.send(raw(body(LIMIT))).await.status(), 202);
    assert_eq!(rig.counters().rejected.get(Reason::BodyTooLarge), 1);
}

#[tokio::test]
async fn body_without_a_length_is_413_while_reading() {
    let rig = limited();
    let (mut sender, channel) = Channel::<Bytes, io::Error>::new(1);
    let request = tokio::spawn(rig.app.clone().oneshot(raw(Body::new(channel))));
    // The channel holds one piece; the sends go on only as long as somebody reads.
    let mut taken = 0;
    while sender
        .send_data(Bytes::from_static(&[b' '; 16]))
        .await
        .is_ok()
    {
        taken += 16;
    }
    assert_eq!(request.await.unwrap().unwrap().status(), 413);
    assert!(taken <= LIMIT + 2 * 16, "{taken} bytes were taken");
    assert!(rig.store.set().is_empty());
}

#[tokio::test(start_paused = true)]
async fn body_that_trickles_is_408_after_ten_seconds() {
    let rig = limited();
    let (mut sender, channel) = Channel::<Bytes, io::Error>::new(1);
    let before = tokio::time::Instant::now();
    let trickle = tokio::spawn(async move {
        while sender.send_data(Bytes::from_static(b" ")).await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let response = rig.send(raw(Body::new(channel))).await;
    assert_eq!(response.status(), 408);
    assert_eq!(before.elapsed(), Duration::from_secs(10));
    trickle.abort();
    assert!(rig.store.set().is_empty());
}

#[tokio::test(start_paused = true)]
async fn handler_is_dropped_at_its_limit_answered_504_and_released() {
    let rig = Rig::new(|| async { std::future::pending::<()>().await });
    let before = tokio::time::Instant::now();
    let response = rig.send(json("a")).await;
    assert_eq!(response.status(), 504);
    assert_eq!(response.extensions().get(), Some(&Ending::Released));
    assert_eq!(before.elapsed(), Duration::from_secs(60));
    assert_eq!(rig.held("a").await, Held::Nothing);
    let counters = rig.counters();
    assert_eq!((counters.timed_out, counters.released), (1, 1));
}

/// The layer's own limit holds without anybody waiting for the answer.
#[tokio::test(start_paused = true)]
async fn handler_limit_holds_after_the_sender_hung_up() {
    let rig = Rig::new(|| async { std::future::pending::<()>().await });
    let request = tokio::spawn(rig.app.clone().oneshot(json("a")));
    settle().await;
    request.abort();
    assert_eq!(rig.held("a").await, Held::InFlight);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test]
async fn empty_body_is_400() {
    let rig = limited();
    assert_eq!(rig.send(raw("")).await.status(), 400);
    assert_eq!(rig.counters().rejected.get(Reason::NotJson), 1);
}

#[tokio::test]
async fn json_nested_ten_thousand_deep_neither_panics_nor_confuses() {
    let rig = Rig::new(Runs::default().accepting());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", r#"{"id":"#.repeat(10_000), "}".repeat(10_000));
    assert_eq!(rig.send(raw(deep.clone())).await.status(), 400);
    assert_eq!(rig.send(raw(objects)).await.status(), 400);
    // Beside the path it is skipped without recursion.
    let beside = format!(r#"{{"x":{deep},"id":"a"}}"#);
    assert_eq!(rig.send(raw(beside)).await.status(), 202);
}
