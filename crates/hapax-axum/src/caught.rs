//! Calls what the service's author gave the layer: closures, a verifier, a clock.
//!
//! A panic in one of them is answered 500 and counted, like a panic of the handler. It is
//! not passed on: the server would drop the connection without an answer, and whether a
//! layer outside catches it is not ours to assume. What panicked is shared by all
//! requests, so it must be whole after a panic, as anything behind a shared reference.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what `call` returns, or `None` if it panics.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
