//! What a handler is told about the request it got.

use std::{fmt, sync::Arc};

/// Tells a handler what the layer found: provider, id, attempt, outcome.
///
/// An extractor; also in the request's extensions for services without extractors.
/// Cheap to clone.
///
/// # Examples
///
/// ```
/// use hapax_axum::Delivery;
///
/// async fn handler(delivery: Delivery) -> String {
///     match delivery.attempt() {
///         Some(n) => format!("{}, attempt {n}", delivery.id()),
///         None => delivery.id().to_owned(),
///     }
/// }
/// # let _ = handler;
/// ```
#[derive(Clone)]
pub struct Delivery(Arc<Inner>);

struct Inner {
    provider: Arc<str>,
    id: Arc<str>,
    attempt: Option<u32>,
    outcome: DeliveryOutcome,
}

/// Tells a handler why it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeliveryOutcome {
    /// The claim was won: nobody else handles this id.
    First,
    /// There is no claim, by policy: the store did not answer, or there is no id. Others
    /// may be handling the same event.
    Unchecked,
    /// Done before. Only the duplicate's answer sees it.
    Duplicate,
    /// Several events; see [`Items`](crate::Items).
    Batch,
}

impl Delivery {
    pub(crate) fn new(
        provider: Arc<str>,
        id: Arc<str>,
        attempt: Option<u32>,
        outcome: DeliveryOutcome,
    ) -> Self {
        Self(Arc::new(Inner {
            provider,
            id,
            attempt,
            outcome,
        }))
    }

    /// Returns the provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// Returns the event's id: its first part where it is composed, empty where the
    /// policy let a request without one pass or the body is a batch.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the number the sender gives this attempt, where it gives one. What the
    /// first attempt is called (none, 0 or 1) is the sender's choice.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        self.0.attempt
    }

    /// Returns why the handler runs.
    #[must_use]
    pub fn outcome(&self) -> DeliveryOutcome {
        self.0.outcome
    }
}

impl fmt::Debug for Delivery {
    /// Shows a hash in place of the id, as the logs do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("provider", &self.provider())
            .field("id", &crate::observe::Hashed(self.id()))
            .field("attempt", &self.attempt())
            .field("outcome", &self.outcome())
            .finish()
    }
}
