//! How long one call's id is remembered, where that is less than the set's own retention.

use core::time::Duration;

use crate::{build_error::BuildError, builder::check_retention, set::DedupSet};

/// A retention for one call, checked by the set: from 1 ms to the set's own.
///
/// Made by [`DedupSet::retention`], so that finishing a piece of work can never fail on a number.
/// Used with another set whose own retention is shorter, it means that one.
///
/// # Examples
///
/// ```
/// use hapax::DedupSet;
/// use std::time::Duration;
///
/// let set = DedupSet::new(Duration::from_secs(3600));
/// let minute = set.retention(Duration::from_secs(60))?;
/// assert!(set.check_and_mark_for("evt_1", minute));
/// # Ok::<(), hapax::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Retention(pub(crate) Duration);

impl<S, C> DedupSet<S, C> {
    /// Checks a retention for one call: at least 1 ms, at most the set's own.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::DedupSet;
    /// # use std::time::Duration;
    /// let seen = DedupSet::new(Duration::from_secs(60));
    /// assert!(seen.retention(Duration::from_secs(60)).is_ok());
    /// assert!(seen.retention(Duration::from_secs(61)).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`BuildError::RetentionTooShort`] or [`BuildError::RetentionTooLong`].
    pub fn retention(&self, retention: Duration) -> Result<Retention, BuildError> {
        check_retention(retention, self.engine.retention)?;
        Ok(Retention(retention))
    }
}
