//! A lease of either form, borrowed from its set or owning a share of it.

use std::time::Duration;

use hapax::{Lease, LeaseLost, ManualClock, OwnedLease, Prefixed, Retention};

use crate::{collide::Collide, watchdog::Watched};

/// What a claim on an oracle's set grants.
pub(crate) enum AnyLease<'s> {
    Borrowed(Lease<'s, Watched<ManualClock>>),
    Owned(OwnedLease<Prefixed<Collide>, Watched<ManualClock>>),
}

impl AnyLease<'_> {
    pub(crate) fn complete(self) -> Result<(), LeaseLost> {
        match self {
            Self::Borrowed(lease) => lease.complete(),
            Self::Owned(lease) => lease.complete(),
        }
    }

    pub(crate) fn complete_for(self, retention: Retention) -> Result<(), LeaseLost> {
        match self {
            Self::Borrowed(lease) => lease.complete_for(retention),
            Self::Owned(lease) => lease.complete_for(retention),
        }
    }

    pub(crate) fn release(self) {
        match self {
            Self::Borrowed(lease) => lease.release(),
            Self::Owned(lease) => lease.release(),
        }
    }

    pub(crate) fn extend(&mut self, by: Duration) -> Result<(), LeaseLost> {
        match self {
            Self::Borrowed(lease) => lease.extend(by),
            Self::Owned(lease) => lease.extend(by),
        }
    }
}
