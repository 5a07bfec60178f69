//! Asking a store in a few words, and waiting for what it does in the background.

use super::{Subject, Times};
use crate::{ClaimStore, Key, Outcome, StoreLease};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// How long the contract waits for work that a store does in the background.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Claims for the test's lease; a store that cannot answer breaks the test.
pub(super) async fn claim<S: ClaimStore>(
    store: &S,
    key: &Key,
    Times { lease, .. }: Times,
) -> Outcome<S::Lease> {
    match store.claim(key, lease).await {
        Ok(outcome) => outcome,
        Err(error) => panic!("the store should answer: {error:?}"),
    }
}

/// Claims a key that must be free.
pub(super) async fn first<S: ClaimStore>(store: &S, key: &Key, times: Times) -> S::Lease {
    match claim(store, key, times).await {
        Outcome::First(lease) => lease,
        other => panic!("should be first, is {}", word(&other)),
    }
}

/// Makes a key done.
pub(super) async fn done<S: ClaimStore>(store: &S, key: &Key, times: Times) {
    let lease = first(store, key, times).await;
    lease.complete().await.expect("the lease is ours");
}

/// Asks again and again until the key is first, and returns its lease.
pub(super) async fn soon_first<S: ClaimStore>(store: &S, key: &Key, times: Times) -> S::Lease {
    let started = Instant::now();
    loop {
        match claim(store, key, times).await {
            Outcome::First(lease) => return lease,
            other if started.elapsed() > PATIENCE => {
                panic!("should be first by now, is {}", word(&other))
            }
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Lets leases end until the key is first, and returns its lease.
pub(super) async fn first_after_its_lease<S: Subject>(
    subject: &S,
    store: &S::Store,
    key: &Key,
) -> <S::Store as ClaimStore>::Lease {
    let times = subject.times();
    let started = Instant::now();
    loop {
        // More than once: a cancelled request may still be on its way.
        subject.pass(times.lease + times.late).await;
        match claim(store, key, times).await {
            Outcome::First(lease) => return lease,
            other if started.elapsed() > PATIENCE => {
                panic!("should be first by now, is {}", word(&other))
            }
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Polls a future `polls` times, then drops it. Returns its output if it had one.
pub(super) async fn cancel_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        let mut context = Context::from_waker(Waker::noop());
        let poll = Pin::new(&mut future).poll(&mut context);
        if let Poll::Ready(output) = poll {
            return Some(output);
        }
        // Gives the store's own tasks a chance to get further.
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    None
}

/// The outcome's name, for messages.
pub(super) fn word<L>(outcome: &Outcome<L>) -> &'static str {
    match outcome {
        Outcome::First(_) => "first",
        Outcome::InFlight { .. } => "in flight",
        Outcome::Duplicate { .. } => "a duplicate",
    }
}
