//! What can go wrong between a caller and a store.
//!
//! Being told *duplicate* or *in flight* is not an error, it is an
//! [`Outcome`](crate::Outcome).

use std::{error::Error, fmt};

/// The store could not answer. Keeps the backend's own error as `source()`.
#[derive(Debug)]
pub struct StoreError {
    kind: ErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of failure that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The store is at its configured maximum and refuses new ids.
    Full,
    /// The store cannot be reached.
    Unavailable,
    /// The store did not answer in time. The claim may have been made: its lease
    /// bounds how long it can stand in the way.
    Timeout,
    /// The store holds something under this key that it did not write.
    Corrupt,
}

impl StoreError {
    /// Makes an error without a cause.
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// Makes an error that keeps `source` as its cause.
    pub fn with_source(kind: ErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = Some(source.into());
        Self { kind, source }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ErrorKind::Full => "the store is full",
            ErrorKind::Unavailable => "the store is unavailable",
            ErrorKind::Timeout => "the store did not answer in time",
            ErrorKind::Corrupt => "the store holds a foreign value under this key",
        })
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A lease could not be settled or extended.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettleError {
    /// The lease had run out and the id is free or somebody else's. Nothing was
    /// changed. Work done under the lease may be done again by the new holder.
    Lost,
    /// The store could not answer. The id is free again when the lease ends.
    Store(StoreError),
}

impl fmt::Display for SettleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "the lease was lost before it was settled",
            Self::Store(_) => "the store could not settle the lease",
        })
    }
}

impl Error for SettleError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Lost => None,
            Self::Store(error) => Some(error),
        }
    }
}

impl From<StoreError> for SettleError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
