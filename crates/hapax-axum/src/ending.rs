//! How a request ended, seen from outside the handler.

use crate::Reason;
use std::fmt;

/// Tells how the layer ended a request. Found in every answer's extensions.
///
/// # Examples
///
/// ```
/// use axum::response::Response;
/// use hapax_axum::Ending;
///
/// fn was_dropped(response: &Response) -> bool {
///     response.extensions().get::<Ending>() == Some(&Ending::Duplicate)
/// }
/// # assert!(!was_dropped(&Response::default()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// First: the handler succeeded and the id is done.
    Completed,
    /// First: the handler did not succeed and the id is free again.
    Released,
    /// First: the handler ended, but its lease had run out or the store could not be
    /// told. The answer is the handler's.
    Lost,
    /// First: the handler took the claim and settles it itself.
    HandedOver,
    /// The handler ran without a claim, by policy.
    Unchecked,
    /// A copy of a delivery that was done before. The handler did not run.
    Duplicate,
    /// A copy of a delivery that is being handled. The handler did not run.
    InFlight,
    /// A batch without an item. There was nothing to do.
    Empty,
    /// The layer answered a provider's handshake.
    Handshake,
    /// Refused before the handler.
    Rejected(Reason),
}

impl Ending {
    /// Returns the value of the outcome header and of the metrics' `outcome` label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Released => "released",
            Self::Lost => "lost",
            Self::HandedOver => "handed-over",
            Self::Unchecked => "unchecked",
            Self::Duplicate => "duplicate",
            Self::InFlight => "in-flight",
            Self::Empty => "empty",
            Self::Handshake => "handshake",
            Self::Rejected(_) => "rejected",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
