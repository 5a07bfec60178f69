//! A tower layer and Axum extractors that make webhook retries harmless.
//!
//! Senders of webhooks send again: when you were slow, when a connection broke, when
//! you answered 500, when somebody pressed *redeliver*. This layer stands before a
//! handler, believes only signed requests, and lets each delivery through once: a copy
//! of a delivery that is **done** is answered 200 without the handler, a copy of one
//! **in flight** is asked to come back, and a delivery that **failed** runs again.
//!
//! ```
//! use axum::{Router, body::Bytes, http::StatusCode, routing::post};
//! use hapax_axum::{Delivery, Provider, Verified, WebhookLayer};
//! use hapax_store::MemoryStore;
//! use std::time::Duration;
//!
//! async fn pushed(delivery: Delivery, Verified(body): Verified<Bytes>) -> StatusCode {
//!     println!("{}: {} bytes", delivery.id(), body.len());
//!     StatusCode::ACCEPTED
//! }
//!
//! // Senders retry for days: remember for longer. `build` refuses less.
//! let store = MemoryStore::new(Duration::from_secs(96 * 3600));
//! let github = WebhookLayer::builder(Provider::github(), store)
//!     .secret("It's a Secret to Everybody")
//!     .build()?;
//! let app: Router = Router::new().route("/github", post(pushed).layer(github));
//! # let _ = app;
//! # Ok::<(), hapax_axum::BuildError>(())
//! ```
//!
//! It is at-least-once delivery with duplicates suppressed, not more: see
//! [what is not promised](#what-is-not-promised).
//!
//! # What it does to a request
//!
//! In this order, cheapest first, and nothing is trusted before it is proven:
//!
//! 1. **Method.** Only POST ([`Builder::methods`]) goes on; other methods pass to the
//!    handler unchecked, or are answered where they are a provider's handshake
//!    ([`Handshake`]).
//! 2. **Size.** The raw body is read, at most 1 MiB ([`Builder::body_limit`]) → 413, at
//!    most 10 s long ([`Builder::body_timeout`]) → 408. A sender that leaves now has
//!    claimed nothing.
//! 3. **Signature.** Over the raw bytes, in constant time, under each of several
//!    secrets, with a tolerance for timestamps to both sides → 401, with the
//!    [`Reason`] for the log and not for the caller. Your own
//!    [`Verify`](signature::Verify) has 5 s ([`Builder::store_timeout`]) → 503. An unsigned request never touches
//!    the store, unless you chose a preset whose name says *unsigned*.
//! 4. **Id.** From a header, a JSON pointer, several parts, or a function
//!    ([`IdSource`]); 1 to 255 bytes, printable, once → 400. The key is the scope (the
//!    path, [`Scope`]) and the id.
//! 5. **Claim.** First → on. Done before → 200 ([`Builder::on_duplicate`]). In flight →
//!    503 with `Retry-After` ([`InFlight`]). Store full, away, or silent for 5 s
//!    ([`Builder::store_timeout`]) → 503 ([`StoreFailure`]).
//! 6. **Handler.** It gets the untouched body. As soon as it waits, it runs on a task of
//!    its own, up to 60 s ([`Builder::handler_limit`]) → 504. If the sender hangs up,
//!    it runs to its end ([`HangUp`]). A panic → 500.
//! 7. **Settling.** 2xx completes the claim ([`Verdict`]), anything else releases it, and
//!    the handler's answer is passed on untouched, with the [`Ending`] in its
//!    extensions.
//!
//! # What the store holds afterwards
//!
//! | the delivery ended by | answer | the id is |
//! |---|---|---|
//! | 2xx | the handler's | done |
//! | any other status, an error of the inner service | the handler's | free |
//! | a panic, also of [`Builder::success`] | 500 | free |
//! | a panic of [`Builder::on_duplicate`] | 500 | done, as before |
//! | a panic before the claim: `Verify`, [`IdFn`], [`Scope::Function`], the clock | 500 | untouched |
//! | the handler's limit | 504 | free |
//! | the sender hanging up before the body was there | | untouched |
//! | the sender hanging up later | | as the handler ends; free with [`HangUp::Cancel`] |
//! | the drain's deadline | 503 with `Retry-After` | free |
//! | the store not answering the claim in time | 503, or the handler's ([`StoreFailure`]) | free, or in flight until the lease ends |
//! | a [`ClaimHandle`] | the handler's | held until the handle settles |
//! | a lease that ended while the handler ran | the handler's | whatever the next holder makes of it |
//! | a crash of the process | | in flight until the lease ends (in memory: forgotten) |
//!
//! # Without extractors
//!
//! Any tower service will do. It finds the [`Delivery`] in the request's extensions:
//!
//! ```
//! use axum::{body::Body, extract::Request, response::Response};
//! use hapax_axum::{Delivery, IdSource, Provider, WebhookLayer};
//! use hapax_axum::signature::{HmacScheme, Scheme};
//! use hapax_store::MemoryStore;
//! use std::{convert::Infallible, time::Duration};
//! use tower::{ServiceBuilder, service_fn};
//!
//! let acme = Provider::custom("acme")
//!     .id(IdSource::pointer("/event/id"))
//!     .scheme(Scheme::hmac(HmacScheme::sha256("x-acme-signature")))
//!     .retry_window(Duration::from_secs(24 * 3600));
//! let store = MemoryStore::new(Duration::from_secs(48 * 3600));
//! let service = ServiceBuilder::new()
//!     .layer(WebhookLayer::builder(acme, store).secret("hush").build()?)
//!     .service(service_fn(|request: Request| async move {
//!         let delivery = request.extensions().get::<Delivery>();
//!         let id = delivery.map(|delivery| delivery.id().to_owned());
//!         Ok::<_, Infallible>(Response::new(Body::from(id.unwrap_or_default())))
//!     }));
//! # let _ = service;
//! # Ok::<(), hapax_axum::BuildError>(())
//! ```
//!
#![doc = include_str!("../docs/presets.md")]
//!
//! # What is not promised
//!
//! - **Exactly once.** A process can die between the effect and the claim's completion;
//!   the retry then runs again. For the effect itself exactly once, write the id in the
//!   same database transaction as the effect, or pass it on as the idempotency key of
//!   what you call.
//! - **Memory over restarts.** [`MemoryStore`](hapax_store::MemoryStore) is one process's
//!   memory. Several instances, or restarts, need a shared store.
//! - **A replay of the first answer.** A duplicate gets an empty 200 (Twilio: an empty
//!   document). Where the sender reads the body, set
//!   [`on_duplicate`](Builder::on_duplicate).
//! - **Order.** Deliveries that overlap run side by side.
//! - **The body of the answer.** The claim settles when the handler returns its
//!   response; a body that streams on may still fail.
//!
//! # Deploying it
//!
//! - **Order of layers**, outermost first: trace, catch-panic, limit, timeout, *this
//!   layer*, decompression, handler. A timeout outside is the sender hanging up; one
//!   inside is a failed handler. Decompression must be inside: senders sign what they
//!   send.
//! - **`Router::layer` checks unknown paths too** (and answers 400 or 401 before the 404);
//!   `route_layer`, or a layer on the method router, does not.
//! - **Other methods are not checked.** A route that also takes `GET` runs its handler
//!   unverified; handlers that ask for [`Delivery`] or [`Verified`] refuse then.
//! - **Graceful shutdown**: a server does not see handlers whose sender is gone. Call
//!   [`WebhookLayer::drain`] after the server has stopped.
//! - **Slow headers** are the server's business; `axum::serve` sets no time limit for
//!   them. Set hyper's `header_read_timeout`, on hyper's own `http1::Builder`: hyper-util's
//!   `auto::Builder` waits without a limit until it knows the version, so a connection
//!   that says nothing, or `P`, stays open.
//! - **Path as scope.** The path stands in the key as it is written; two routes to one
//!   handler are two endpoints. Take [`Scope::named`] to join them, and where a route has
//!   a wildcard: there the sender of a copy could choose another path.
//! - **Unsigned id headers** (GitHub, Shopify, Twilio, GitLab's token): whoever holds a
//!   signed body can send it under another id. [`Builder::bind_body`] keeps them from
//!   using up the ids of other events.
//!
//! # What it costs
//!
//! At most 20 allocations for a first delivery and 11 for a duplicate beyond the
//! handler's own (tested, without `metrics`), one pass over the body per secret, no task unless something
//! waits. `cargo bench -p hapax-axum --bench overhead` measures the time.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `metrics` | no | `hapax_deliveries_total` (`provider`, `outcome`, `reason`), `hapax_handlers_running` and `hapax_handler_seconds` (`provider`) through the `metrics` facade |
//!
//! `tracing` events are always there: `DEBUG` for deliveries, `INFO` for refusals,
//! `WARN` for what an operator should know. Ids appear hashed:
//! `printf %s "$ID" | sha256sum | cut -c1-16`.

#![forbid(unsafe_code)]

mod batch;
mod build;
mod build_error;
mod builder;
mod caught;
mod claim_handle;
mod counters;
mod deliver;
mod delivery;
mod ending;
mod extract;
mod future;
mod guard;
mod handshake;
mod key;
mod layer;
mod observe;
mod pointer;
mod policy;
mod provider;
mod reading;
mod reason;
mod respond;
mod service;
pub mod signature;

pub use batch::{Item, Items};
pub use build_error::BuildError;
pub use builder::{BATCH_LIMIT, BODY_LIMIT, BODY_TIMEOUT, Builder, HANDLER_LIMIT, STORE_TIMEOUT};
pub use claim_handle::ClaimHandle;
pub use counters::{Counters, Rejections};
pub use delivery::{Delivery, DeliveryOutcome};
pub use ending::Ending;
pub use extract::{MissingLayer, Verified, VerifiedRejection};
pub use future::ResponseFuture;
pub use key::{ID_MOST, IdFn, IdPart, IdSource};
pub use layer::{Drained, WebhookLayer};
pub use policy::{HangUp, InFlight, LeasePolicy, MissingId, Scope, StoreFailure, Verdict};
pub use provider::{Handshake, Provider, paypal};
pub use reason::Reason;
pub use service::Webhook;

#[doc = include_str!("../docs/swapping.md")]
pub mod swapping {}

/// The example in the repository's README, kept compiling.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
