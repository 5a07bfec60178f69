//! Options, their defaults and why. `build.rs` checks them.

use crate::{
    Delivery, HangUp, InFlight, LeasePolicy, MissingId, Provider, Scope, StoreFailure, Verdict,
    policy::{DuplicateFn, SuccessFn},
    signature::{DynVerify, Verify, WallClock},
};
use axum::response::Response;
use hapax_store::{AnyStore, ClaimStore};
use http::Method;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Bodies over this many bytes are refused unless the builder says otherwise: 1 MiB.
pub const BODY_LIMIT: usize = 1 << 20;

/// Handlers are stopped after this long unless the builder says otherwise: 60 s.
pub const HANDLER_LIMIT: Duration = Duration::from_secs(60);

/// Bodies must arrive within this long unless the builder says otherwise: 10 s.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Stores and verifiers must answer within this long unless the builder says otherwise:
/// 5 s.
pub const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Items in a batch over this many are refused unless the builder says otherwise.
pub const BATCH_LIMIT: usize = 10_000;

/// Builds a [`WebhookLayer`](crate::WebhookLayer). Made by
/// [`WebhookLayer::builder`](crate::WebhookLayer::builder).
///
/// # Examples
///
/// ```
/// use hapax_axum::{InFlight, Provider, WebhookLayer};
/// use hapax_store::MemoryStore;
/// use std::time::Duration;
///
/// let store = MemoryStore::new(Duration::from_secs(96 * 3600));
/// let layer = WebhookLayer::builder(Provider::stripe(), store)
///     .secrets(["whsec_new", "whsec_old"])
///     .in_flight(InFlight::Wait(Duration::from_secs(5)))
///     .handler_limit(Duration::from_secs(20))
///     .outcome_header("x-webhook-outcome")
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), hapax_axum::BuildError>(())
/// ```
///
/// Every policy, its default spelled out:
///
/// ```
/// use axum::response::IntoResponse;
/// use hapax_axum::*;
/// use http::{Method, StatusCode};
/// # let store = hapax_store::MemoryStore::new(std::time::Duration::from_secs(96 * 3600));
///
/// let layer = WebhookLayer::builder(Provider::github(), store)
///     .secret("hush")
///     .methods([Method::POST])
///     .body_limit(BODY_LIMIT)
///     .body_timeout(BODY_TIMEOUT)
///     .batch_limit(BATCH_LIMIT)
///     .scope(Scope::Path)
///     .missing_id(MissingId::Reject)
///     .in_flight(InFlight::Unavailable)
///     .on_duplicate(|_| StatusCode::OK.into_response())
///     .store_failure(StoreFailure::Reject)
///     .store_timeout(STORE_TIMEOUT)
///     .handler_limit(HANDLER_LIMIT)
///     .lease(LeasePolicy::default())
///     .success(|response| Verdict::by_status(response.status))
///     .hang_up(HangUp::Finish)
///     .build()?;
/// # let _ = layer;
/// # Ok::<(), hapax_axum::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct Builder {
    pub(crate) provider: Provider,
    pub(crate) store: AnyStore,
    pub(crate) secrets: Vec<Vec<u8>>,
    pub(crate) verifier: Option<Arc<dyn DynVerify>>,
    pub(crate) url: Option<Arc<str>>,
    pub(crate) short_retention: bool,
    pub(crate) bind_body: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) body_limit: usize,
    pub(crate) body_timeout: Duration,
    pub(crate) batch_limit: usize,
    pub(crate) handler_limit: Duration,
    pub(crate) store_timeout: Duration,
    pub(crate) lease: LeasePolicy,
    pub(crate) scope: Scope,
    pub(crate) missing_id: MissingId,
    pub(crate) store_failure: StoreFailure,
    pub(crate) hang_up: HangUp,
    pub(crate) duplicate: Option<DuplicateFn>,
    pub(crate) success: Option<SuccessFn>,
    pub(crate) outcome_header: Option<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) clock: WallClock,
}

impl Builder {
    pub(crate) fn new(provider: Provider, store: impl ClaimStore) -> Self {
        Self {
            provider,
            store: AnyStore::new(store),
            secrets: Vec::new(),
            verifier: None,
            url: None,
            short_retention: false,
            bind_body: false,
            methods: vec![Method::POST],
            body_limit: BODY_LIMIT,
            body_timeout: BODY_TIMEOUT,
            batch_limit: BATCH_LIMIT,
            handler_limit: HANDLER_LIMIT,
            store_timeout: STORE_TIMEOUT,
            lease: LeasePolicy::default(),
            scope: Scope::default(),
            missing_id: MissingId::default(),
            store_failure: StoreFailure::default(),
            hang_up: HangUp::default(),
            duplicate: None,
            success: None,
            outcome_header: None,
            origins: Vec::new(),
            clock: WallClock::default(),
        }
    }

    /// Adds a secret (a public key, where the provider signs with one). Each of up to
    /// 16 is accepted: add the new one before the old one goes.
    pub fn secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.secrets.push(secret.as_ref().to_vec());
        self
    }

    /// Adds several secrets.
    pub fn secrets<T: AsRef<[u8]>>(self, secrets: impl IntoIterator<Item = T>) -> Self {
        secrets.into_iter().fold(self, Self::secret)
    }

    /// Sets the verifier of a provider whose scheme is
    /// [`External`](crate::signature::Scheme::External), such as PayPal.
    pub fn verifier(mut self, verifier: impl Verify) -> Self {
        self.verifier = Some(Arc::new(verifier));
        self
    }

    /// Sets the address the sender calls, as the sender knows it, for providers that
    /// sign it (Square, Twilio). Without a `?`, Twilio's check appends the request's
    /// query.
    pub fn url(mut self, url: impl Into<Arc<str>>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Lets the store's retention be shorter than the provider's retry window: for
    /// tests and demonstrations. A late retry then runs again.
    pub fn allow_short_retention(mut self) -> Self {
        self.short_retention = true;
        self
    }

    /// Makes the SHA-256 of the body part of the key.
    ///
    /// For providers whose id header is not signed (GitHub, Shopify, Twilio, GitLab):
    /// somebody who holds one signed body can then no longer use up the id of another
    /// event. They can still replay that body under a new id.
    pub fn bind_body(mut self) -> Self {
        self.bind_body = true;
        self
    }

    /// Sets the methods that are deduplicated; default POST. Others pass to the
    /// handler unchecked.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Sets the longest body in bytes, 1 to 1 GiB; default [`BODY_LIMIT`].
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how long a body may take to arrive, 1 ms to 1 day; default
    /// [`BODY_TIMEOUT`].
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// Sets the most items of a batch, from 1; default [`BATCH_LIMIT`].
    pub fn batch_limit(mut self, items: usize) -> Self {
        self.batch_limit = items;
        self
    }

    /// Sets how long a handler may run, 1 ms to 1 day; default [`HANDLER_LIMIT`].
    /// Then it is dropped, the claim released, and the answer is 504.
    pub fn handler_limit(mut self, limit: Duration) -> Self {
        self.handler_limit = limit;
        self
    }

    /// Sets how long a claim is held without word from its holder.
    pub fn lease(mut self, lease: LeasePolicy) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the first half of the key; default the path.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets what happens to a request without an id; default 400.
    pub fn missing_id(mut self, policy: MissingId) -> Self {
        self.missing_id = policy;
        self
    }

    /// Sets the answer to a copy of a delivery in flight; default the provider's.
    pub fn in_flight(mut self, answer: InFlight) -> Self {
        self.provider.in_flight = answer;
        self
    }

    /// Sets what happens when the store does not answer before the handler; default 503.
    pub fn store_failure(mut self, policy: StoreFailure) -> Self {
        self.store_failure = policy;
        self
    }

    /// Sets how long the store may take to answer a claim, 1 ms to 1 day; default
    /// [`STORE_TIMEOUT`]. A [`Verify`] has as long.
    ///
    /// A store that is late has failed ([`store_failure`](Self::store_failure)); a batch
    /// asks once for all its items. What it may have claimed meanwhile it releases when
    /// it can, or the lease ends; until then copies are told *in flight*. A verifier that
    /// is late is unavailable: 503 with `Retry-After`, whatever the policy, and nothing is
    /// claimed. Completing and releasing have no limit here: giving up would not undo
    /// them.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// Sets what happens to the handler when the sender hangs up; default it finishes.
    pub fn hang_up(mut self, policy: HangUp) -> Self {
        self.hang_up = policy;
        self
    }

    /// Sets how far a signed timestamp may be off, to either side, up to 7 days;
    /// default the provider's.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.provider.tolerance = Some(tolerance);
        self
    }

    /// Sets the answer to a duplicate; default 200, empty. Keep it 2xx: on anything
    /// else most senders retry.
    ///
    /// The function gets the delivery that was done before. If it panics, the answer is
    /// 500 and the delivery stays done.
    pub fn on_duplicate(
        mut self,
        answer: impl Fn(&Delivery) -> Response + Send + Sync + 'static,
    ) -> Self {
        self.duplicate = Some(Arc::new(answer));
        self
    }

    /// Sets what counts as success; default 2xx. A [`Verdict`] in the response's
    /// extensions wins over it. If the function panics, the answer is 500 and the claim is
    /// released.
    pub fn success(
        mut self,
        judge: impl Fn(&http::response::Parts) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.success = Some(Arc::new(judge));
        self
    }

    /// Tells the outcome in a header of every answer, such as `duplicate`.
    pub fn outcome_header(mut self, name: impl Into<String>) -> Self {
        self.outcome_header = Some(name.into());
        self
    }

    /// Agrees only to these origins in the CloudEvents handshake; default any. `*`
    /// is any.
    pub fn allowed_origins<T: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = T>,
    ) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the clock that signed timestamps are compared with; default the system's.
    pub fn wall_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock(Arc::new(now));
        self
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("provider", &self.provider.name())
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}
