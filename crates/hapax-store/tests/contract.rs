//! Does a store keep its promises? One function per promise of [`ClaimStore`], run
//! against the memory store and against the same store with its type hidden.

use hapax::{DedupSet, ManualClock, Seeds};
use hapax_store::{AnyStore, ClaimStore, Key, MemoryStore, Outcome, SettleError, StoreLease};
use std::time::Duration;

const RETENTION: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(30);
/// Longer than any edge: twice the clock's resolution and one millisecond.
const EDGE: Duration = Duration::from_millis(3);

fn memory(clock: &ManualClock) -> MemoryStore<Seeds, ManualClock> {
    let set = DedupSet::builder()
        .retention(RETENTION)
        .clock(clock.clone())
        .build()
        .expect("a good set");
    MemoryStore::from(set)
}

fn key(id: &str) -> Key {
    Key::new("scope", id.as_bytes())
}

async fn claim<S: ClaimStore>(store: &S, id: &str) -> Outcome<S::Lease> {
    store.claim(&key(id), LEASE).await.expect("memory answers")
}

async fn first<S: ClaimStore>(store: &S, id: &str) -> S::Lease {
    claim(store, id)
        .await
        .first()
        .expect("nobody else was here")
}

async fn second_claim_is_in_flight_and_tells_how_long<S: ClaimStore>(store: S, clock: ManualClock) {
    let _lease = first(&store, "a").await;
    clock.advance(Duration::from_secs(10));
    let Outcome::InFlight { remaining } = claim(&store, "a").await else {
        panic!("should be in flight");
    };
    assert!(remaining <= LEASE - Duration::from_secs(10) + EDGE);
    assert!(remaining >= LEASE - Duration::from_secs(10) - EDGE);
}

async fn completed_key_is_duplicate_for_the_retention<S: ClaimStore>(store: S, clock: ManualClock) {
    assert_eq!(store.retention(), RETENTION);
    first(&store, "a").await.complete().await.unwrap();
    clock.advance(RETENTION - Duration::from_millis(1));
    assert!(claim(&store, "a").await.is_duplicate());
    clock.advance(EDGE);
    assert!(claim(&store, "a").await.is_first());
}

async fn released_and_dropped_keys_are_first_again<S: ClaimStore>(store: S, _: ManualClock) {
    first(&store, "a").await.release().await.unwrap();
    drop(first(&store, "a").await);
    assert!(claim(&store, "a").await.is_first());
}

async fn future_of_a_release_that_is_never_polled_releases<S: ClaimStore>(
    store: S,
    _: ManualClock,
) {
    drop(first(&store, "a").await.release());
    assert!(claim(&store, "a").await.is_first());
}

async fn ended_lease_frees_the_key_and_its_holder_is_told<S: ClaimStore>(
    store: S,
    clock: ManualClock,
) {
    let overtaken = first(&store, "a").await;
    let mut hopeful = first(&store, "b").await;
    clock.advance(LEASE + EDGE);
    let successor = first(&store, "a").await;
    let _other = first(&store, "b").await;
    assert!(matches!(overtaken.complete().await, Err(SettleError::Lost)));
    assert!(matches!(
        hopeful.extend(LEASE).await,
        Err(SettleError::Lost)
    ));
    hopeful.release().await.expect("nothing to release is fine");
    assert!(claim(&store, "a").await.is_in_flight());
    assert!(claim(&store, "b").await.is_in_flight());
    successor.complete().await.unwrap();
    assert!(claim(&store, "a").await.is_duplicate());
}

async fn extended_lease_holds_and_is_never_shortened<S: ClaimStore>(store: S, clock: ManualClock) {
    let mut lease = first(&store, "a").await;
    clock.advance(LEASE / 2);
    lease.extend(LEASE).await.unwrap();
    lease.extend(Duration::from_millis(1)).await.unwrap();
    clock.advance(LEASE - Duration::from_secs(1));
    assert!(claim(&store, "a").await.is_in_flight());
    lease.complete().await.unwrap();
}

async fn forgotten_key_is_first_again_and_one_in_flight_stays<S: ClaimStore>(
    store: S,
    _: ManualClock,
) {
    assert!(!store.forget(&key("a")).await.unwrap());
    let lease = first(&store, "a").await;
    assert!(!store.forget(&key("a")).await.unwrap());
    lease.complete().await.unwrap();
    assert!(store.forget(&key("a")).await.unwrap());
    assert!(claim(&store, "a").await.is_first());
}

async fn several_keys_are_answered_in_their_order<S: ClaimStore>(store: S, _: ManualClock) {
    first(&store, "done").await.complete().await.unwrap();
    let _held = first(&store, "held").await;
    let keys = ["new", "done", "held", "new"].map(key);
    let answers = store.claim_many(&keys, LEASE).await;
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert!(answers[0].is_first());
    assert!(answers[1].is_duplicate());
    assert!(answers[2].is_in_flight());
    assert!(answers[3].is_in_flight());
    drop(answers);
    assert!(claim(&store, "new").await.is_first());
}

async fn many_claimers_have_one_winner<S: ClaimStore + Clone>(store: S, _: ManualClock) {
    for round in 0..50 {
        let id = format!("{round}");
        let claimers: Vec<_> = (0..16)
            .map(|_| {
                let (store, id) = (store.clone(), id.clone());
                tokio::spawn(async move {
                    match claim(&store, &id).await {
                        Outcome::First(lease) => {
                            lease.complete().await.unwrap();
                            1
                        }
                        _ => 0,
                    }
                })
            })
            .collect();
        let mut winners = 0;
        for claimer in claimers {
            winners += claimer.await.unwrap();
        }
        assert_eq!(winners, 1);
    }
}

macro_rules! promises {
    ($($promise:ident)*) => {
        mod memory_store {
            $(#[tokio::test]
            async fn $promise() {
                let clock = hapax::ManualClock::new();
                super::$promise(super::memory(&clock), clock).await;
            })*
        }

        mod any_store {
            $(#[tokio::test]
            async fn $promise() {
                let clock = hapax::ManualClock::new();
                super::$promise(super::AnyStore::new(super::memory(&clock)), clock).await;
            })*
        }
    };
}

promises! {
    second_claim_is_in_flight_and_tells_how_long
    completed_key_is_duplicate_for_the_retention
    released_and_dropped_keys_are_first_again
    future_of_a_release_that_is_never_polled_releases
    ended_lease_frees_the_key_and_its_holder_is_told
    extended_lease_holds_and_is_never_shortened
    forgotten_key_is_first_again_and_one_in_flight_stays
    several_keys_are_answered_in_their_order
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_claimers_of_the_memory_store_have_one_winner() {
    let clock = ManualClock::new();
    many_claimers_have_one_winner(memory(&clock), clock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_claimers_of_any_store_have_one_winner() {
    let clock = ManualClock::new();
    many_claimers_have_one_winner(AnyStore::new(memory(&clock)), clock).await;
}
