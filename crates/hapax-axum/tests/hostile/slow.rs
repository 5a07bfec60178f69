//! Senders that take their time.

use crate::server::{BODY, PATIENCE, delivery, delivery_with, serve_impatiently, sign};
use hapax_axum::Reason;
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior};

/// A moment that comes again and again, never twice at once.
fn tick() -> Interval {
    let mut tick = tokio::time::interval(PATIENCE / 10);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

/// Long enough for a busy machine, far below the tests' bound.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn connections_that_say_nothing_or_stop_are_cut_off() {
    let server = serve_impatiently().await;
    for said in ["", "P", "POST /github HTTP/1.1\r\nhost"] {
        let mut sender = server.connect().await;
        sender.write(said).await;
        let status = sender.closed().await;
        assert!(matches!(status, None | Some(408)), "{said:?}: {status:?}");
    }
    let counters = server.balance().await;
    assert_eq!((counters.first, counters.rejected.total()), (0, 0));
}

#[tokio::test]
async fn headers_that_trickle_are_cut_off() {
    let server = serve_impatiently().await;
    let mut slow = server.connect().await;
    let start = Instant::now();
    let head = delivery("slow");
    let mut bytes = head.bytes();
    // A byte now and then: each write would push back a timeout between bytes.
    let mut tick = tick();
    loop {
        tokio::select! {
            status = slow.status() => {
                assert!(matches!(status, None | Some(408)), "{status:?}");
                break;
            }
            _ = tick.tick() => {}
        }
        let byte = bytes.next().expect("closed before the headers ended");
        slow.try_write([byte]).await;
    }
    assert!((PATIENCE..SOON).contains(&start.elapsed()));
    let counters = server.balance().await;
    assert_eq!((counters.first, counters.rejected.total()), (0, 0));
}

#[tokio::test]
async fn body_that_trickles_is_408() {
    let server = serve_impatiently().await;
    let mut slow = server.connect().await;
    let length = format!("content-length: {}", BODY.len());
    slow.write(delivery_with("slow", &sign(BODY), &length, ""))
        .await;
    let start = Instant::now();
    let mut tick = tick();
    let mut bytes = BODY.bytes();
    let status = loop {
        tokio::select! {
            status = slow.status() => break status,
            _ = tick.tick() => {}
        }
        let byte = bytes.next().expect("answered before the body ended");
        slow.try_write([byte]).await;
    };
    assert_eq!(status, Some(408));
    assert!(start.elapsed() < SOON);
    assert!(server.store.set().is_empty());
    let counters = server.balance().await;
    assert_eq!(counters.rejected.get(Reason::BodyTooSlow), 1);
}

#[tokio::test]
async fn sender_that_expects_100_continue_and_never_goes_on_is_408() {
    let server = serve_impatiently().await;
    let mut sender = server.connect().await;
    let headers = format!("expect: 100-continue\r\ncontent-length: {}", BODY.len());
    let head = delivery_with("expecting", &sign(BODY), &headers, "");
    assert_eq!(sender.send(head).await, Some(100));
    assert_eq!(sender.status().await, Some(408));
    let counters = server.balance().await;
    assert_eq!((counters.first, counters.rejected.total()), (0, 1));
}

/// The next request on the same connection is not part of the body that never came.
#[tokio::test]
async fn what_follows_a_body_that_never_came_is_not_believed() {
    let server = serve_impatiently().await;
    let mut slow = server.connect().await;
    let head = delivery_with("slow", &sign(BODY), "content-length: 100000", "");
    assert_eq!(slow.send(head).await, Some(408));
    slow.try_write(delivery("hidden")).await;
    assert_eq!(slow.closed().await, None);
    let counters = server.balance().await;
    assert_eq!((counters.first, counters.rejected.total()), (0, 1));
}
