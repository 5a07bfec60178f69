//! The baseline: what a webhook handler has before it meets a real set.
//!
//! One async mutex around one map. Every call looks at *every* entry to drop the old ones, so a
//! call costs as much as there are live ids. This is kept exactly: nothing here may be improved.
//! Only `prefill` is added. It writes the same entries from inside, because filling a million ids
//! through the public call would look at half a million million entries first.

use super::{Contender, Facts, Family, Row};
use crate::ids::Id;
use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

pub(super) const ROW: Row = Row {
    name: "mutex_map",
    package: "tokio",
    facts: Facts {
        family: Family::Baseline,
        atomic: true,
        locks: true,
        scans: true,
    },
    build: |setup| Box::new(WebhookDedup::new(setup.retention)),
};

/// The mutex map as a handler would hold it.
#[derive(Clone, Debug)]
pub struct WebhookDedup {
    seen: Arc<Mutex<HashMap<String, Instant>>>,
    ttl: Duration,
}

impl WebhookDedup {
    /// Makes an empty map that remembers an id for `ttl`.
    pub fn new(ttl: Duration) -> Self {
        Self {
            seen: Arc::new(Mutex::new(HashMap::new())),
            ttl,
        }
    }

    /// Drops every old entry, then marks `event_id`; true if it was not there.
    pub async fn check_and_mark(&self, event_id: &str) -> bool {
        let now = Instant::now();
        let mut seen = self.seen.lock().await;
        seen.retain(|_, marked| now.duration_since(*marked) < self.ttl);
        if seen.contains_key(event_id) {
            return false;
        }
        seen.insert(event_id.to_owned(), now);
        true
    }

    /// Inserts `ids` as if each had been marked now.
    ///
    /// # Panics
    ///
    /// When another thread holds the lock: nothing else may run while a set is filled.
    pub fn prefill(&self, ids: &[Id]) {
        let now = Instant::now();
        let mut seen = self.seen.try_lock().expect("nobody else uses the map yet");
        seen.extend(ids.iter().map(|id| (id.to_string(), now)));
    }
}

impl Contender for WebhookDedup {
    fn check_and_mark(&self, id: &str) -> bool {
        let mut call = pin!(WebhookDedup::check_and_mark(self, id));
        // An uncontended lock is there at the first poll; a thread is parked only when it is not.
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(first) => first,
            Poll::Pending => pollster::block_on(call),
        }
    }

    fn prefill(&self, ids: &[Id]) {
        WebhookDedup::prefill(self, ids);
    }
}
