//! What went wrong with a request, and what follows from it.

use hapax_store::{ErrorKind as StoreErrorKind, StoreError};
use redis::{ErrorKind, RedisError, ServerErrorKind};
use std::{error::Error, fmt, time::Duration};

/// Why a request failed, and whether the server may have seen it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    pub(crate) sent: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Cause {
    /// The server refused, or the connection broke under the request.
    Redis(RedisError),
    /// There was no connection to send it on.
    NotConnected(Option<RedisError>),
    /// It was sent, and nothing came back in time.
    NoAnswer { within: Duration },
    /// Every place for a request was taken for so long.
    Busy { within: Duration },
    /// The key holds something else.
    Foreign,
}

impl Cause {
    /// Whether the same request may do better in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Redis(error) | Self::NotConnected(Some(error)) => may_pass(error),
            Self::NotConnected(None) | Self::NoAnswer { .. } | Self::Busy { .. } => true,
            Self::Foreign => false,
        }
    }

    /// Whether a claim that failed with this, once sent, may have been made.
    ///
    /// A refusal is an answer; only silence and a broken connection leave it open.
    pub(crate) fn may_have_claimed(&self) -> bool {
        match self {
            Self::Redis(error) => breaks_connection(error),
            Self::NotConnected(_) | Self::NoAnswer { .. } | Self::Busy { .. } => true,
            Self::Foreign => false,
        }
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Redis(error) => match error.code() {
                Some("OOM") => StoreErrorKind::Full,
                Some("WRONGTYPE") => StoreErrorKind::Corrupt,
                _ => StoreErrorKind::Unavailable,
            },
            Self::NotConnected(_) => StoreErrorKind::Unavailable,
            Self::NoAnswer { .. } | Self::Busy { .. } => StoreErrorKind::Timeout,
            Self::Foreign => StoreErrorKind::Corrupt,
        }
    }
}

/// Whether the connection is of no more use after this error.
///
/// Read-only is one: what was the primary is a replica now, and the same address may
/// lead to the new primary.
pub(crate) fn breaks_connection(error: &RedisError) -> bool {
    error.is_io_error()
        || matches!(
            error.kind(),
            ErrorKind::Parse | ErrorKind::Server(ServerErrorKind::ReadOnly)
        )
}

/// Whether the error goes away without anybody changing a setting.
fn may_pass(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Parse => true,
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::ReadOnly
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::NoScript,
        ) => true,
        _ => error.code() == Some("BUSY"),
    }
}

impl From<Cause> for StoreError {
    fn from(cause: Cause) -> Self {
        let kind = cause.kind();
        match cause {
            Cause::Redis(error) => Self::with_source(kind, error),
            cause => Self::with_source(kind, cause),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.cause.into()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(_) => f.write_str("the server refused the request"),
            Self::NotConnected(_) => f.write_str("no connection to the server"),
            Self::NoAnswer { within } => write!(f, "no answer within {within:?}"),
            Self::Busy { within } => {
                write!(f, "no place among the requests in flight within {within:?}")
            }
            Self::Foreign => f.write_str("the value is none that a claim wrote"),
        }
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Redis(error) | Self::NotConnected(Some(error)) => Some(error),
            _ => None,
        }
    }
}
