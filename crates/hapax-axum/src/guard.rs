//! A claim that cannot be forgotten: it is settled, or it is released when dropped.

use crate::{Delivery, layer::Shared, observe};
use hapax_store::{AnyLease, SettleError, StoreLease};
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// Holds a lease and counts how it ends.
///
/// The lease is gone from here once settling has begun, so nothing releases a claim
/// that is being completed.
pub(crate) struct Guard {
    lease: Option<AnyLease>,
    shared: Arc<Shared>,
    delivery: Delivery,
}

impl Guard {
    pub(crate) fn new(lease: AnyLease, shared: Arc<Shared>, delivery: Delivery) -> Self {
        Self {
            lease: Some(lease),
            shared,
            delivery,
        }
    }

    pub(crate) async fn complete(mut self) -> Result<(), SettleError> {
        let Some(lease) = self.lease.take() else {
            return Err(SettleError::Lost);
        };
        let cut_off = CutOff(&self.shared);
        let done = lease.complete().await;
        std::mem::forget(cut_off);
        match &done {
            Ok(()) => self.shared.counting.completed.add(1),
            Err(error) => {
                self.shared.counting.lost.add(1);
                observe::not_settled(&self.delivery, error);
            }
        }
        done
    }

    pub(crate) async fn release(mut self) -> Result<(), SettleError> {
        let Some(lease) = self.lease.take() else {
            return Ok(());
        };
        self.shared.counting.released.add(1);
        let done = lease.release().await;
        if let Err(error) = &done {
            observe::not_settled(&self.delivery, error);
        }
        done
    }

    pub(crate) async fn extend(&mut self, length: Duration) -> Result<(), SettleError> {
        match &mut self.lease {
            Some(lease) => lease.extend(length).await,
            None => Err(SettleError::Lost),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn delivery(&self) -> &Delivery {
        &self.delivery
    }
}

/// Counts a completion that is dropped half-way: nobody knows whether the store has it.
struct CutOff<'a>(&'a Shared);

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        self.0.counting.lost.add(1);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Dropping the lease releases it.
        if self.lease.take().is_some() {
            self.shared.counting.released.add(1);
            observe::dropped(&self.delivery);
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("delivery", &self.delivery)
            .finish_non_exhaustive()
    }
}

/// Where the claim lies while the handler runs: the layer extends it there, and the
/// handler may take it away.
#[derive(Debug)]
pub(crate) struct Slot(Mutex<Option<Guard>>);

impl Slot {
    pub(crate) fn new(guard: Guard) -> Self {
        Self(Mutex::new(Some(guard)))
    }

    /// Takes the claim; `None` if it was taken before.
    pub(crate) async fn take(&self) -> Option<Guard> {
        self.0.lock().await.take()
    }

    /// Extends the claim again and again; never ends. Stops trying once the claim is
    /// gone, taken or lost.
    ///
    /// A store that cannot answer is asked again after the same time.
    pub(crate) async fn keep_alive(&self, length: Duration, every: Option<Duration>) {
        let Some(every) = every else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(every).await;
            let mut slot = self.0.lock().await;
            let Some(guard) = &mut *slot else { break };
            match guard.extend(length).await {
                Ok(()) => {}
                Err(SettleError::Store(error)) => {
                    tracing::warn!(
                        provider = guard.delivery.provider(),
                        id = %observe::Hashed(guard.delivery.id()),
                        cause = %error,
                        "lease not extended"
                    );
                }
                // Settling will find the same and count it.
                Err(_) => break,
            }
        }
        std::future::pending::<()>().await;
    }
}
