//! Settling a claim, and releasing one that was dropped.
//!
//! A lease is **armed** while dropping it should release the key. It is disarmed when
//! completing starts (from then on nothing releases the key) and when a release has
//! been answered.

use crate::{
    fault::Fault,
    script::{COMPLETE, EXTEND, RELEASE, ms},
    store::Core,
    token::Token,
};
use hapax_store::{SettleError, StoreLease};
use std::{fmt, sync::Arc, time::Duration};
use tokio::runtime::Handle;

/// Holds a key of a [`RedisStore`](crate::RedisStore).
///
/// Dropped, it is released by a task on the current runtime. Without a runtime, or
/// with more such tasks under way than the store's `max_in_flight`, it runs out.
#[must_use = "dropping the lease releases the key"]
pub struct RedisLease {
    core: Arc<Core>,
    name: String,
    token: Token,
    armed: bool,
}

impl RedisLease {
    /// Makes a lease of a claim that has not been sent yet.
    pub(crate) fn new(core: Arc<Core>, name: String) -> Self {
        let token = core.tokens.next();
        Self {
            core,
            name,
            token,
            armed: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// Says that the claim may reach the server: from now on a drop releases.
    pub(crate) fn arm(&mut self) {
        self.armed = true;
    }

    /// Says that there is nothing to release.
    pub(crate) fn disarm(mut self) {
        self.armed = false;
    }
}

impl StoreLease for RedisLease {
    async fn complete(mut self) -> Result<(), SettleError> {
        self.armed = false;
        let retention_ms = ms(self.core.retention, self.core.retention);
        let mut request = COMPLETE.key(&self.name);
        request.arg(self.token.to_string()).arg(retention_ms);
        let within = self.core.limits.settle_within;
        let done: bool = self.core.link.call(within, &request).await.map_err(store)?;
        done.then_some(()).ok_or(SettleError::Lost)
    }

    async fn release(mut self) -> Result<(), SettleError> {
        // Armed while it runs, so that a release dropped half-way goes on in the
        // background.
        let released = self.core.release(&self.name, self.token).await;
        self.armed = false;
        released.map_err(store)
    }

    async fn extend(&mut self, lease: Duration) -> Result<(), SettleError> {
        let mut request = EXTEND.key(&self.name);
        request
            .arg(self.token.to_string())
            .arg(ms(lease, self.core.retention));
        let within = self.core.limits.timeout;
        let held: bool = self.core.link.call(within, &request).await.map_err(store)?;
        held.then_some(()).ok_or(SettleError::Lost)
    }
}

impl Core {
    async fn release(&self, name: &str, token: Token) -> Result<(), Fault> {
        let mut request = RELEASE.key(name);
        request.arg(token.to_string());
        // Zero is a lease that was lost before: nothing to release.
        self.link
            .call::<i64>(self.limits.settle_within, &request)
            .await
            .map(drop)
    }
}

impl Drop for RedisLease {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let Ok(permit) = Arc::clone(&self.core.background).try_acquire_owned() else {
            return;
        };
        let (core, name, token) = (
            Arc::clone(&self.core),
            std::mem::take(&mut self.name),
            self.token,
        );
        runtime.spawn(async move {
            // A failure is what the end of the lease is for.
            let _ = core.release(&name, token).await;
            drop(permit);
        });
    }
}

impl fmt::Debug for RedisLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLease")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn store(fault: Fault) -> SettleError {
    SettleError::Store(fault.into())
}
