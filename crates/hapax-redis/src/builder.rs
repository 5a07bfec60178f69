//! Every setting of a store, with its range.

use crate::{
    BuildError, RedisStore,
    link::{Limits, Link},
    store::Core,
    token::Tokens,
};
use redis::IntoConnectionInfo;
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

const MS: Duration = Duration::from_millis(1);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Settings of a [`RedisStore`]. `Debug` does not show the URL.
#[derive(Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    url: String,
    retention: Duration,
    prefix: String,
    timeout: Duration,
    settle_within: Duration,
    max_in_flight: usize,
}

impl Builder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            retention: Duration::from_secs(24 * 3600),
            prefix: "hapax".to_owned(),
            timeout: Duration::from_millis(250),
            settle_within: Duration::from_secs(2),
            max_in_flight: 1024,
        }
    }

    /// Sets how long a completed key is remembered: 1 ms to 1 year. Default: 24 hours.
    ///
    /// Choose it longer than the sender keeps retrying.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets what every name on the server begins with: 1 to 64 printable ASCII
    /// characters. Default: `hapax`.
    ///
    /// All processes that share their events must have the same. On a cluster a
    /// prefix without braces spreads events over all nodes; one with a hash tag, as
    /// `{hapax}`, puts them all on one node. Neither is needed for correctness: each
    /// operation touches one key.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets how long a request may take, waiting for a connection included: 1 ms to
    /// 60 s. Default: 250 ms.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long complete and release keep trying, in requests of at most the
    /// timeout each: up to 60 s, at least one request. Default: 2 s.
    ///
    /// Work was done when a lease is completed, so it is worth some patience: a
    /// server that restarts meanwhile is told, and the work is not done twice. The
    /// default is shorter than the 3 s after which the hastiest senders give up.
    pub fn settle_within(mut self, settle_within: Duration) -> Self {
        self.settle_within = settle_within;
        self
    }

    /// Sets how many requests may be under way at once: 1 to 65,536. Default: 1,024.
    ///
    /// Further callers wait their turn, for the timeout at most. As many releases of
    /// dropped leases may be under way; beyond that a dropped lease runs out.
    pub fn max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Makes the store. Does not connect: the first request does.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the setting and its limit.
    pub fn build(self) -> Result<RedisStore, BuildError> {
        in_range("retention", self.retention, MS, YEAR)?;
        in_range("timeout", self.timeout, MS, MINUTE)?;
        in_range("settle_within", self.settle_within, Duration::ZERO, MINUTE)?;
        let printable = self.prefix.bytes().all(|byte| byte.is_ascii_graphic());
        if !printable || !(1..=64).contains(&self.prefix.len()) {
            return Err(BuildError::Prefix(self.prefix));
        }
        if !(1..=65_536).contains(&self.max_in_flight) {
            return Err(BuildError::MaxInFlight(self.max_in_flight));
        }
        let client = client(&self.url)?;
        let limits = Limits {
            timeout: self.timeout,
            settle_within: self.settle_within,
            max_in_flight: self.max_in_flight,
        };
        Ok(RedisStore::from_core(Core {
            link: Link::new(client, limits),
            tokens: Tokens::draw().map_err(|error| BuildError::Random(error.into()))?,
            prefix: self.prefix,
            retention: self.retention,
            limits,
            background: Arc::new(Semaphore::new(self.max_in_flight)),
        }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            url: _,
            retention,
            prefix,
            timeout,
            settle_within,
            max_in_flight,
        } = self;
        f.debug_struct("Builder")
            .field("url", &"<hidden>")
            .field("retention", retention)
            .field("prefix", prefix)
            .field("timeout", timeout)
            .field("settle_within", settle_within)
            .field("max_in_flight", max_in_flight)
            .finish()
    }
}

fn in_range(
    setting: &'static str,
    value: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), BuildError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(BuildError::Duration {
        setting,
        value,
        least,
        most,
    })
}

fn client(url: &str) -> Result<redis::Client, BuildError> {
    if cfg!(not(feature = "tls"))
        && ["rediss:", "valkeys:"]
            .iter()
            .any(|tls| url.starts_with(tls))
    {
        return Err(BuildError::TlsNotBuilt);
    }
    let refused = |error: redis::RedisError| BuildError::Url(error.into());
    let info = url.into_connection_info().map_err(refused)?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    redis::Client::open(info.set_tcp_settings(tcp)).map_err(refused)
}
