//! Claims on a server.

use crate::{
    Builder, RedisLease, Warning, check,
    fault::{Cause, Fault},
    link::{Limits, Link},
    name::name,
    script::{CLAIM, Claimed, FORGET, ms},
    token::Tokens,
};
use hapax_store::{ClaimStore, Key, Outcome, StoreError};
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// How many keys go into one pipeline. More are sent in several, one after the other,
/// each with the timeout.
const BATCH: usize = 256;

/// Remembers keys on a Redis or Valkey server. Clones share the connection.
///
/// It connects with its first request and again whenever the connection breaks. It
/// must be used within a tokio runtime with time and I/O turned on.
#[derive(Clone)]
pub struct RedisStore(Arc<Core>);

pub(crate) struct Core {
    pub(crate) link: Link,
    pub(crate) tokens: Tokens,
    pub(crate) prefix: String,
    pub(crate) retention: Duration,
    pub(crate) limits: Limits,
    /// Places for releases of dropped leases.
    pub(crate) background: Arc<Semaphore>,
}

impl RedisStore {
    /// Starts a store on the server at `url`, with every other setting at its default.
    ///
    /// | form | |
    /// |---|---|
    /// | `redis://[user:password@]host[:port][/db]` | plain |
    /// | `rediss://…` | TLS; needs the feature `tls` |
    /// | `unix:///path[?db=0&user=…&pass=…]` | a socket of this machine |
    ///
    /// `valkey://`, `valkeys://` and `redis+unix://` mean the same.
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }

    /// Asks the server what it does not promise. An empty list is a good answer.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server did not answer. Call it at start to fail early.
    pub async fn check(&self) -> Result<Vec<Warning>, StoreError> {
        let info = redis::cmd("INFO");
        match self
            .0
            .link
            .call::<String>(self.0.limits.timeout, &info)
            .await
        {
            Ok(info) => Ok(check::read(&info)),
            Err(Fault {
                cause: Cause::Redis(error),
                ..
            }) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => {
                Ok(vec![Warning::Unknown])
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Returns the name under which the server keeps `key`, to look at it by hand.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax_redis::RedisStore;
    /// use hapax_store::Key;
    ///
    /// let store = RedisStore::builder("redis://localhost").build()?;
    /// let name = store.name_of(&Key::new("/orders", b"evt_1"));
    /// assert!(name.starts_with("hapax:") && name.len() == "hapax:".len() + 32);
    /// # Ok::<(), hapax_redis::BuildError>(())
    /// ```
    #[must_use]
    pub fn name_of(&self, key: &Key) -> String {
        name(&self.0.prefix, key)
    }

    pub(crate) fn from_core(core: Core) -> Self {
        Self(Arc::new(core))
    }

    fn lease_on(&self, key: &Key) -> RedisLease {
        RedisLease::new(Arc::clone(&self.0), self.name_of(key))
    }

    /// Claims a batch in one pipeline.
    async fn claim_batch(
        &self,
        keys: &[Key],
        lease_ms: u64,
    ) -> Vec<Result<Outcome<RedisLease>, StoreError>> {
        let mut pipeline = redis::pipe();
        pipeline.ignore_errors();
        let mut leases: Vec<RedisLease> = keys.iter().map(|key| self.lease_on(key)).collect();
        for lease in &mut leases {
            lease.arm();
            let mut request = CLAIM.key(lease.name());
            request.arg(lease.token().to_string()).arg(lease_ms);
            pipeline.invoke_script(&request);
        }
        let within = self.0.limits.timeout;
        let answer: Result<Vec<RedisResult<(i64, i64)>>, Fault> =
            self.0.link.call(within, &pipeline).await;
        match answer {
            Ok(answers) => {
                let short = std::iter::repeat_with(|| Err(too_few_answers()));
                leases
                    .into_iter()
                    .zip(answers.into_iter().chain(short))
                    .map(|(lease, answer)| {
                        let answer = answer.map_err(|error| Fault {
                            cause: Cause::Redis(error),
                            sent: true,
                        });
                        outcome(lease, answer)
                    })
                    .collect()
            }
            Err(fault) => leases
                .into_iter()
                .map(|lease| outcome(lease, Err(fault.clone())))
                .collect(),
        }
    }

    async fn claim_one(&self, key: &Key, lease_ms: u64) -> Result<Outcome<RedisLease>, StoreError> {
        let mut lease = self.lease_on(key);
        // Before the request: whoever drops this future may have claimed the key.
        lease.arm();
        let answer = {
            let mut request = CLAIM.key(lease.name());
            request.arg(lease.token().to_string()).arg(lease_ms);
            self.0.link.call(self.0.limits.timeout, &request).await
        };
        outcome(lease, answer)
    }
}

impl ClaimStore for RedisStore {
    type Lease = RedisLease;

    fn retention(&self) -> Duration {
        self.0.retention
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<RedisLease>, StoreError> {
        self.claim_one(key, ms(lease, self.0.retention)).await
    }

    async fn claim_many(
        &self,
        keys: &[Key],
        lease: Duration,
    ) -> Vec<Result<Outcome<RedisLease>, StoreError>> {
        let lease_ms = ms(lease, self.0.retention);
        let mut answers = Vec::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            answers.extend(self.claim_batch(batch, lease_ms).await);
        }
        // The scripts were loaded with the connection. A server that lost them since
        // gets them back with the first of these.
        for (key, answer) in keys.iter().zip(&mut answers) {
            if answer.as_ref().is_err_and(is_no_script) {
                *answer = self.claim_one(key, lease_ms).await;
            }
        }
        answers
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        let name = self.name_of(key);
        let request = FORGET.key(name);
        match self
            .0
            .link
            .call::<i64>(self.0.limits.timeout, &request)
            .await?
        {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Cause::Foreign.into()),
        }
    }
}

/// Turns the server's answer into the caller's, and keeps or gives up the lease.
fn outcome(
    lease: RedisLease,
    answer: Result<(i64, i64), Fault>,
) -> Result<Outcome<RedisLease>, StoreError> {
    match answer.map(Claimed::from) {
        Ok(Claimed::First) => Ok(Outcome::First(lease)),
        // The claim may have been made: dropped armed, it is released.
        Err(fault) if fault.sent && fault.cause.may_have_claimed() => Err(fault.into()),
        Ok(Claimed::InFlight { remaining }) => {
            lease.disarm();
            Ok(Outcome::InFlight { remaining })
        }
        Ok(Claimed::Done { remaining }) => {
            lease.disarm();
            let remaining = Some(remaining);
            Ok(Outcome::Duplicate { remaining })
        }
        Ok(Claimed::Foreign) => {
            lease.disarm();
            Err(Cause::Foreign.into())
        }
        Err(fault) => {
            lease.disarm();
            Err(fault.into())
        }
    }
}

fn is_no_script(error: &StoreError) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<RedisError>())
        .is_some_and(|error| error.kind() == ErrorKind::Server(ServerErrorKind::NoScript))
}

fn too_few_answers() -> RedisError {
    (ErrorKind::Parse, "fewer answers than requests").into()
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("prefix", &self.0.prefix)
            .field("retention", &self.0.retention)
            .field("link", &self.0.link)
            .finish_non_exhaustive()
    }
}
