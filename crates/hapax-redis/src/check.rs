//! What the server at hand does not promise.

use redis::aio::MultiplexedConnection;
use std::fmt;

/// Something about the server that weakens what a store promises.
///
/// Found by [`RedisStore::check`](crate::RedisStore::check), and logged when a
/// connection is made, once until it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// At its memory limit the server throws keys away, done and in flight, before
    /// their time. Their events run again. `maxmemory-policy` should be `noeviction`.
    Evicts {
        /// The policy it has.
        policy: String,
    },
    /// The server writes no append-only file: after a crash it has forgotten what it
    /// knew since its last snapshot.
    Forgets,
    /// The server does not let this user ask (`INFO`).
    Unknown,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts { policy } => write!(
                f,
                "maxmemory-policy is {policy}: when memory is short, claims and completed \
                 events are thrown away and run again; set it to noeviction"
            ),
            Self::Forgets => f.write_str(
                "the server has no append-only file: a crash forgets completed events, \
                 which then run again; set appendonly yes",
            ),
            Self::Unknown => f.write_str(
                "the server does not say what it does at its memory limit (INFO is refused); \
                 see that maxmemory-policy is noeviction",
            ),
        }
    }
}

/// Reads the warnings off `INFO`.
pub(crate) fn read(info: &str) -> Vec<Warning> {
    let value = |name: &str| {
        info.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let mut warnings = Vec::new();
    match value("maxmemory_policy") {
        Some("noeviction") => {}
        Some(policy) => warnings.push(Warning::Evicts {
            policy: policy.to_owned(),
        }),
        None => warnings.push(Warning::Unknown),
    }
    if value("aof_enabled") == Some("0") {
        warnings.push(Warning::Forgets);
    }
    warnings
}

pub(crate) async fn ask(connection: &mut MultiplexedConnection) -> Vec<Warning> {
    let info = redis::cmd("INFO").query_async::<String>(connection).await;
    info.map_or_else(|_| vec![Warning::Unknown], |info| read(&info))
}

pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

#[cfg(test)]
mod tests {
    use super::{Warning, read};

    #[test]
    fn evicting_and_forgetful_server_is_warned_of() {
        let info = "# Memory\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:0\r\n";
        let policy = "allkeys-lru".to_owned();
        assert_eq!(read(info), [Warning::Evicts { policy }, Warning::Forgets]);
        assert_eq!(read("maxmemory_policy:noeviction\r\naof_enabled:1\r\n"), []);
        assert_eq!(read(""), [Warning::Unknown]);
    }
}
