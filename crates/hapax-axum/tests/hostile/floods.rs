//! Floods: of forged signatures, of new ids, of things to compare.

use crate::server::{
    BODY, Sender, bounded, delivery, delivery_with, forged, serve, serve_with, sign,
};
use hapax::{DedupSet, WhenFull};
use hapax_axum::Reason;
use std::time::Duration;
use tokio::task::JoinSet;

/// Sends all requests over a few connections at once and returns the statuses.
async fn flood(address: std::net::SocketAddr, requests: Vec<String>) -> Vec<u16> {
    let mut sending = JoinSet::new();
    for part in requests.chunks(requests.len().div_ceil(8)) {
        let part = part.to_vec();
        sending.spawn(async move {
            let mut sender = Sender::to(address).await;
            let mut statuses = Vec::new();
            for request in part {
                statuses.push(sender.send(request).await.expect("an answer"));
            }
            statuses
        });
    }
    bounded(sending.join_all()).await.concat()
}

#[tokio::test]
async fn forged_signatures_do_not_move_the_store() {
    let server = serve().await;
    let real: Vec<_> = (0..50).map(|i| delivery(&format!("real-{i}"))).collect();
    assert_eq!(flood(server.address, real.clone()).await, [202; 50]);
    let before = server.store.set().stats();
    let requests = (0..2000).map(|i| forged(&format!("real-{}", i % 100)));
    assert_eq!(flood(server.address, requests.collect()).await, [401; 2000]);
    assert_eq!(server.store.set().stats(), before);
    // Nobody's event has vanished: ids that were only forged are still new.
    let late = (50..100).map(|i| delivery(&format!("real-{i}")));
    assert_eq!(flood(server.address, late.collect()).await, [202; 50]);
    assert_eq!(flood(server.address, real).await, [200; 50]);
    let counters = server.balance().await;
    assert_eq!(counters.rejected.get(Reason::SignatureWrong), 2000);
    assert_eq!(counters.rejected.total(), 2000);
}

fn full(when_full: WhenFull) -> DedupSet {
    DedupSet::builder()
        .retention(Duration::from_secs(96 * 3600))
        .max_entries(100)
        .shards(1)
        .when_full(when_full)
        .build()
        .expect("a good set")
}

#[tokio::test]
async fn new_ids_over_the_limit_are_503_where_the_set_refuses() {
    let server = serve_with(full(WhenFull::Refuse), |builder| builder).await;
    let requests = (0..3000).map(|i| delivery(&format!("new-{i}")));
    let statuses = flood(server.address, requests.collect()).await;
    let accepted = statuses.iter().filter(|status| **status == 202).count();
    assert!(statuses.iter().all(|status| matches!(status, 202 | 503)));
    assert!((100..3000).contains(&accepted), "{accepted}");
    let set = server.store.set();
    assert!(set.stats().bytes <= set.max_bytes() as u64);
    let counters = server.balance().await;
    let refused = counters.rejected.get(Reason::StoreFull);
    assert_eq!(
        (counters.completed, refused),
        (accepted as u64, 3000 - accepted as u64)
    );
}

#[tokio::test]
async fn new_ids_over_the_limit_push_out_the_oldest_where_the_set_forgets() {
    let server = serve_with(full(WhenFull::ForgetOldest), |builder| builder).await;
    let requests = (0..3000).map(|i| delivery(&format!("new-{i}")));
    assert_eq!(flood(server.address, requests.collect()).await, [202; 3000]);
    let set = server.store.set();
    assert!(set.stats().bytes <= set.max_bytes() as u64);
    assert!(set.stats().forgotten_early > 0);
    let counters = server.balance().await;
    assert_eq!(counters.completed, 3000);
}

#[tokio::test]
async fn list_of_a_thousand_signatures_is_401() {
    let server = serve().await;
    let list = vec![sign(BODY); 1000].join(",");
    let length = format!("content-length: {}", BODY.len());
    let mut sender = server.connect().await;
    let status = sender
        .send(delivery_with("list", &list, &length, BODY))
        .await;
    assert_eq!(status, Some(401));
    // And a thousand headers never reach us.
    let headers = format!("{length}{}", "\r\nx-hub-signature-256: x".repeat(1000));
    let status = sender
        .send(delivery_with("headers", &sign(BODY), &headers, BODY))
        .await;
    assert_eq!(status, Some(431));
    let counters = server.balance().await;
    assert_eq!(counters.rejected.get(Reason::SignaturesTooMany), 1);
}
