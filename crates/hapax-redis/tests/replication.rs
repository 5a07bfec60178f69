//! What does a store see of a server that follows another, and of a failover?

mod server;

use hapax_store::{ClaimStore, ErrorKind, StoreLease};
use server::{LEASE, Server, fails, first, key, recovery, shown, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn replica_refuses_and_the_store_follows_when_it_becomes_primary() {
    let primary = Server::start(&[]);
    let port = primary.port().to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    let store = replica.store();
    let error = fails(&store, "a").await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        shown(&error).contains("read only replica"),
        "{}",
        shown(&error)
    );
    let _: () = replica.run(&["REPLICAOF", "NO", "ONE"]);
    recovery(&store).await;
    drop(first(&store, "a").await);
}

/// A failover may lose what the primary acknowledged last: here a completion that the
/// replica never saw. Nobody can notice; this test is the proof of the warning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn failover_forgets_what_the_replica_had_not_seen() {
    let primary = Server::start(&[]);
    let port = primary.port().to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]);
    let store = primary.store();
    first(&store, "early").await.complete().await.unwrap();
    let early = store.name_of(&key("early"));
    soon(async || (replica.run::<i64>(&["EXISTS", &early]) == 1).then_some(())).await;
    let _: () = replica.run(&["REPLICAOF", "NO", "ONE"]);
    first(&store, "late").await.complete().await.unwrap();
    drop(primary);
    let after = replica.store();
    assert!(
        after
            .claim(&key("early"), LEASE)
            .await
            .unwrap()
            .is_duplicate()
    );
    assert!(after.claim(&key("late"), LEASE).await.unwrap().is_first());
}
