//! Settings that cannot be.

use std::{error::Error, fmt, time::Duration};

/// A setting that a store cannot have, with its limit.
///
/// # Examples
///
/// ```
/// use hapax_redis::RedisStore;
/// use std::time::Duration;
///
/// let error = RedisStore::builder("redis://localhost")
///     .timeout(Duration::ZERO)
///     .build()
///     .unwrap_err();
/// assert_eq!(error.to_string(), "timeout of 0ns is not between 1ms and 60s");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The URL is none that the client knows. The URL itself is not kept: it may
    /// hold a password.
    Url(Box<dyn Error + Send + Sync>),
    /// `rediss://` without the feature `tls`.
    TlsNotBuilt,
    /// A duration out of its range.
    Duration {
        /// The setting.
        setting: &'static str,
        /// What was asked for.
        value: Duration,
        /// The least that can be.
        least: Duration,
        /// The most that can be.
        most: Duration,
    },
    /// A prefix that is empty, longer than 64 bytes, or not printable ASCII.
    Prefix(String),
    /// A number of requests in flight that is not between 1 and 65,536.
    MaxInFlight(usize),
    /// The system gave no random bytes for tokens.
    Random(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(_) => {
                f.write_str("the url is none of redis://, rediss:// and unix:// with good parts")
            }
            Self::TlsNotBuilt => f.write_str("rediss:// needs the feature `tls`"),
            Self::Duration {
                setting,
                value,
                least,
                most,
            } => write!(
                f,
                "{setting} of {value:?} is not between {least:?} and {most:?}"
            ),
            Self::Prefix(prefix) => write!(
                f,
                "prefix {prefix:?} is not 1 to 64 printable ascii characters"
            ),
            Self::MaxInFlight(value) => {
                write!(f, "max_in_flight of {value} is not between 1 and 65536")
            }
            Self::Random(_) => f.write_str("the system gave no random bytes"),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Url(source) | Self::Random(source) => Some(&**source),
            _ => None,
        }
    }
}
