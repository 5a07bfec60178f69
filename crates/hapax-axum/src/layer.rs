//! The layer: what all services and all requests of one endpoint share.

use crate::{
    Builder, Counters, Delivery, DeliveryOutcome, HangUp, InFlight, Provider, StoreFailure,
    Webhook,
    counters::Counting,
    key::IdFinder,
    policy::{DuplicateFn, SuccessFn},
    provider::Handshake,
    signature::Verifier,
};
use hapax_store::{AnyStore, ClaimStore};
use http::{HeaderName, Method};
use std::{fmt, sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_layer::Layer;

/// After the drain's deadline, how long stopped handlers may take to release.
const SETTLE_GRACE: Duration = Duration::from_secs(5);

/// Makes one endpoint's retries harmless. See the [crate docs](crate) for what it does
/// to a request.
///
/// Clones share the store, the counters and the drain.
///
/// # Examples
///
/// ```
/// use axum::{Router, body::Bytes, http::StatusCode, routing::post};
/// use hapax_axum::{Delivery, Provider, Verified, WebhookLayer};
/// use hapax_store::MemoryStore;
/// use std::time::Duration;
///
/// async fn handler(delivery: Delivery, Verified(body): Verified<Bytes>) -> StatusCode {
///     println!("{} sent {} with {} bytes", delivery.provider(), delivery.id(), body.len());
///     StatusCode::ACCEPTED
/// }
///
/// let store = MemoryStore::new(Duration::from_secs(96 * 3600));
/// let layer = WebhookLayer::builder(Provider::github(), store)
///     .secret("It's a Secret to Everybody")
///     .build()?;
/// let app: Router = Router::new().route("/github", post(handler).layer(layer));
/// # let _ = app;
/// # Ok::<(), hapax_axum::BuildError>(())
/// ```
#[derive(Clone)]
pub struct WebhookLayer {
    pub(crate) shared: Arc<Shared>,
}

impl WebhookLayer {
    /// Starts a layer for `provider` that claims ids in `store`.
    pub fn builder(provider: Provider, store: impl ClaimStore) -> Builder {
        Builder::new(provider, store)
    }

    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Returns what has been counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counting.snapshot()
    }

    /// Returns the provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.shared.provider
    }

    /// Waits for the running handlers; a server's graceful shutdown does not see those
    /// whose sender hung up.
    ///
    /// From the first call on, new deliveries are answered 503, so that the sender
    /// retries elsewhere. Handlers still running after `deadline` are stopped at their
    /// next await and their claims released, which may take up to 5 s more. Returns how
    /// many were still at work; among them are claims that a
    /// [`ClaimHandle`](crate::ClaimHandle) took elsewhere, which nobody can stop from here.
    ///
    /// # Cancellation
    ///
    /// The layer stays closed to new deliveries; nobody is stopped. Call it again to
    /// wait again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax_axum::{Provider, WebhookLayer};
    /// # use hapax_store::MemoryStore;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), hapax_axum::BuildError> {
    /// # let store = MemoryStore::new(Duration::from_secs(3600));
    /// # let layer = WebhookLayer::builder(Provider::unsigned_json(), store).build()?;
    /// // After `axum::serve(...).with_graceful_shutdown(...)` has returned:
    /// let drained = layer.drain(Duration::from_secs(10)).await;
    /// assert_eq!(drained.stopped, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain(&self, deadline: Duration) -> Drained {
        let Shared { tasks, stop, .. } = &*self.shared;
        tasks.close();
        if tokio::time::timeout(deadline, tasks.wait()).await.is_ok() {
            return Drained { stopped: 0 };
        }
        let stopped = tasks.len();
        stop.cancel();
        let settled = tokio::time::timeout(SETTLE_GRACE, tasks.wait()).await;
        if settled.is_err() {
            tracing::warn!(
                provider = &*self.shared.provider,
                running = tasks.len(),
                "handlers did not stop; their claims end with their leases"
            );
        }
        Drained { stopped }
    }
}

/// Tells how a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Handlers, and claims taken by handlers, that were still open at the deadline.
    pub stopped: usize,
}

impl<S> Layer<S> for WebhookLayer {
    type Service = Webhook<S>;

    fn layer(&self, inner: S) -> Webhook<S> {
        Webhook::new(inner, Arc::clone(&self.shared))
    }
}

impl fmt::Debug for WebhookLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookLayer")
            .field("provider", &self.shared.provider)
            .finish_non_exhaustive()
    }
}

/// One endpoint's state.
pub(crate) struct Shared {
    pub(crate) provider: Arc<str>,
    pub(crate) verifier: Verifier,
    pub(crate) finder: IdFinder,
    pub(crate) store: AnyStore,
    pub(crate) rules: Rules,
    pub(crate) counting: Counting,
    /// Handlers that run, attended or not. Closed by the drain.
    pub(crate) tasks: TaskTracker,
    /// Cancelled at the drain's deadline.
    pub(crate) stop: CancellationToken,
}

impl Shared {
    pub(crate) fn delivery(
        &self,
        id: Arc<str>,
        attempt: Option<u32>,
        outcome: DeliveryOutcome,
    ) -> Delivery {
        Delivery::new(Arc::clone(&self.provider), id, attempt, outcome)
    }
}

/// What `build()` has checked.
pub(crate) struct Rules {
    pub(crate) methods: Vec<Method>,
    pub(crate) body_limit: usize,
    pub(crate) body_timeout: Duration,
    pub(crate) handler_limit: Duration,
    pub(crate) store_timeout: Duration,
    pub(crate) leasing: Leasing,
    pub(crate) in_flight: InFlight,
    pub(crate) store_failure: StoreFailure,
    pub(crate) hang_up: HangUp,
    pub(crate) duplicate: Option<DuplicateFn>,
    /// Media type and body of the provider's own answer to a duplicate.
    pub(crate) duplicate_body: Option<(&'static str, &'static str)>,
    pub(crate) success: Option<SuccessFn>,
    pub(crate) outcome_header: Option<HeaderName>,
    pub(crate) handshake: Handshake,
    pub(crate) origins: Vec<String>,
    pub(crate) attempt: Option<HeaderName>,
}

/// How long a claim is held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leasing {
    pub(crate) length: Duration,
    pub(crate) extend_every: Option<Duration>,
}
