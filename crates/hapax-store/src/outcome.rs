//! What a claim was told.

use std::time::Duration;

/// Tells whether the caller is the first, and if not, why not.
///
/// `L` is the store's lease. `First` must be settled: dropping it releases the id.
#[derive(Debug)]
#[must_use = "dropping a first outcome releases the id"]
pub enum Outcome<L> {
    /// Nobody holds the id and nobody completed it within the retention. It is the
    /// caller's now.
    First(L),
    /// Somebody else holds the id. If they neither settle nor extend, it is free
    /// again after `remaining`.
    InFlight {
        /// Time until the holder's lease ends.
        remaining: Duration,
    },
    /// The id was completed within the retention.
    Duplicate {
        /// Time until the id is forgotten, where the store can tell. A cache in
        /// front of the store must not remember the id for longer.
        remaining: Option<Duration>,
    },
}

impl<L> Outcome<L> {
    /// Replaces the lease by what `f` makes of it.
    pub fn map<M>(self, f: impl FnOnce(L) -> M) -> Outcome<M> {
        match self {
            Self::First(lease) => Outcome::First(f(lease)),
            Self::InFlight { remaining } => Outcome::InFlight { remaining },
            Self::Duplicate { remaining } => Outcome::Duplicate { remaining },
        }
    }

    /// Returns the lease if the caller is the first.
    pub fn first(self) -> Option<L> {
        match self {
            Self::First(lease) => Some(lease),
            _ => None,
        }
    }

    /// Tells whether the caller is the first.
    pub fn is_first(&self) -> bool {
        matches!(self, Self::First(_))
    }

    /// Tells whether somebody else holds the id.
    pub fn is_in_flight(&self) -> bool {
        matches!(self, Self::InFlight { .. })
    }

    /// Tells whether the id was completed within the retention.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }
}
