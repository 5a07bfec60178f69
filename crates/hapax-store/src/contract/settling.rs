//! How a lease ends in order, and how a done key is forgotten.

use super::{
    Subject,
    wait::{claim, done, first, first_after_its_lease, soon_first, word},
};
use crate::{ClaimStore, Key, Outcome, StoreLease};
use std::time::Duration;

/// A released key is first again as soon as the release has returned.
pub async fn released_key_is_first_again<S: Subject>(subject: &S) {
    let (store, other, times) = (subject.node().await, subject.node().await, subject.times());
    let key = Key::new("released", b"1");
    let lease = first(&store, &key, times).await;
    lease.release().await.expect("the store answers");
    let _lease = first(&other, &key, times).await;
}

/// The future of a release frees the key even if nobody awaits it.
pub async fn release_that_is_never_polled_releases<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("release unpolled", b"1");
    drop(first(&store, &key, times).await.release());
    let _lease = soon_first(&store, &key, times).await;
}

/// A dropped lease is released, at once or by a task in the background; nobody has
/// to wait for its end.
pub async fn dropped_lease_is_free_without_waiting_for_its_end<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("dropped", b"1");
    drop(first(&store, &key, times).await);
    let _lease = soon_first(&store, &key, times).await;
}

/// A lease dropped on a thread without a runtime is over when its time is, at the
/// latest, and the drop does not panic.
pub async fn lease_dropped_outside_a_runtime_ends_by_itself<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("dropped outside", b"1");
    let lease = first(&store, &key, times).await;
    std::thread::spawn(move || drop(lease))
        .join()
        .expect("dropping never panics");
    let _lease = first_after_its_lease(subject, &store, &key).await;
}

/// An extended lease holds for its new time; a shorter one changes nothing.
pub async fn extended_lease_holds_and_is_never_shortened<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("extended", b"1");
    let mut lease = first(&store, &key, times).await;
    subject.pass(times.lease / 2).await;
    lease.extend(times.lease).await.expect("the lease is ours");
    lease
        .extend(Duration::from_millis(1))
        .await
        .expect("the lease is ours");
    subject
        .pass(times.lease - times.early.max(times.lease / 10))
        .await;
    let outcome = claim(&store, &key, times).await;
    assert!(outcome.is_in_flight(), "ended early: {}", word(&outcome));
    lease.complete().await.expect("the lease is ours");
    assert!(claim(&store, &key, times).await.is_duplicate());
}

/// Forgetting a done key says true once, and the key is first again for every node.
pub async fn forgotten_key_is_first_again<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("forgotten", b"1");
    assert!(!store.forget(&key).await.expect("the store answers"));
    done(&store, &key, times).await;
    assert!(claim(&store, &key, times).await.is_duplicate());
    assert!(store.forget(&key).await.expect("the store answers"));
    assert!(!store.forget(&key).await.expect("the store answers"));
    let _lease = first(&store, &key, times).await;
}

/// Forgetting a key in flight says false and takes nothing from its holder.
pub async fn key_in_flight_cannot_be_forgotten<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("not forgotten", b"1");
    let lease = first(&store, &key, times).await;
    assert!(!store.forget(&key).await.expect("the store answers"));
    let outcome = claim(&store, &key, times).await;
    assert!(matches!(outcome, Outcome::InFlight { .. }));
    lease.complete().await.expect("the lease is still ours");
}
