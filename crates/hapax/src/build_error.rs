//! What a set cannot be: each setting that is out of range, with its limit.

use core::{fmt, time::Duration};
use std::error::Error;

/// A setting that a set cannot have, with its limit.
///
/// # Examples
///
/// ```
/// use hapax::DedupSet;
/// use std::time::Duration;
///
/// let error = DedupSet::builder().retention(Duration::ZERO).build().unwrap_err();
/// assert_eq!(error.to_string(), "retention of 0ns is shorter than 1ms");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BuildError {
    /// A retention below 1 ms.
    RetentionTooShort {
        /// What was asked for.
        given: Duration,
        /// The limit.
        least: Duration,
    },
    /// A retention above 365 days, or for one call above the set's own.
    RetentionTooLong {
        /// What was asked for.
        given: Duration,
        /// The limit.
        most: Duration,
    },
    /// A lease below 1 ms.
    LeaseTooShort {
        /// What was asked for.
        given: Duration,
        /// The limit.
        least: Duration,
    },
    /// A lease longer than the retention.
    LeaseTooLong {
        /// What was asked for.
        given: Duration,
        /// The limit: the retention.
        most: Duration,
    },
    /// A capacity that no table can have.
    CapacityTooLarge {
        /// What was asked for.
        given: usize,
        /// The limit, for this number of shards.
        most: usize,
    },
    /// A limit of no entries at all.
    NoEntries,
    /// A limit that no table can have.
    MaxEntriesTooLarge {
        /// What was asked for.
        given: usize,
        /// The limit, for this number of shards.
        most: usize,
    },
    /// A limit below the capacity.
    MaxEntriesBelowCapacity {
        /// What was asked for.
        given: usize,
        /// The limit: the capacity.
        least: usize,
    },
    /// No shards at all.
    NoShards,
    /// More shards than the hash can tell apart.
    TooManyShards {
        /// What was asked for.
        given: usize,
        /// The limit.
        most: usize,
    },
    /// A clock that is too coarse to keep time by.
    ResolutionTooCoarse {
        /// What the clock states.
        given: Duration,
        /// The limit.
        most: Duration,
    },
    /// The system has no memory for the tables.
    OutOfMemory {
        /// What was asked for, in bytes.
        bytes: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RetentionTooShort { given, least } => {
                write!(f, "retention of {given:?} is shorter than {least:?}")
            }
            Self::RetentionTooLong { given, most } => {
                write!(f, "retention of {given:?} is longer than {most:?}")
            }
            Self::LeaseTooShort { given, least } => {
                write!(f, "lease of {given:?} is shorter than {least:?}")
            }
            Self::LeaseTooLong { given, most } => {
                write!(
                    f,
                    "lease of {given:?} is longer than the retention of {most:?}"
                )
            }
            Self::CapacityTooLarge { given, most } => {
                write!(f, "capacity of {given} entries is more than {most}")
            }
            Self::NoEntries => f.write_str("limit of 0 entries leaves room for nothing"),
            Self::MaxEntriesTooLarge { given, most } => {
                write!(f, "limit of {given} entries is more than {most}")
            }
            Self::MaxEntriesBelowCapacity { given, least } => {
                write!(
                    f,
                    "limit of {given} entries is less than the capacity of {least}"
                )
            }
            Self::NoShards => f.write_str("0 shards leave room for nothing"),
            Self::TooManyShards { given, most } => write!(f, "{given} shards are more than {most}"),
            Self::ResolutionTooCoarse { given, most } => {
                write!(f, "clock resolution of {given:?} is coarser than {most:?}")
            }
            Self::OutOfMemory { bytes } => write!(f, "no memory for tables of {bytes} bytes"),
        }
    }
}

impl Error for BuildError {}
