//! What every hapax backend promises: claim an id, do the work, complete or release.
//!
//! A webhook handler, a queue consumer or a cron job asks one question before it
//! works on an event: *is this the first time?* [`ClaimStore`] answers it for
//! several tasks, threads or (with another backend) machines at once, and it
//! answers in three words instead of two:
//!
//! ```text
//!           claim                complete
//!  absent ---------> in flight -----------> done, for the retention
//!    ^                   |
//!    +-------------------+
//!      release, drop, or the lease ran out
//! ```
//!
//! - *First*: the caller holds a **lease** and nobody else does. It works, then
//!   completes. If it fails, it releases, and the sender's retry runs.
//! - *In flight*: somebody else holds the lease. Answer "come back later", never
//!   "done": the first run may still fail.
//! - *Duplicate*: the work was completed within the retention. Skip it.
//!
//! A lease is an owned value that settling consumes. There is no token to copy, to
//! log or to use twice.
//!
//! # Examples
//!
//! ```
//! use hapax_store::{ClaimStore, Key, MemoryStore, Outcome, StoreLease};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new(Duration::from_secs(96 * 3600));
//! let key = Key::new("/orders", b"evt_1");
//!
//! match store.claim(&key, Duration::from_secs(30)).await? {
//!     Outcome::First(lease) => {
//!         // ... the work ...
//!         lease.complete().await?;
//!     }
//!     Outcome::InFlight { remaining } => println!("try again in {remaining:?}"),
//!     Outcome::Duplicate { .. } => println!("done before"),
//! }
//! assert!(matches!(
//!     store.claim(&key, Duration::from_secs(30)).await?,
//!     Outcome::Duplicate { .. }
//! ));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | file | holds |
//! |---|---|
//! | `key.rs` | [`Key`]: scope and id parts, length-prefixed |
//! | `outcome.rs` | [`Outcome`]: first, in flight, duplicate |
//! | `error.rs` | [`StoreError`], [`SettleError`] |
//! | `store.rs` | the traits [`ClaimStore`] and [`StoreLease`] |
//! | `erased.rs` | [`AnyStore`]: a store chosen at run time |
//! | `fronted.rs` | [`Fronted`]: a set in front of a remote store answers *done* |
//! | `contract.rs` | behind the feature `contract`: what every store's tests run |
//! | `memory.rs` | [`MemoryStore`]: one process, on [`hapax::DedupSet`] |

#![forbid(unsafe_code)]

#[cfg(feature = "contract")]
pub mod contract;
mod erased;
mod error;
mod fronted;
mod key;
mod memory;
mod outcome;
mod store;

pub use erased::{AnyLease, AnyStore};
pub use error::{ErrorKind, SettleError, StoreError};
pub use fronted::{FrontCounts, Fronted, FrontedLease};
pub use key::Key;
pub use memory::{MemoryLease, MemoryStore};
pub use outcome::Outcome;
pub use store::{ClaimStore, StoreLease};
