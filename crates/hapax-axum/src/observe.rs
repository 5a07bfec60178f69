//! What the outside may see: `tracing` events, and metrics behind a feature.
//!
//! Ids appear hashed, secrets never. The hash is the first eight bytes of SHA-256 in
//! hexadecimal, so that an operator who knows an id finds it:
//! `printf %s "$ID" | sha256sum | cut -c1-16`.

use crate::{Delivery, Ending, Reason, layer::Shared};
use hapax_store::{SettleError, StoreError};
use sha2::{Digest, Sha256};
use std::{error::Error, fmt, time::Duration};

/// Shows the hash of an id; computed only if somebody looks.
pub(crate) struct Hashed<'a>(pub(crate) &'a str);

impl fmt::Display for Hashed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = Sha256::digest(self.0.as_bytes());
        hash.iter()
            .take(8)
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hashed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Tells how a delivery ended.
pub(crate) fn ended(shared: &Shared, id: &str, ending: Ending) {
    tracing::debug!(
        provider = &*shared.provider,
        outcome = ending.as_str(),
        id = %Hashed(id),
        "delivery"
    );
    metrics_ended(shared, ending);
}

/// Tells why a request was refused.
pub(crate) fn refused(shared: &Shared, reason: Reason) {
    let provider = &*shared.provider;
    match reason {
        // Nobody did anything wrong: a sender went away.
        Reason::BodyBroken => tracing::debug!(provider, reason = reason.as_str(), "refused"),
        Reason::StoreFull
        | Reason::StoreUnavailable
        | Reason::VerifierUnavailable
        | Reason::CheckPanicked => {
            tracing::warn!(provider, reason = reason.as_str(), "refused");
        }
        _ => tracing::info!(provider, reason = reason.as_str(), "refused"),
    }
    metrics_ended(shared, Ending::Rejected(reason));
}

/// Tells that the store did not answer a claim.
pub(crate) fn store_failed(shared: &Shared, error: &StoreError) {
    tracing::warn!(
        provider = &*shared.provider,
        error = %error,
        cause = error.source().map(tracing::field::display),
        "claim failed"
    );
}

/// Tells that a claim could not be settled.
pub(crate) fn not_settled(delivery: &Delivery, error: &SettleError) {
    tracing::warn!(
        provider = delivery.provider(),
        id = %Hashed(delivery.id()),
        error = %error,
        cause = error.source().map(tracing::field::display),
        "claim not settled"
    );
}

/// Tells that a claim was released because its holder went away.
pub(crate) fn dropped(delivery: &Delivery) {
    tracing::debug!(
        provider = delivery.provider(),
        id = %Hashed(delivery.id()),
        "claim released by its drop"
    );
}

/// Tells that a verifier was not waited for any longer.
pub(crate) fn verifier_late(shared: &Shared, limit: Duration) {
    tracing::warn!(
        provider = &*shared.provider,
        limit = ?limit,
        "verifier did not answer in time"
    );
}

/// Tells that a function of the layer's settings panicked after the claim.
pub(crate) fn panicked(shared: &Shared, what: &'static str) {
    tracing::warn!(provider = &*shared.provider, what, "panicked");
}

/// Tells that a handler did not come to its own end.
pub(crate) fn stopped(delivery: &Delivery, how: &'static str) {
    tracing::warn!(
        provider = delivery.provider(),
        id = %Hashed(delivery.id()),
        how,
        "handler did not finish"
    );
}

#[cfg(feature = "metrics")]
fn metrics_ended(shared: &Shared, ending: Ending) {
    let provider = metrics::SharedString::from(std::sync::Arc::clone(&shared.provider));
    let reason = match ending {
        Ending::Rejected(reason) => reason.as_str(),
        _ => "",
    };
    metrics::counter!(
        "hapax_deliveries_total",
        "provider" => provider,
        "outcome" => ending.as_str(),
        "reason" => reason,
    )
    .increment(1);
}

#[cfg(not(feature = "metrics"))]
fn metrics_ended(_: &Shared, _: Ending) {}

/// Measures one handler from its call to its end, whatever that is.
pub(crate) struct Running<'a> {
    shared: &'a Shared,
    #[cfg(feature = "metrics")]
    since: std::time::Instant,
}

impl<'a> Running<'a> {
    pub(crate) fn start(shared: &'a Shared) -> Self {
        shared.counting.running.add(1);
        #[cfg(feature = "metrics")]
        metrics::gauge!("hapax_handlers_running", "provider" => metrics::SharedString::from(std::sync::Arc::clone(&shared.provider)))
            .increment(1);
        Self {
            shared,
            #[cfg(feature = "metrics")]
            since: std::time::Instant::now(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.shared.counting.running.sub(1);
        #[cfg(feature = "metrics")]
        {
            let provider =
                metrics::SharedString::from(std::sync::Arc::clone(&self.shared.provider));
            metrics::gauge!("hapax_handlers_running", "provider" => provider.clone()).decrement(1);
            metrics::histogram!("hapax_handler_seconds", "provider" => provider)
                .record(self.since.elapsed());
        }
    }
}
