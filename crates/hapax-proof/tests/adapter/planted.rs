//! A store with a known bug between it and the layer: what the histories must notice.

use std::time::Duration;

use hapax_store::{ClaimStore, Key, Outcome, SettleError, StoreError, StoreLease};

/// A bug of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A holder who came too late is told that completing worked.
    CompletesForAnyone,
    /// Completing frees the id.
    CompletesNothing,
    /// Releasing keeps the id until the lease ends.
    ReleasesNothing,
    /// A lease lasts half as long as asked.
    LeasesShort,
    /// A copy in flight is told that it is done.
    CallsInFlightDone,
}

impl Bug {
    pub(crate) const ALL: [Self; 5] = [
        Self::CompletesForAnyone,
        Self::CompletesNothing,
        Self::ReleasesNothing,
        Self::LeasesShort,
        Self::CallsInFlightDone,
    ];
}

/// A store, with a bug or without.
#[derive(Debug)]
pub(crate) struct Planted<S> {
    store: S,
    bug: Option<Bug>,
}

/// A lease of it.
#[derive(Debug)]
pub(crate) struct PlantedLease<L> {
    lease: L,
    bug: Option<Bug>,
}

impl<S> Planted<S> {
    pub(crate) fn new(store: S, bug: Option<Bug>) -> Self {
        Self { store, bug }
    }
}

impl<S: ClaimStore> ClaimStore for Planted<S> {
    type Lease = PlantedLease<S::Lease>;

    fn retention(&self) -> Duration {
        self.store.retention()
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<Self::Lease>, StoreError> {
        let bug = self.bug;
        let lease = if bug == Some(Bug::LeasesShort) {
            lease / 2
        } else {
            lease
        };
        Ok(match self.store.claim(key, lease).await? {
            Outcome::First(lease) => Outcome::First(PlantedLease { lease, bug }),
            Outcome::InFlight { .. } if bug == Some(Bug::CallsInFlightDone) => {
                Outcome::Duplicate { remaining: None }
            }
            Outcome::InFlight { remaining } => Outcome::InFlight { remaining },
            Outcome::Duplicate { remaining } => Outcome::Duplicate { remaining },
        })
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        self.store.forget(key).await
    }
}

impl<L: StoreLease> StoreLease for PlantedLease<L> {
    async fn complete(self) -> Result<(), SettleError> {
        match self.bug {
            Some(Bug::CompletesNothing) => self.lease.release().await,
            Some(Bug::CompletesForAnyone) => {
                let _ = self.lease.complete().await;
                Ok(())
            }
            _ => self.lease.complete().await,
        }
    }

    async fn release(self) -> Result<(), SettleError> {
        if self.bug == Some(Bug::ReleasesNothing) {
            std::mem::forget(self.lease);
            return Ok(());
        }
        self.lease.release().await
    }

    async fn extend(&mut self, lease: Duration) -> Result<(), SettleError> {
        self.lease.extend(lease).await
    }
}
