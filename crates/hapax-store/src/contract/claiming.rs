//! What a claim is told.

use super::{
    Subject,
    wait::{claim, done, first, word},
};
use crate::{ClaimStore, Key, Outcome, StoreLease};
use std::{sync::Arc, time::Duration};

const CLAIMERS: usize = 16;
const ROUNDS: usize = 30;

/// Of many claims of one key at the same time, over two nodes, exactly one is first.
pub async fn concurrent_claims_have_one_winner<S: Subject>(subject: &S) {
    let times = subject.times();
    let nodes = [
        Arc::new(subject.node().await),
        Arc::new(subject.node().await),
    ];
    for round in 0..ROUNDS {
        let barrier = Arc::new(tokio::sync::Barrier::new(CLAIMERS));
        let claimers: Vec<_> = (0..CLAIMERS)
            .map(|n| {
                let (node, barrier) = (Arc::clone(&nodes[n % 2]), Arc::clone(&barrier));
                tokio::spawn(async move {
                    let key = Key::new("one winner", &round.to_be_bytes());
                    barrier.wait().await;
                    let Outcome::First(lease) = claim(&*node, &key, times).await else {
                        return 0;
                    };
                    lease.complete().await.expect("the lease is ours");
                    1
                })
            })
            .collect();
        let mut winners = 0;
        for claimer in claimers {
            winners += claimer.await.expect("no claimer panics");
        }
        assert_eq!(winners, 1, "winners of round {round}");
    }
}

/// While a lease lasts, another claim is in flight and is told what is left of it.
pub async fn second_claim_is_in_flight_and_tells_how_long<S: Subject>(subject: &S) {
    let times = subject.times();
    let (store, other) = (subject.node().await, subject.node().await);
    let key = Key::new("in flight", b"1");
    let _lease = first(&store, &key, times).await;
    subject.pass(times.lease / 3).await;
    let Outcome::InFlight { remaining } = claim(&other, &key, times).await else {
        panic!("should be in flight");
    };
    let expected = times.lease - times.lease / 3;
    assert!(remaining <= expected + times.late, "{remaining:?} is much");
    assert!(
        remaining + times.early.max(times.late) >= expected,
        "{remaining:?} is little"
    );
}

/// A completed key is a duplicate until just before its retention ends, and first
/// just after.
pub async fn done_key_is_duplicate_to_the_edge_of_its_retention<S: Subject>(subject: &S) {
    let times = subject.times();
    let (store, other) = (subject.node().await, subject.node().await);
    assert_eq!(store.retention(), times.retention);
    let key = Key::new("retention", b"1");
    let lease = first(&store, &key, times).await;
    // The retention counts from completing, not from the claim.
    subject.pass(times.lease / 2).await;
    lease.complete().await.expect("the lease is ours");
    subject.pass(times.retention - times.early).await;
    for node in [&store, &other] {
        let outcome = claim(node, &key, times).await;
        assert!(outcome.is_duplicate(), "too early {}", word(&outcome));
    }
    subject.pass(times.early + times.late).await;
    let outcome = claim(&other, &key, times).await;
    assert!(outcome.is_first(), "should be first, is {}", word(&outcome));
}

/// What a duplicate tells of its remaining time is never more than there is.
pub async fn duplicate_never_tells_more_than_remains<S: Subject>(subject: &S) {
    let times = subject.times();
    let store = subject.node().await;
    let key = Key::new("remaining", b"1");
    done(&store, &key, times).await;
    let passed = times.retention / 3;
    subject.pass(passed).await;
    let Outcome::Duplicate { remaining } = claim(&store, &key, times).await else {
        panic!("should be a duplicate");
    };
    if let Some(remaining) = remaining {
        assert!(remaining <= times.retention - passed + times.late);
    }
}

/// A lease of nothing lasts 1 ms, and one without end lasts the retention.
pub async fn lease_is_clamped_to_its_limits<S: Subject>(subject: &S) {
    let times = subject.times();
    let store = subject.node().await;
    let (short, long) = (Key::new("clamped", b"0"), Key::new("clamped", b"max"));
    let shortest = store.claim(&short, Duration::ZERO).await.expect("clamped");
    assert!(shortest.is_first());
    let longest = store.claim(&long, Duration::MAX).await.expect("clamped");
    assert!(longest.is_first());
    subject.pass(Duration::from_millis(1) + times.late).await;
    assert!(claim(&store, &short, times).await.is_first());
    let Outcome::InFlight { remaining } = claim(&store, &long, times).await else {
        panic!("should be in flight");
    };
    assert!(remaining <= times.retention + times.late);
    subject.pass(times.retention + times.late).await;
    assert!(claim(&store, &long, times).await.is_first());
    drop((shortest, longest));
}
