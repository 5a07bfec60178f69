//! Does the oracle notice? Each test breaks one promise and expects to be caught.

use super::{Report, Storm, target::Ground};
use crate::endpoints::Settings;
use hapax_axum::{Builder, InFlight, LeasePolicy, Verdict};
use hapax_store::{AnyStore, ClaimStore, Key, MemoryStore, Outcome, StoreError, StoreLease};
use std::time::Duration;
use tokio::sync::Mutex;

const RETENTION: Duration = Duration::from_secs(96 * 3600);

/// A storm in a teacup. One at a time: storms that fight for the processor are all
/// calls and no overlap.
async fn storm(store: AnyStore, tweak: fn(Builder) -> Builder) -> Report {
    static TEACUP: Mutex<()> = Mutex::const_new(());
    let _alone = TEACUP.lock().await;
    let storm = Storm {
        deliveries: 800,
        seed: 7,
        connections: 16,
        ground: Ground {
            settings: Settings {
                lease: Duration::from_secs(30),
                allow_short_retention: false,
                public_url: "https://webhooks.example".to_owned(),
            },
            short_lease: Duration::from_millis(300),
            store,
            tweak,
        },
    };
    storm.run().await.expect("a storm that can begin")
}

fn sound() -> AnyStore {
    AnyStore::new(MemoryStore::new(RETENTION))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_service_loses_nothing_and_does_nothing_twice() {
    let report = storm(sound(), |builder| builder).await;
    assert!(report.is_good(), "{}", report.table());
    // The storm was one: every kind of trouble came up.
    let tally = &report.tally;
    for count in [
        tally.duplicate,
        tally.in_flight,
        tally.failed,
        tally.hung_up,
    ] {
        assert!(count > 0, "{}", report.table());
    }
    assert!(report.verdict.overtaken > 0, "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_is_caught() {
    let report = storm(AnyStore::new(Broken::Forgets(sound())), |builder| builder).await;
    assert!(!report.verdict.twice.is_empty(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_marks_before_processing_is_caught() {
    let report = storm(AnyStore::new(Broken::MarksFirst(sound())), |builder| {
        builder
    })
    .await;
    assert!(!report.verdict.lost.is_empty(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_leases_end_early_is_caught() {
    let report = storm(AnyStore::new(Broken::ShortLeases(sound())), |builder| {
        builder.lease(LeasePolicy::Fixed(Duration::from_secs(30)))
    })
    .await;
    assert!(!report.verdict.twice.is_empty(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_that_acknowledges_copies_in_flight_is_caught() {
    let report = storm(sound(), |builder| builder.in_flight(InFlight::Accepted)).await;
    assert!(!report.verdict.lost.is_empty(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_that_completes_failures_is_caught() {
    let report = storm(sound(), |builder| builder.success(|_| Verdict::Complete)).await;
    assert!(!report.verdict.lost.is_empty(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_that_mixes_endpoints_up_is_caught() {
    use hapax_axum::Scope;
    let report = storm(sound(), |builder| builder.scope(Scope::named("all"))).await;
    assert!(!report.verdict.lost.is_empty(), "{}", report.table());
}

/// A store with a bug.
enum Broken {
    /// Completing frees the key.
    Forgets(AnyStore),
    /// Claiming completes the key; whatever happens then is too late.
    MarksFirst(AnyStore),
    /// Leases are a few milliseconds long.
    ShortLeases(AnyStore),
}

enum BrokenLease<L> {
    Forgets(L),
    Sound(L),
    Settled,
}

impl Broken {
    fn store(&self) -> &AnyStore {
        match self {
            Self::Forgets(store) | Self::MarksFirst(store) | Self::ShortLeases(store) => store,
        }
    }
}

impl ClaimStore for Broken {
    type Lease = BrokenLease<<AnyStore as ClaimStore>::Lease>;

    fn retention(&self) -> Duration {
        self.store().retention()
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<Self::Lease>, StoreError> {
        let lease = match self {
            Self::ShortLeases(_) => lease.min(Duration::from_millis(3)),
            _ => lease,
        };
        Ok(match (self, self.store().claim(key, lease).await?) {
            (Self::Forgets(_), outcome) => outcome.map(BrokenLease::Forgets),
            (Self::MarksFirst(_), Outcome::First(lease)) => {
                let _ = lease.complete().await;
                Outcome::First(BrokenLease::Settled)
            }
            (_, outcome) => outcome.map(BrokenLease::Sound),
        })
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        self.store().forget(key).await
    }
}

impl<L: StoreLease> StoreLease for BrokenLease<L> {
    async fn complete(self) -> Result<(), hapax_store::SettleError> {
        match self {
            Self::Forgets(lease) => lease.release().await,
            Self::Sound(lease) => lease.complete().await,
            Self::Settled => Ok(()),
        }
    }

    async fn release(self) -> Result<(), hapax_store::SettleError> {
        match self {
            Self::Forgets(lease) | Self::Sound(lease) => lease.release().await,
            Self::Settled => Ok(()),
        }
    }

    async fn extend(&mut self, length: Duration) -> Result<(), hapax_store::SettleError> {
        match self {
            Self::Forgets(lease) | Self::Sound(lease) => lease.extend(length).await,
            Self::Settled => Ok(()),
        }
    }
}
