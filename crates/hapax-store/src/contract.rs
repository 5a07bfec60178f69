//! The contract every store passes: one function per promise of [`ClaimStore`].
//!
//! The promises are written once, here, and run by every backend. A store that
//! passes may stand behind anything that takes a [`ClaimStore`].
//!
//! # For authors of a store
//!
//! Turn the feature on for tests, describe the store by a [`Subject`], and let
//! [`contract!`](crate::contract!) write one test per promise:
//!
//! ```toml
//! [dev-dependencies]
//! hapax-store = { version = "…", features = ["contract"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! ```
//! use hapax::{DedupSet, ManualClock, Seeds, WhenFull};
//! use hapax_store::{MemoryStore, contract::{Subject, Times}};
//! use std::time::Duration;
//!
//! struct Memory {
//!     clock: ManualClock,
//!     store: MemoryStore<Seeds, ManualClock>,
//! }
//!
//! impl Memory {
//!     fn start() -> Self {
//!         let clock = ManualClock::new();
//!         let set = DedupSet::builder()
//!             .retention(Times::default().retention)
//!             .clock(clock.clone())
//!             .build()
//!             .expect("a good set");
//!         Self { clock, store: MemoryStore::from(set) }
//!     }
//! }
//!
//! impl Subject for Memory {
//!     type Store = MemoryStore<Seeds, ManualClock>;
//!
//!     async fn node(&self) -> Self::Store {
//!         self.store.clone()
//!     }
//!
//!     async fn pass(&self, by: Duration) {
//!         self.clock.advance(by);
//!     }
//! }
//!
//! hapax_store::contract!(Memory::start());
//! # fn main() {}
//! ```
//!
//! Attributes after the subject are put on every test, for a store that needs a
//! server: `contract!(MyStore::start(), #[ignore = "needs my-server"])`.
//!
//! Three things are worth care:
//!
//! - **Time.** No promise sleeps. [`Subject::pass`] moves the store's clock, or
//!   pulls the ends of what it holds nearer, or, if there is no other way, waits;
//!   then [`Subject::times`] should be short.
//! - **Nodes.** [`Subject::node`] is called several times by some promises. Each
//!   call should give what a further process would have: own connections, own
//!   tokens, the same memory behind.
//! - **A start from nothing.** Each promise gets a subject of its own from
//!   `contract!`. By hand one subject may serve them all: their scopes differ.
//!
//! What the contract cannot ask, because it needs the backend's own means, stays
//! with the backend: crashes, restarts, full memory, foreign values.

mod cancellation;
mod claiming;
mod failing;
mod keys;
mod many;
mod overtaken;
mod settling;
mod wait;

pub use cancellation::{
    cancelled_claim_frees_the_key_by_the_end_of_its_lease,
    cancelled_claim_many_frees_every_key_by_the_end_of_its_lease,
    cancelled_complete_never_releases,
};
pub use claiming::{
    concurrent_claims_have_one_winner, done_key_is_duplicate_to_the_edge_of_its_retention,
    duplicate_never_tells_more_than_remains, lease_is_clamped_to_its_limits,
    second_claim_is_in_flight_and_tells_how_long,
};
pub use failing::failure_keeps_its_source_and_hides_the_id;
pub use keys::{equal_ids_of_two_scopes_never_meet, keys_of_any_length_and_bytes_are_kept_apart};
pub use many::{claim_many_answers_in_order, concurrent_claim_many_has_one_winner_per_key};
pub use overtaken::{
    late_holder_that_nobody_overtook_is_told_the_truth, overtaken_holder_changes_nothing,
    overtaken_holder_is_told, overtaken_holder_never_undoes_what_is_done,
};
pub use settling::{
    dropped_lease_is_free_without_waiting_for_its_end, extended_lease_holds_and_is_never_shortened,
    forgotten_key_is_first_again, key_in_flight_cannot_be_forgotten,
    lease_dropped_outside_a_runtime_ends_by_itself, release_that_is_never_polled_releases,
    released_key_is_first_again,
};

use crate::ClaimStore;
use std::{future::Future, time::Duration};

/// A store under test and the hands the contract needs on it.
pub trait Subject: Send + Sync {
    /// The store.
    type Store: ClaimStore;

    /// Opens the store once more, as a further process would.
    ///
    /// It remembers done keys for the retention of [`times`](Self::times).
    fn node(&self) -> impl Future<Output = Self::Store> + Send;

    /// Lets `by` pass on the clock that ends leases and retentions.
    fn pass(&self, by: Duration) -> impl Future<Output = ()> + Send;

    /// Says how long leases and retentions of the test are.
    fn times(&self) -> Times {
        Times::default()
    }

    /// Opens a store whose every claim of a new key fails, if there is such a thing.
    ///
    /// Nobody listens at its address, or its memory is full.
    fn failing(&self) -> impl Future<Output = Option<Self::Store>> + Send {
        std::future::ready(None)
    }
}

/// How long leases and retentions of the test are, and how exact the clock is.
///
/// The default suits a clock that only [`Subject::pass`] moves: an hour, 30 s, and
/// the edges of [`hapax::DedupSet`] on a [`hapax::ManualClock`].
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// How long the store remembers done keys.
    pub retention: Duration,
    /// The lease of most claims; at most a third of the retention.
    pub lease: Duration,
    /// How long before its end a lease or retention is asked for the last time.
    /// If the store's clock also runs by itself, more than a promise takes to run.
    pub early: Duration,
    /// How long after its end a lease or retention is surely over.
    pub late: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(3600),
            lease: Duration::from_secs(30),
            early: Duration::from_millis(1),
            late: Duration::from_millis(3),
        }
    }
}

/// Writes one `#[tokio::test]` per promise of the contract.
///
/// Takes an expression that makes a [`Subject`](crate::contract::Subject), evaluated
/// anew in each test, and after it attributes that each test shall bear. See
/// [`contract`](mod@crate::contract) for an example.
#[macro_export]
macro_rules! contract {
    (@each $attributes:tt $subject:tt $($promise:ident)*) => {
        $($crate::contract!(@one $attributes $subject $promise);)*
    };
    (@one [$($attribute:tt)*] ($subject:expr) $promise:ident) => {
        #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
        $($attribute)*
        async fn $promise() {
            let subject = $subject;
            $crate::contract::$promise(&subject).await;
        }
    };
    ($subject:expr $(, #[$attribute:meta])* $(,)?) => {
        $crate::contract! { @each [$(#[$attribute])*] ($subject)
            concurrent_claims_have_one_winner
            second_claim_is_in_flight_and_tells_how_long
            done_key_is_duplicate_to_the_edge_of_its_retention
            duplicate_never_tells_more_than_remains
            lease_is_clamped_to_its_limits
            released_key_is_first_again
            release_that_is_never_polled_releases
            dropped_lease_is_free_without_waiting_for_its_end
            lease_dropped_outside_a_runtime_ends_by_itself
            extended_lease_holds_and_is_never_shortened
            forgotten_key_is_first_again
            key_in_flight_cannot_be_forgotten
            late_holder_that_nobody_overtook_is_told_the_truth
            overtaken_holder_is_told
            overtaken_holder_changes_nothing
            overtaken_holder_never_undoes_what_is_done
            equal_ids_of_two_scopes_never_meet
            keys_of_any_length_and_bytes_are_kept_apart
            claim_many_answers_in_order
            concurrent_claim_many_has_one_winner_per_key
            cancelled_claim_frees_the_key_by_the_end_of_its_lease
            cancelled_claim_many_frees_every_key_by_the_end_of_its_lease
            cancelled_complete_never_releases
            failure_keeps_its_source_and_hides_the_id
        }
    };
}
