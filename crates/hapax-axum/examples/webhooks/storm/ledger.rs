//! Where the handlers of one process write down what they do.
//!
//! The entries go straight into the [`Books`], or, from a process of a storm on several
//! nodes, through a pipe to the process that keeps them.

use super::{books::Books, entry::Entry, moment::Moment};
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// An event as the service must know it: endpoint and id. Events of equal ids at two
/// endpoints are two events.
pub(crate) type Event = Arc<str>;

#[derive(Debug)]
pub(crate) struct Ledger {
    out: Out,
    /// Numbers the runs.
    next: AtomicU64,
}

#[derive(Debug)]
enum Out {
    Books(Arc<Books>),
    /// To standard output, whose reader keeps the books.
    Pipe(Mutex<io::Stdout>),
}

/// A request on its way through the layer; finds out which run it led to, if any.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    at: Moment,
    run: Arc<OnceLock<u64>>,
}

/// Ends a run as not completed unless told otherwise: a handler may panic or be dropped.
#[derive(Debug)]
pub(crate) struct Running {
    ledger: Arc<Ledger>,
    run: u64,
    completed: bool,
}

impl Ledger {
    /// Makes the ledger of the only process.
    pub(crate) fn of(books: &Arc<Books>) -> Self {
        Self::new(Out::Books(Arc::clone(books)))
    }

    /// Makes the ledger of one of several processes.
    pub(crate) fn piped() -> Self {
        Self::new(Out::Pipe(Mutex::new(io::stdout())))
    }

    fn new(out: Out) -> Self {
        Self {
            out,
            next: AtomicU64::new(0),
        }
    }

    /// Writes down that a request came in. Called outside the layer.
    pub(crate) fn arrive() -> Arrival {
        Arrival {
            at: Moment::now(),
            run: Arc::default(),
        }
    }

    /// Writes down that its answer came out of the layer.
    pub(crate) fn answer(&self, arrival: &Arrival) {
        let at = Moment::now();
        if let Some(&run) = arrival.run.get() {
            self.enter(Entry::Answered { run, at });
        }
    }

    /// Writes down that the handler began. Called by the handler.
    pub(crate) fn start(
        self: &Arc<Self>,
        event: Event,
        arrival: &Arrival,
        lease: Duration,
    ) -> Running {
        // Relaxed: no partner; numbers need to differ and nothing else.
        let run = self.next.fetch_add(1, Ordering::Relaxed);
        self.enter(Entry::Started {
            run,
            event,
            arrived: arrival.at,
            at: Moment::now(),
            lease,
        });
        // A request leads to one run at most; a second would be a bug of the layer that
        // the list of runs shows by itself.
        let _ = arrival.run.set(run);
        Running {
            ledger: Arc::clone(self),
            run,
            completed: false,
        }
    }

    fn enter(&self, entry: Entry) {
        match &self.out {
            Out::Books(books) => books.enter(0, entry),
            Out::Pipe(pipe) => {
                let line = format!("{entry}\n");
                let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
                let written = pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush());
                if written.is_err() {
                    // Nobody keeps the books any more: the storm is over.
                    std::process::exit(1);
                }
            }
        }
    }
}

impl Running {
    /// Writes down that the handler ran to completion.
    pub(crate) fn complete(mut self) {
        self.completed = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ledger.enter(Entry::Ended {
            run: self.run,
            at: Moment::now(),
            completed: self.completed,
        });
    }
}
