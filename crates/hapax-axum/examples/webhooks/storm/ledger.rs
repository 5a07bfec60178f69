//! What happened, written down by those it happened to.
//!
//! The handler writes its runs, the senders what was acknowledged to them; the layer
//! writes nothing. All times are of one clock, in one process, so they can be compared.
//! Entries are only ever added or completed, never taken back.

use super::verdict::{Verdict, judge};
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

/// An event as the service must know it: endpoint and id. Events of equal ids at two
/// endpoints are two events.
pub(crate) type Event = Arc<str>;

/// One run of the handler.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) event: Event,
    /// When the request came in, before the layer: the claim is not older.
    pub(crate) arrived: Instant,
    pub(crate) started: Instant,
    /// When the handler ended, however it did. None while it runs.
    pub(crate) ended: Option<Instant>,
    /// Whether it ran to completion: it ended with a success.
    pub(crate) completed: bool,
    /// When the answer came out of the layer: the claim was settled before. None if the
    /// sender had hung up by then.
    pub(crate) answered: Option<Instant>,
    /// How long the claim lasts unless it is settled.
    pub(crate) lease: Duration,
}

/// A success that a sender read.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) event: Event,
    pub(crate) at: Instant,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    runs: Mutex<Vec<Run>>,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

/// A request on its way through the layer; finds out which run it led to, if any.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    at: Instant,
    run: Arc<OnceLock<usize>>,
}

/// Ends a run as not completed unless told otherwise: a handler may panic or be dropped.
#[derive(Debug)]
pub(crate) struct Running {
    ledger: Arc<Ledger>,
    run: usize,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            runs: Mutex::default(),
            acknowledged: Mutex::default(),
        }
    }

    /// Writes down that a request came in. Called outside the layer.
    pub(crate) fn arrive() -> Arrival {
        Arrival {
            at: Instant::now(),
            run: Arc::default(),
        }
    }

    /// Writes down that its answer came out of the layer.
    pub(crate) fn answer(&self, arrival: &Arrival) {
        let at = Instant::now();
        if let Some(&run) = arrival.run.get() {
            lock(&self.runs)[run].answered = Some(at);
        }
    }

    /// Writes down that the handler began. Called by the handler.
    pub(crate) fn start(
        self: &Arc<Self>,
        event: Event,
        arrival: &Arrival,
        lease: Duration,
    ) -> Running {
        let mut runs = lock(&self.runs);
        let run = runs.len();
        runs.push(Run {
            event,
            arrived: arrival.at,
            started: Instant::now(),
            ended: None,
            completed: false,
            answered: None,
            lease,
        });
        // A request leads to one run at most; a second would be a bug of the layer that
        // the list of runs shows by itself.
        let _ = arrival.run.set(run);
        Running {
            ledger: Arc::clone(self),
            run,
        }
    }

    /// Writes down that a sender read a success.
    pub(crate) fn acknowledge(&self, event: Event) {
        let at = Instant::now();
        lock(&self.acknowledged).push(Acknowledged { event, at });
    }

    pub(crate) fn judge(&self, retention: Duration) -> Verdict {
        judge(&lock(&self.runs), &lock(&self.acknowledged), retention)
    }
}

impl Running {
    /// Writes down that the handler ran to completion.
    pub(crate) fn complete(self) {
        let mut runs = lock(&self.ledger.runs);
        let run = &mut runs[self.run];
        run.completed = true;
        run.ended = Some(Instant::now());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let now = Instant::now();
        lock(&self.ledger.runs)[self.run].ended.get_or_insert(now);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
