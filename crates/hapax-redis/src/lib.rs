//! Redis and Valkey as a [`ClaimStore`](hapax_store::ClaimStore).
//!
//! What one key of the server holds, and who may change it:
//!
//! - One event is one string under `<prefix>:<32 hex digits>`, the first 128 bits of
//!   the SHA-256 of [`Key::as_bytes`](hapax_store::Key::as_bytes). The id itself never
//!   reaches the server. Every process computes the same name.
//! - The value is `f` and a token (in flight) or `d` and a token (done). Its expiry is
//!   the end of the lease, or of the retention. There is no value without an expiry
//!   and no second place that says when something ends. Redis removes what ended;
//!   nothing is swept.
//! - A token is drawn for each claim and never recurs. Only a request that carries
//!   the token changes a value in flight.
//! - Each transition is one script on one key, so it is atomic, works on a cluster's
//!   node, and reads one clock: the server's.
//! - A request may arrive twice. Each recognises its own token, so the second time it
//!   answers as the first time and changes nothing. That is why requests can be sent
//!   again when a connection breaks.
//!
//! # Examples
//!
//! ```no_run
//! use hapax_redis::RedisStore;
//! use hapax_store::{ClaimStore, Key, Outcome, StoreLease};
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = RedisStore::builder("redis://127.0.0.1:6379")
//!     .retention(Duration::from_secs(96 * 3600))
//!     .build()?;
//! for warning in store.check().await? {
//!     eprintln!("{warning}");
//! }
//!
//! let key = Key::new("/orders", b"evt_1");
//! if let Outcome::First(lease) = store.claim(&key, Duration::from_secs(30)).await? {
//!     // ... the work ...
//!     lease.complete().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | file | holds |
//! |---|---|
//! | `builder.rs` | [`Builder`]: every setting with its range |
//! | `build_error.rs` | [`BuildError`]: a setting that cannot be |
//! | `store.rs` | [`RedisStore`]: claims |
//! | `lease.rs` | [`RedisLease`]: settling, and releases in the background |
//! | `script.rs` | the five scripts, which are the whole protocol |
//! | `name.rs` | the server's name for a key |
//! | `token.rs` | tokens that never recur |
//! | `link.rs` | one connection: backoff, timeouts, limits |
//! | `fault.rs` | what went wrong, as a `StoreError` |
//! | `check.rs` | [`Warning`]: what this server does not promise |

#![forbid(unsafe_code)]

mod build_error;
mod builder;
mod check;
mod fault;
mod lease;
mod link;
mod name;
mod script;
mod store;
mod token;

/// The README's example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use build_error::BuildError;
pub use builder::Builder;
pub use check::Warning;
pub use lease::RedisLease;
pub use store::RedisStore;
