//! The store of one process, on [`hapax::DedupSet`].
//!
//! Every call finishes at its first poll: the set never blocks and there is nothing
//! to wait for. A restart forgets everything.

use crate::{ClaimStore, ErrorKind, Key, Outcome, SettleError, StoreError, StoreLease};
use hapax::{Claim, Clock, DedupSet, HashPair, OwnedLease, Seeds, SystemClock};
use std::{future::Future, sync::Arc, time::Duration};

/// Remembers keys in this process. Clones share the set.
///
/// # Examples
///
/// With the set's defaults, or with a set built by hand:
///
/// ```
/// use hapax::DedupSet;
/// use hapax_store::MemoryStore;
/// use std::time::Duration;
///
/// let simple = MemoryStore::new(Duration::from_secs(96 * 3600));
/// assert_eq!(simple.set().len(), 0);
///
/// let set = DedupSet::builder()
///     .retention(Duration::from_secs(96 * 3600))
///     .max_entries(1_000_000)
///     .build()?;
/// let bounded = MemoryStore::from(set);
/// assert!(bounded.set().is_empty());
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore<S = Seeds, C = SystemClock> {
    set: Arc<DedupSet<S, C>>,
}

/// Holds a key of a [`MemoryStore`]. Dropping it releases the key at once.
#[derive(Debug)]
#[must_use = "dropping the lease releases the key"]
pub struct MemoryLease<S: HashPair = Seeds, C: Clock = SystemClock>(OwnedLease<S, C>);

impl MemoryStore {
    /// Makes a store that remembers completed keys for `retention`.
    ///
    /// # Panics
    ///
    /// If `retention` is under 1 ms or over 1 year; build the set by hand to get an
    /// error instead.
    #[must_use]
    pub fn new(retention: Duration) -> Self {
        Self::from(DedupSet::new(retention))
    }
}

impl<S, C> MemoryStore<S, C> {
    /// Returns the set behind the store: its statistics, its length.
    #[must_use]
    pub fn set(&self) -> &Arc<DedupSet<S, C>> {
        &self.set
    }
}

impl<S, C> Clone for MemoryStore<S, C> {
    fn clone(&self) -> Self {
        Self {
            set: Arc::clone(&self.set),
        }
    }
}

impl<S, C> From<DedupSet<S, C>> for MemoryStore<S, C> {
    fn from(set: DedupSet<S, C>) -> Self {
        Self::from(Arc::new(set))
    }
}

impl<S, C> From<Arc<DedupSet<S, C>>> for MemoryStore<S, C> {
    fn from(set: Arc<DedupSet<S, C>>) -> Self {
        Self { set }
    }
}

impl<S, C> ClaimStore for MemoryStore<S, C>
where
    S: HashPair + 'static,
    C: Clock + 'static,
{
    type Lease = MemoryLease<S, C>;

    fn retention(&self) -> Duration {
        self.set.default_retention()
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<Self::Lease>, StoreError> {
        match self.set.claim_owned_for(key, lease) {
            Ok(Claim::First(lease)) => Ok(Outcome::First(MemoryLease(lease))),
            Ok(Claim::InFlight { remaining }) => Ok(Outcome::InFlight { remaining }),
            Ok(Claim::Duplicate) => Ok(Outcome::Duplicate { remaining: None }),
            Err(full) => Err(StoreError::with_source(ErrorKind::Full, full)),
        }
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(self.set.forget(key))
    }
}

impl<S, C> StoreLease for MemoryLease<S, C>
where
    S: HashPair + 'static,
    C: Clock + 'static,
{
    async fn complete(self) -> Result<(), SettleError> {
        self.0.complete().map_err(|_| SettleError::Lost)
    }

    fn release(self) -> impl Future<Output = Result<(), SettleError>> + Send {
        // Before the first poll, so that a future which is never polled releases too.
        self.0.release();
        std::future::ready(Ok(()))
    }

    async fn extend(&mut self, lease: Duration) -> Result<(), SettleError> {
        self.0.extend(lease).map_err(|_| SettleError::Lost)
    }
}
