//! Several keys in one call.

use super::{
    Subject,
    wait::{claim, done, first, soon_first, word},
};
use crate::{ClaimStore, Key, StoreLease};
use std::sync::Arc;

/// Answers come in the order of the keys; one that stands twice is first once and
/// then in flight; no keys give no answers.
pub async fn claim_many_answers_in_order<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = |id: &str| Key::new("many", id.as_bytes());
    done(&store, &key("done"), times).await;
    let _held = first(&store, &key("held"), times).await;
    assert!(store.claim_many(&[], times.lease).await.is_empty());

    let keys = ["new", "done", "held", "new", "other"].map(key);
    let answers = store.claim_many(&keys, times.lease).await;
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.expect("the store answers"))
        .collect();
    let words: Vec<_> = answers.iter().map(word).collect();
    assert_eq!(
        words,
        ["first", "a duplicate", "in flight", "in flight", "first"]
    );

    let mut leases = answers.into_iter().filter_map(crate::Outcome::first);
    let new = leases.next().expect("two were first");
    new.complete().await.expect("the lease is ours");
    drop(leases);
    assert!(claim(&store, &key("new"), times).await.is_duplicate());
    let _lease = soon_first(&store, &key("other"), times).await;
}

/// Two nodes that claim the same keys at once share them: each key has one winner.
pub async fn concurrent_claim_many_has_one_winner_per_key<S: Subject>(subject: &S) {
    const CLAIMERS: usize = 4;
    let times = subject.times();
    let keys: Arc<Vec<Key>> = Arc::new(
        (0..200u32)
            .map(|n| Key::new("many winners", &n.to_be_bytes()))
            .collect(),
    );
    let barrier = Arc::new(tokio::sync::Barrier::new(CLAIMERS));
    let mut claimers = Vec::new();
    for _ in 0..CLAIMERS {
        let (keys, barrier) = (Arc::clone(&keys), Arc::clone(&barrier));
        let store = subject.node().await;
        claimers.push(tokio::spawn(async move {
            barrier.wait().await;
            store.claim_many(&keys, times.lease).await
        }));
    }
    let mut winners = vec![0; keys.len()];
    // Leases are kept until all have answered, or a drop would free keys in between.
    let mut kept = Vec::new();
    for claimer in claimers {
        let answers = claimer.await.expect("no claimer panics");
        assert_eq!(answers.len(), keys.len());
        for (n, answer) in answers.into_iter().enumerate() {
            let outcome = answer.expect("the store answers");
            winners[n] += usize::from(outcome.is_first());
            kept.push(outcome);
        }
    }
    assert!(winners.iter().all(|winners| *winners == 1), "{winners:?}");
}
