//! Signed timestamps: where they stand and how far off they may be.

use super::{header_name, single};
use crate::{BuildError, Reason};
use http::{HeaderMap, HeaderName};
use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Tells where a signed timestamp stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timestamp {
    /// There is none; a captured request can be replayed for ever.
    None,
    /// In a header of its own.
    Header(Cow<'static, str>, TimeUnit),
    /// In a field of the signature header, as in `t=1700000000,v1=…`.
    Field(Cow<'static, str>, TimeUnit),
}

/// Tells what a timestamp counts since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
}

/// Reads the wall clock; tests put their own in.
#[derive(Clone)]
pub(crate) struct WallClock(pub(crate) Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Default for WallClock {
    fn default() -> Self {
        Self(Arc::new(SystemTime::now))
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

/// Where the timestamp is, header names parsed.
#[derive(Debug)]
pub(super) enum Place {
    Nowhere,
    Header(HeaderName),
    Field(Cow<'static, str>),
}

/// Judges timestamps.
#[derive(Debug)]
pub(super) struct TimeCheck {
    pub(super) place: Place,
    unit: TimeUnit,
    tolerance: Option<Duration>,
    clock: WallClock,
}

impl TimeCheck {
    pub(super) fn build(
        timestamp: &Timestamp,
        tolerance: Option<Duration>,
        clock: WallClock,
    ) -> Result<Self, BuildError> {
        let (place, unit) = match timestamp {
            Timestamp::None => (Place::Nowhere, TimeUnit::Seconds),
            Timestamp::Header(name, unit) => (Place::Header(header_name(name)?), *unit),
            Timestamp::Field(name, unit) => (Place::Field(name.clone()), *unit),
        };
        Ok(Self {
            place,
            unit,
            tolerance,
            clock,
        })
    }

    /// Returns the text of a timestamp that stands in its own header.
    pub(super) fn header_text<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Reason> {
        match &self.place {
            Place::Header(name) => single(headers, name, Reason::TimestampMissing)?
                .to_str()
                .map_err(|_| Reason::TimestampMalformed),
            _ => Ok(""),
        }
    }

    /// Judges the text: digits, and within the tolerance on both sides, ends included.
    pub(super) fn judge(&self, text: &str) -> Result<(), Reason> {
        if matches!(self.place, Place::Nowhere) {
            return Ok(());
        }
        // Only what senders write: an optional sign and digits. `+5` or ` 5` would be
        // a second spelling of a signed text.
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Reason::TimestampMalformed);
        }
        let given: i64 = text.parse().map_err(|_| Reason::TimestampMalformed)?;
        let Some(tolerance) = self.tolerance else {
            return Ok(());
        };
        // 128 bits hold the difference of any two 64-bit times in milliseconds.
        let given_ms = i128::from(given)
            * match self.unit {
                TimeUnit::Seconds => 1000,
                TimeUnit::Millis => 1,
            };
        // A timestamp in seconds names the whole second; compare whole seconds too.
        let now_ms = match (self.clock.0)().duration_since(UNIX_EPOCH) {
            Ok(since) => match self.unit {
                TimeUnit::Seconds => i128::from(since.as_secs()) * 1000,
                TimeUnit::Millis => i128::try_from(since.as_millis()).unwrap_or(i128::MAX),
            },
            Err(_) => 0,
        };
        let tolerance_ms = i128::try_from(tolerance.as_millis()).unwrap_or(i128::MAX);
        if now_ms - given_ms > tolerance_ms {
            Err(Reason::TimestampTooOld)
        } else if given_ms - now_ms > tolerance_ms {
            Err(Reason::TimestampTooNew)
        } else {
            Ok(())
        }
    }
}
