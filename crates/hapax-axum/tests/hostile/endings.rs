//! Uploads that break off at every byte, and handlers that panic.

use crate::server::{Sender, bounded, delivery, serve};
use hapax_axum::{Builder, HangUp, Reason};
use std::time::Duration;
use tokio::task::JoinSet;

/// Cuts a request off behind each of its bytes, by an end or by a reset.
async fn cut(configure: impl FnOnce(Builder) -> Builder) {
    let set = hapax::DedupSet::new(Duration::from_secs(96 * 3600));
    let server = crate::server::serve_with(set, configure).await;
    let whole = delivery("wait-cut");
    for at in 0..whole.len() {
        let mut sender = server.connect().await;
        sender.write(&whole[..at]).await;
        if at % 2 == 0 {
            // Lost, not closed: the next thing the server sees is a reset.
            sender.socket.set_zero_linger().expect("a socket");
        }
        drop(sender);
    }
    assert!(server.store.set().is_empty());
    // All of it, and gone before the answer.
    for _ in 0..20 {
        let mut sender = server.connect().await;
        sender.write(&whole).await;
        drop(sender);
    }
    // The last word is a delivery that somebody waits for.
    let mut sender = server.connect().await;
    let status = bounded(async {
        loop {
            match sender.send(&whole).await {
                Some(503) => tokio::task::yield_now().await,
                other => break other,
            }
        }
    })
    .await;
    assert!(matches!(status, Some(200 | 202)), "{status:?}");
    let store = server.store.clone();
    let counters = server.balance().await;
    assert_eq!((counters.completed, store.set().len()), (1, 1));
    assert_eq!(
        counters.rejected.total(),
        counters.rejected.get(Reason::BodyBroken)
    );
}

#[tokio::test]
async fn uploads_cut_off_anywhere_claim_nothing_and_finish_if_complete() {
    cut(|builder| builder).await;
}

#[tokio::test]
async fn uploads_cut_off_anywhere_claim_nothing_where_hanging_up_cancels() {
    cut(|builder| builder.hang_up(HangUp::Cancel)).await;
}

/// Nobody tells the layer that these bodies will not come: its futures are just dropped.
#[tokio::test]
async fn uploads_under_way_when_the_server_closes_are_counted() {
    let server = serve().await;
    let whole = delivery("under-way");
    let mut senders = Vec::new();
    for _ in 0..10 {
        let mut sender = server.connect().await;
        sender.write(&whole[..whole.len() - 1]).await;
        senders.push(sender);
    }
    server.reached(10).await;
    let counters = server.balance().await;
    assert_eq!(counters.rejected.get(Reason::BodyBroken), 10);
    drop(senders);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_panic_in_ten_is_500_and_its_retry_runs() {
    let server = serve().await;
    let address = server.address;
    let mut sending = JoinSet::new();
    for lane in 0..8 {
        sending.spawn(async move {
            let mut sender = Sender::to(address).await;
            let mut panicked = 0;
            for i in 0..100 {
                let (kind, expected) = match i % 10 {
                    3 => ("panic", 500),
                    5 => ("fail", 500),
                    _ => ("wait", 202),
                };
                let request = delivery(&format!("{kind}-{lane}-{i}"));
                assert_eq!(sender.send(&request).await, Some(expected));
                let again = if expected == 500 { 500 } else { 200 };
                assert_eq!(sender.send(&request).await, Some(again));
                panicked += u64::from(kind == "panic") * 2;
            }
            panicked
        });
    }
    let panicked: u64 = bounded(sending.join_all()).await.iter().sum();
    let counters = server.balance().await;
    assert_eq!((counters.panicked, panicked), (160, 160));
    assert_eq!((counters.completed, counters.released), (640, 320));
}
