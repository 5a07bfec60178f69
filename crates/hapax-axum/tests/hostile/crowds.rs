//! More connections than anybody needs.

use crate::server::{Sender, bounded, delivery, serve};
use tokio::task::JoinSet;

#[tokio::test]
async fn deliveries_pass_a_crowd_of_idle_connections() {
    let server = serve().await;
    let mut idle = Vec::new();
    for i in 0..600 {
        let mut sender = server.connect().await;
        // Some say nothing, some stop in the middle of their headers.
        match i % 3 {
            0 => sender.write("POST /github HTTP/1.1\r\nhost").await,
            1 => sender.write("P").await,
            _ => {}
        }
        idle.push(sender);
    }
    let mut sender = server.connect().await;
    for i in 0..200 {
        let request = delivery(&format!("wait-{i}"));
        assert_eq!(sender.send(&request).await, Some(202));
        assert_eq!(sender.send(&request).await, Some(200));
    }
    drop(idle);
    let counters = server.balance().await;
    assert_eq!((counters.completed, counters.duplicate), (200, 200));
}

/// All at once and each twice, over connections of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_over_many_connections_run_once() {
    let server = serve().await;
    let address = server.address;
    let mut sending = JoinSet::new();
    for i in 0..100 {
        sending.spawn(async move {
            let request = delivery(&format!("wait-{}", i / 2));
            Sender::to(address).await.send(request).await
        });
    }
    let mut first = 0;
    for status in bounded(sending.join_all()).await {
        assert!(matches!(status, Some(200 | 202 | 503)), "{status:?}");
        first += usize::from(status == Some(202));
    }
    assert_eq!(first, 50);
    let counters = server.balance().await;
    assert_eq!(counters.completed, 50);
}
