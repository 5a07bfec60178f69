//! Futures that are dropped on the way.

use super::{
    Subject,
    wait::{cancel_after, claim, first, first_after_its_lease, word},
};
use crate::{ClaimStore, Key, StoreLease};

/// A future is dropped after none, one, … of its polls.
const MOST_POLLS: usize = 6;

/// A claim dropped at any await leaves the key free when the lease has ended, at the
/// latest.
pub async fn cancelled_claim_frees_the_key_by_the_end_of_its_lease<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    for polls in 0..=MOST_POLLS {
        let key = Key::new("cancelled claim", &polls.to_be_bytes());
        drop(cancel_after(polls, store.claim(&key, times.lease)).await);
        let _lease = first_after_its_lease(subject, &store, &key).await;
    }
}

/// The same holds for every key of a call that claims several.
pub async fn cancelled_claim_many_frees_every_key_by_the_end_of_its_lease<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    for polls in 0..=MOST_POLLS {
        let keys = [0u8, 1, 2].map(|n| Key::new("cancelled many", &[polls as u8, n]));
        drop(cancel_after(polls, store.claim_many(&keys, times.lease)).await);
        for key in &keys {
            let _lease = first_after_its_lease(subject, &store, key).await;
        }
    }
}

/// Once completing was polled, dropping it never frees the key: it is done, or held
/// until the lease ends.
pub async fn cancelled_complete_never_releases<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    for polls in 1..=MOST_POLLS {
        let key = Key::new("cancelled complete", &polls.to_be_bytes());
        let lease = first(&store, &key, times).await;
        drop(cancel_after(polls, lease.complete()).await);
        // More than once: a release in the background would take its time.
        for _ in 0..20 {
            let outcome = claim(&store, &key, times).await;
            assert!(
                !outcome.is_first(),
                "after {polls} polls: {}",
                word(&outcome)
            );
            tokio::task::yield_now().await;
        }
        subject.pass(times.lease + times.late).await;
        let outcome = claim(&store, &key, times).await;
        assert!(!outcome.is_in_flight(), "held on after its lease");
    }
}
