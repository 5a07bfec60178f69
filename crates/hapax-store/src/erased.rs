//! A store chosen at run time.
//!
//! The traits of `store.rs` return `impl Future` and so cannot be trait objects.
//! Two private twins box the futures; [`AnyStore`] and [`AnyLease`] wear the public
//! traits again. The price is one allocation per call and one per lease.

use crate::{ClaimStore, Key, Outcome, SettleError, StoreError, StoreLease};
use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

/// Holds any [`ClaimStore`]. Clones share the store.
///
/// # Examples
///
/// ```
/// use hapax_store::{AnyStore, ClaimStore, MemoryStore};
/// use std::time::Duration;
///
/// fn open(url: &str) -> AnyStore {
///     match url {
///         "memory:" => AnyStore::new(MemoryStore::new(Duration::from_secs(3600))),
///         other => unimplemented!("no backend for {other}"),
///     }
/// }
/// assert_eq!(open("memory:").retention(), Duration::from_secs(3600));
/// ```
#[derive(Clone)]
pub struct AnyStore(Arc<dyn DynStore>);

/// Holds a lease of any store.
pub struct AnyLease(Box<dyn DynLease>);

impl AnyStore {
    /// Hides the type of `store`.
    pub fn new(store: impl ClaimStore) -> Self {
        Self(Arc::new(store))
    }
}

impl ClaimStore for AnyStore {
    type Lease = AnyLease;

    fn retention(&self) -> Duration {
        self.0.retention()
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<AnyLease>, StoreError> {
        self.0.claim(key, lease).await
    }

    async fn claim_many(
        &self,
        keys: &[Key],
        lease: Duration,
    ) -> Vec<Result<Outcome<AnyLease>, StoreError>> {
        self.0.claim_many(keys, lease).await
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        self.0.forget(key).await
    }
}

impl StoreLease for AnyLease {
    fn complete(self) -> impl Future<Output = Result<(), SettleError>> + Send {
        self.0.complete()
    }

    fn release(self) -> impl Future<Output = Result<(), SettleError>> + Send {
        self.0.release()
    }

    fn extend(&mut self, lease: Duration) -> impl Future<Output = Result<(), SettleError>> + Send {
        self.0.extend(lease)
    }
}

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyStore")
            .field("retention", &self.0.retention())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AnyLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyLease").finish_non_exhaustive()
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

trait DynStore: Send + Sync {
    fn retention(&self) -> Duration;
    fn claim<'a>(
        &'a self,
        key: &'a Key,
        lease: Duration,
    ) -> Boxed<'a, Result<Outcome<AnyLease>, StoreError>>;
    fn claim_many<'a>(
        &'a self,
        keys: &'a [Key],
        lease: Duration,
    ) -> Boxed<'a, Vec<Result<Outcome<AnyLease>, StoreError>>>;
    fn forget<'a>(&'a self, key: &'a Key) -> Boxed<'a, Result<bool, StoreError>>;
}

impl<T: ClaimStore> DynStore for T {
    fn retention(&self) -> Duration {
        ClaimStore::retention(self)
    }

    fn claim<'a>(
        &'a self,
        key: &'a Key,
        lease: Duration,
    ) -> Boxed<'a, Result<Outcome<AnyLease>, StoreError>> {
        Box::pin(async move {
            let answer = ClaimStore::claim(self, key, lease).await;
            answer.map(|outcome| outcome.map(AnyLease::new))
        })
    }

    fn claim_many<'a>(
        &'a self,
        keys: &'a [Key],
        lease: Duration,
    ) -> Boxed<'a, Vec<Result<Outcome<AnyLease>, StoreError>>> {
        Box::pin(async move {
            let answers = ClaimStore::claim_many(self, keys, lease).await;
            answers
                .into_iter()
                .map(|answer| answer.map(|outcome| outcome.map(AnyLease::new)))
                .collect()
        })
    }

    fn forget<'a>(&'a self, key: &'a Key) -> Boxed<'a, Result<bool, StoreError>> {
        Box::pin(ClaimStore::forget(self, key))
    }
}

impl AnyLease {
    fn new(lease: impl StoreLease) -> Self {
        Self(Box::new(lease))
    }
}

trait DynLease: Send {
    fn complete(self: Box<Self>) -> Boxed<'static, Result<(), SettleError>>;
    fn release(self: Box<Self>) -> Boxed<'static, Result<(), SettleError>>;
    fn extend(&mut self, lease: Duration) -> Boxed<'_, Result<(), SettleError>>;
}

impl<L: StoreLease> DynLease for L {
    fn complete(self: Box<Self>) -> Boxed<'static, Result<(), SettleError>> {
        Box::pin(StoreLease::complete(*self))
    }

    fn release(self: Box<Self>) -> Boxed<'static, Result<(), SettleError>> {
        Box::pin(StoreLease::release(*self))
    }

    fn extend(&mut self, lease: Duration) -> Boxed<'_, Result<(), SettleError>> {
        Box::pin(StoreLease::extend(self, lease))
    }
}
