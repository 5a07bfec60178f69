//! A claim in the handler's own hands.

use crate::{Delivery, guard::Guard};
use hapax_store::SettleError;
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Holds the claim of the delivery being handled; the layer then leaves it alone.
///
/// For work that goes on after the answer: answer 202 at once, and complete when the
/// work is done. Completing before it is durable would lose the event in a crash.
///
/// Dropping the handle releases the claim, so that the retry runs. The layer no longer
/// extends the lease: finish within it, [`extend`](Self::extend) it, or let
/// [`complete_after`](Self::complete_after) do so. A drain waits for the handle.
///
/// # Examples
///
/// ```
/// use axum::http::StatusCode;
/// use hapax_axum::ClaimHandle;
///
/// # async fn store_in_database() -> Result<(), std::io::Error> { Ok(()) }
/// async fn handler(claim: ClaimHandle) -> StatusCode {
///     tokio::spawn(claim.complete_after(store_in_database()));
///     StatusCode::ACCEPTED
/// }
/// # let _ = handler;
/// ```
#[derive(Debug)]
#[must_use = "dropping the handle releases the claim"]
pub struct ClaimHandle {
    guard: Guard,
    _tracked: TaskTrackerToken,
}

impl ClaimHandle {
    pub(crate) fn new(guard: Guard) -> Self {
        let shared = guard.shared();
        shared.counting.handed_over.add(1);
        Self {
            _tracked: shared.tasks.token(),
            guard,
        }
    }

    /// Marks the delivery done; copies are duplicates from now on.
    ///
    /// # Errors
    ///
    /// [`SettleError::Lost`] if the lease had ended: another copy may have run or be
    /// running. [`SettleError::Store`] if the store could not answer.
    ///
    /// # Cancellation
    ///
    /// Once polled, the claim is done or still held; it is not released.
    pub async fn complete(self) -> Result<(), SettleError> {
        self.guard.complete().await
    }

    /// Frees the id; the next copy runs.
    ///
    /// # Errors
    ///
    /// [`SettleError::Store`] if the store could not answer; the lease's end frees it.
    pub async fn release(self) -> Result<(), SettleError> {
        self.guard.release().await
    }

    /// Moves the lease's end to now + `lease`; never shortens it.
    ///
    /// # Errors
    ///
    /// [`SettleError::Lost`] if the lease had ended, [`SettleError::Store`] if the
    /// store could not answer.
    pub async fn extend(&mut self, lease: Duration) -> Result<(), SettleError> {
        self.guard.extend(lease).await
    }

    /// Does the work, extending the lease meanwhile, and then completes if it is `Ok`
    /// and releases if it is not. Returns what the work returned.
    ///
    /// A claim that cannot be settled is logged and counted as lost.
    ///
    /// # Cancellation
    ///
    /// Drops the work and releases the claim, unless the work was done already.
    pub async fn complete_after<T, E>(
        mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let length = self.guard.shared().rules.leasing.length;
        let every = (length / 3).max(Duration::from_millis(1));
        let done = {
            let mut work = pin!(work);
            let guard = &mut self.guard;
            let mut extending = pin!(async move {
                // At once: nobody knows how much of the lease the handler has used up.
                while !matches!(guard.extend(length).await, Err(SettleError::Lost)) {
                    tokio::time::sleep(every).await;
                }
                std::future::pending::<()>().await;
            });
            poll_fn(|cx| {
                if let Poll::Ready(done) = work.as_mut().poll(cx) {
                    return Poll::Ready(done);
                }
                let _ = extending.as_mut().poll(cx);
                Poll::Pending
            })
            .await
        };
        let settled = match &done {
            Ok(_) => self.guard.complete().await,
            Err(_) => self.guard.release().await,
        };
        // Logged and counted where it happened; the work's own result matters more.
        drop(settled);
        done
    }

    /// Returns what was found in the request.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        self.guard.delivery()
    }
}
