//! Who sends: everything the layer must know about one kind of sender.
//!
//! A provider is data. The presets are constant rows in [`presets`](mod@presets), each
//! with the source of its facts and the day they were checked; `custom()` starts a row
//! of your own from the same parts.

mod named;
pub mod paypal;
mod presets;
#[cfg(test)]
mod table;

use crate::{InFlight, key::IdSource, signature::Scheme};
use std::{borrow::Cow, time::Duration};

/// Describes one kind of sender.
///
/// # Examples
///
/// A sender of your own:
///
/// ```
/// use hapax_axum::{IdSource, Provider, signature::{HmacScheme, Scheme}};
/// use std::time::Duration;
///
/// let acme = Provider::custom("acme")
///     .id(IdSource::header("x-acme-delivery"))
///     .scheme(Scheme::hmac(HmacScheme::sha256("x-acme-signature").prefix("sha256=")))
///     .retry_window(Duration::from_secs(24 * 3600));
/// assert_eq!(acme.name(), "acme");
/// ```
#[derive(Debug, Clone)]
pub struct Provider {
    pub(crate) name: Cow<'static, str>,
    pub(crate) id: Option<IdSource>,
    pub(crate) scheme: Scheme,
    pub(crate) tolerance: Option<Duration>,
    pub(crate) retry_window: Duration,
    pub(crate) least_retention: Duration,
    pub(crate) in_flight: InFlight,
    pub(crate) handshake: Handshake,
    pub(crate) attempt: Option<Cow<'static, str>>,
    pub(crate) duplicate: Option<(&'static str, &'static str)>,
    pub(crate) source: &'static str,
    pub(crate) checked: &'static str,
}

/// Names what a provider asks before, or besides, deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Handshake {
    /// Nothing. Requests with other methods pass to the handler.
    #[default]
    None,
    /// A signed POST with `"type": "url_verification"`, answered with its challenge.
    UrlVerification,
    /// `OPTIONS` with `WebHook-Request-Origin`, answered with the consent.
    WebHookOrigin,
}

impl Provider {
    /// Starts a provider of your own: unsigned, no retry window, copies in flight
    /// answered 503. Give it at least an [`id`](Self::id) and a [`scheme`](Self::scheme).
    pub fn custom(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            id: None,
            scheme: Scheme::Unsigned,
            tolerance: None,
            retry_window: Duration::ZERO,
            least_retention: Duration::ZERO,
            in_flight: InFlight::Unavailable,
            handshake: Handshake::None,
            attempt: None,
            duplicate: None,
            source: "",
            checked: "",
        }
    }

    /// Sets where the id is.
    #[must_use]
    pub fn id(mut self, id: IdSource) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets how requests are signed.
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Sets how far a signed timestamp may be off, to either side.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets how long the sender retries. The store's retention must be longer, by an
    /// hour to be safe: that becomes the least retention.
    #[must_use]
    pub fn retry_window(mut self, window: Duration) -> Self {
        self.retry_window = window;
        self.least_retention = window.saturating_add(Duration::from_secs(3600));
        self
    }

    /// Sets the answer to a copy of a delivery in flight.
    #[must_use]
    pub fn in_flight(mut self, answer: InFlight) -> Self {
        self.in_flight = answer;
        self
    }

    /// Names the header in which the sender counts its attempts.
    #[must_use]
    pub fn attempt_header(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.attempt = Some(name.into());
        self
    }

    /// Sets the handshake the layer answers.
    #[must_use]
    pub fn handshake(mut self, handshake: Handshake) -> Self {
        self.handshake = handshake;
        self
    }

    /// Returns the name, as it stands in logs and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how long the sender retries.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.retry_window
    }

    /// Returns the shortest retention that `build()` takes.
    #[must_use]
    pub fn least_retention(&self) -> Duration {
        self.least_retention
    }

    /// Returns where the preset's facts are from and when they were checked
    /// (year-month-day), or two empty texts for a provider of your own.
    #[must_use]
    pub fn source(&self) -> (&'static str, &'static str) {
        (self.source, self.checked)
    }
}
