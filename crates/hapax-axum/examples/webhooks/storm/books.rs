//! What happened, in all processes, as those tell it to whom it happened.
//!
//! The handlers' entries come in through a [`Ledger`](super::ledger::Ledger) of each
//! process, the senders write what was acknowledged to them; the layer writes nothing.
//! All times are [`Moment`]s, so they can be compared. Entries are only ever added or
//! completed, never taken back.

use super::{
    entry::Entry,
    ledger::Event,
    moment::Moment,
    verdict::{Verdict, judge},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// One run of the handler.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) event: Event,
    /// When the request came in, before the layer: the claim is not older.
    pub(crate) arrived: Moment,
    pub(crate) started: Moment,
    /// When the handler ended, however it did. None while it runs.
    pub(crate) ended: Option<Moment>,
    /// Whether it ran to completion: it ended with a success.
    pub(crate) completed: bool,
    /// When the answer came out of the layer: the claim was settled before. None if the
    /// sender had hung up by then.
    pub(crate) answered: Option<Moment>,
    /// How long the claim lasts unless it is settled.
    pub(crate) lease: Duration,
    /// Its process was killed, and nobody knows whether the claim was settled before.
    pub(crate) cut: bool,
}

/// A success that a sender read.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) event: Event,
    pub(crate) at: Moment,
}

#[derive(Debug, Default)]
pub(crate) struct Books {
    /// By process and by its number for the run.
    runs: Mutex<HashMap<(u32, u64), Run>>,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

impl Books {
    /// Writes down an entry of a process's handlers.
    pub(crate) fn enter(&self, process: u32, entry: Entry) {
        let mut runs = lock(&self.runs);
        match entry {
            Entry::Started {
                run,
                event,
                arrived,
                at,
                lease,
            } => {
                let begun = Run {
                    event,
                    arrived,
                    started: at,
                    ended: None,
                    completed: false,
                    answered: None,
                    lease,
                    cut: false,
                };
                runs.insert((process, run), begun);
            }
            Entry::Ended { run, at, completed } => {
                if let Some(run) = runs.get_mut(&(process, run)) {
                    run.completed |= completed;
                    run.ended.get_or_insert(at);
                }
            }
            Entry::Answered { run, at } => {
                if let Some(run) = runs.get_mut(&(process, run)) {
                    run.answered = Some(at);
                }
            }
        }
    }

    /// Writes down that a process was killed, after all its entries.
    pub(crate) fn cut(&self, process: u32) {
        for ((of, _), run) in &mut *lock(&self.runs) {
            run.cut |= *of == process && run.answered.is_none();
        }
    }

    /// Whether a run of the event has begun.
    pub(crate) fn has_begun(&self, event: &Event) -> bool {
        lock(&self.runs).values().any(|run| run.event == *event)
    }

    /// Returns how many runs a process began.
    pub(crate) fn runs_of(&self, process: u32) -> u64 {
        let runs = lock(&self.runs);
        runs.keys().filter(|(of, _)| *of == process).count() as u64
    }

    /// Writes down that a sender read a success.
    pub(crate) fn acknowledge(&self, event: Event) {
        let at = Moment::now();
        lock(&self.acknowledged).push(Acknowledged { event, at });
    }

    pub(crate) fn judge(&self, retention: Duration) -> Verdict {
        let runs: Vec<Run> = lock(&self.runs).values().cloned().collect();
        judge(&runs, &lock(&self.acknowledged), retention)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(run: u64) -> Entry {
        Entry::Started {
            run,
            event: Event::from(format!("e{run}")),
            arrived: Moment::from_nanos(0),
            at: Moment::from_nanos(1),
            lease: Duration::from_millis(100),
        }
    }

    /// Runs of two processes have the same numbers, and only one process was killed.
    #[test]
    fn a_kill_cuts_the_unanswered_runs_of_its_process_alone() {
        let books = Books::default();
        let at = Moment::from_nanos(2);
        for (process, run) in [(1, 0), (1, 1), (2, 0)] {
            books.enter(process, started(run));
        }
        books.enter(1, Entry::Answered { run: 0, at });
        books.cut(1);
        let cut = |of| lock(&books.runs)[&of].cut;
        assert_eq!(
            [cut((1, 0)), cut((1, 1)), cut((2, 0))],
            [false, true, false]
        );
        assert_eq!([books.runs_of(1), books.runs_of(2)], [2, 1]);
    }

    #[test]
    fn an_end_without_a_beginning_is_left_out() {
        let books = Books::default();
        let at = Moment::from_nanos(2);
        books.enter(1, Entry::Answered { run: 0, at });
        assert_eq!(books.runs_of(1), 0);
    }
}
