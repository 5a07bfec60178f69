//! A concurrent set of ids that answers *"is this the first time I see it?"* exactly once per id,
//! and forgets by itself.
//!
//! Senders of events deliver at least once. [`DedupSet`] tells a first delivery from a repeated
//! one, from any number of threads, without a lock: a thread that is descheduled in the middle of a
//! call holds up nobody. An entry whose time has passed *is* a free slot, so forgetting costs
//! nothing, and no call pays for the ids of others.
//!
//! ```
//! use hapax::{Claim, DedupSet};
//! use std::{sync::Arc, time::Duration};
//!
//! let seen = Arc::new(DedupSet::new(Duration::from_secs(24 * 60 * 60)));
//!
//! // Drop-in for a mutex map: true exactly once per retention.
//! assert!(seen.check_and_mark("evt_1"));
//! assert!(!seen.check_and_mark("evt_1"));
//!
//! // Better: an id is in flight until its work is done, and free again if the work fails.
//! if let Claim::First(lease) = seen.claim("evt_2")? {
//!     // ... process the event ...
//!     lease.complete()?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What you may rely on
//!
//! * **One winner.** Of all calls on one id while it is remembered, exactly one is told *first*.
//! * **Never early, never late.** An id is known for at least its retention, and gone after
//!   retention + 2 × the clock's resolution + 1 ms.
//! * **Nothing silent.** What a full set had to forget or refuse is counted in [`Stats`].
//!
//! The whole list, and what is *not* promised, is in [`design::guarantees`].
//!
//! # What it costs
//!
//! About 40 bytes per id at the size a set is made for, whatever the length of the ids, and one
//! cache line per call; no allocation in steady state. Ids are compared by 77 bits of a keyed hash:
//! a new id is mistaken for another live one with a chance of about 2^-74 per call. Numbers and
//! their derivation are in [`design::sizing`]; why it is right, in [`design::protocol`].
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `serde` | no | [`Stats`] implements `serde::Serialize` |
//!
//! # Where to go
//!
//! | for | see |
//! |---|---|
//! | marking and claiming | [`DedupSet`], [`Claim`], [`Lease`], [`OwnedLease`] |
//! | settings | [`Builder`], [`WhenFull`], [`BuildError`] |
//! | time | [`Clock`], [`SystemClock`], [`InstantClock`], [`ManualClock`] |
//! | hashing | [`Seeds`], [`Prefixed`] |
//! | counting | [`Stats`] |

#![forbid(unsafe_code)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "hapax packs a slot's state into one 64-bit atomic, which this target does not have"
);

#[cfg(any(hapax_pause, hapax_shuttle, fuzzing))]
mod audit;
mod batch;
mod bucket;
mod build_error;
mod builder;
mod claim;
mod clock;
mod counters;
mod engine;
mod gauges;
mod hash;
mod hint;
mod insert;
mod list;
mod mark;
#[cfg(all(test, hapax_loom))]
mod models;
mod place;
mod reservation;
mod retention;
mod set;
mod settle;
mod shard;
mod slot;
mod stats;
#[cfg(all(test, not(any(hapax_loom, hapax_shuttle))))]
mod steady;
mod sync;
mod table;
mod timeline;
mod wheel;

pub mod design;

pub use build_error::BuildError;
pub use builder::{Builder, WhenFull};
pub use claim::{Claim, Full, Lease, LeaseLost, OwnedLease};
pub use clock::{Clock, InstantClock, ManualClock, SystemClock};
pub use hash::{HashPair, Prefixed, Seeds};
pub use retention::Retention;
pub use set::DedupSet;
pub use stats::Stats;
#[cfg(hapax_pause)]
pub use sync::hook as pause;
