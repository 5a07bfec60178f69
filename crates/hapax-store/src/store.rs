//! The two traits a backend implements.

use crate::{Key, Outcome, SettleError, StoreError};
use std::{future::Future, time::Duration};

/// Remembers which events are in flight and which are done.
///
/// # What an implementer promises
///
/// 1. Of all callers that claim one key while it is remembered, exactly one is told
///    [`Outcome::First`].
/// 2. A completed key stays known for at least [`retention`](Self::retention).
/// 3. A key whose lease ended is first again. The holder that was overtaken is told
///    [`SettleError::Lost`] and changes nothing.
/// 4. A dropped lease is released: at once where that needs no waiting, else on the
///    current runtime, else by the end of the lease.
///
/// # Examples
///
/// Code that takes any store, chosen at compile time:
///
/// ```
/// use hapax_store::{ClaimStore, Key, StoreError};
/// use std::time::Duration;
///
/// async fn is_new(store: &impl ClaimStore, id: &str) -> Result<bool, StoreError> {
///     let key = Key::new("jobs", id.as_bytes());
///     Ok(store.claim(&key, Duration::from_secs(30)).await?.is_first())
/// }
/// ```
///
/// For a store chosen at run time see [`AnyStore`](crate::AnyStore).
pub trait ClaimStore: Send + Sync + 'static {
    /// What the winner holds.
    type Lease: StoreLease;

    /// Returns how long a completed key is remembered.
    fn retention(&self) -> Duration;

    /// Claims `key` for `lease`, counted from now on the store's clock.
    ///
    /// A store clamps the lease to 1 ms at least and its retention at most.
    /// Returns first with a lease, in flight, or duplicate.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store is full or could not answer.
    ///
    /// # Cancellation
    ///
    /// A dropped future leaves the key free, or held until the lease ends if the
    /// store is remote and the request was already on its way.
    fn claim(
        &self,
        key: &Key,
        lease: Duration,
    ) -> impl Future<Output = Result<Outcome<Self::Lease>, StoreError>> + Send;

    /// Claims several keys; answers come in the order of the keys.
    ///
    /// The keys are independent: some may be first while others fail. A key that
    /// stands twice in `keys` is first once and then in flight. The default asks one
    /// by one; a remote store sends one request.
    ///
    /// # Cancellation
    ///
    /// As [`claim`](Self::claim); leases already won are released.
    fn claim_many(
        &self,
        keys: &[Key],
        lease: Duration,
    ) -> impl Future<Output = Vec<Result<Outcome<Self::Lease>, StoreError>>> + Send {
        async move {
            let mut answers = Vec::with_capacity(keys.len());
            for key in keys {
                answers.push(self.claim(key, lease).await);
            }
            answers
        }
    }

    /// Forgets a completed key, so that its next claim is first.
    ///
    /// Returns whether there was one. A key in flight is left alone: false.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store could not answer.
    fn forget(&self, key: &Key) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// Holds one key in flight. Settling consumes it; dropping it releases the key.
pub trait StoreLease: Send + 'static {
    /// Marks the key done for the store's retention, counted from now.
    ///
    /// # Errors
    ///
    /// [`SettleError::Lost`] if the lease had ended, [`SettleError::Store`] if the
    /// store could not answer.
    ///
    /// # Cancellation
    ///
    /// Once polled, the key is either done or still held; it is never released.
    fn complete(self) -> impl Future<Output = Result<(), SettleError>> + Send;

    /// Frees the key, so that its next claim is first.
    ///
    /// # Errors
    ///
    /// [`SettleError::Store`] if the store could not answer. A lease that had ended
    /// is nothing to release: `Ok`.
    fn release(self) -> impl Future<Output = Result<(), SettleError>> + Send;

    /// Moves the end of the lease to now + `lease`; never shortens it.
    ///
    /// # Errors
    ///
    /// [`SettleError::Lost`] if the lease had ended, [`SettleError::Store`] if the
    /// store could not answer.
    fn extend(&mut self, lease: Duration) -> impl Future<Output = Result<(), SettleError>> + Send;
}
