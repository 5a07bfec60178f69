//! The naive map: what a set of this shape must answer, call by call.
//!
//! One hash map from id to what it is and until when, in ms. An id is known
//! while `now < reading + span + extra`. Only one answer is open: a holder
//! whose lease has ended, and whom nobody has overtaken, may still settle or may
//! be told that he is late; the map then follows the set.

use std::collections::HashMap;

/// An id, to the naive map.
pub type Id = u64;

/// The naive map and the books it keeps.
#[derive(Clone, Debug, Default)]
pub struct Naive {
    /// Added to every span, in ms.
    extra_ms: u64,
    now_ms: u64,
    entries: HashMap<Id, Entry>,
    /// Ends of entries that time has ended or is about to: the set may go on
    /// counting each for a tick.
    ended_ms: Vec<u64>,
    serials: u64,
    /// What has been answered so far.
    pub books: Books,
}

/// Sums of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Marks and claims that were first.
    pub first: u64,
    /// Marks and claims that were not, done or in flight.
    pub not_first: u64,
    /// `forget` that was true.
    pub forgotten: u64,
    /// Ids that `clear` removed.
    pub cleared: u64,
    /// Leases that were given back before they ended.
    pub released: u64,
    /// Leases that were given back after they ended, overtaken or not: counted as
    /// released, expired or lost.
    pub released_late: u64,
    /// Ids that had to make room, at a limit.
    pub forgotten_early: u64,
    /// Calls told that the set is full.
    pub refused: u64,
    /// Marks that were first and found no room. Not among the first.
    pub unrecorded: u64,
}

/// How many ids are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Known now.
    pub live: u64,
    /// Of these, in flight.
    pub in_flight: u64,
    /// Not known any more, but ended within the last tick.
    pub fading: u64,
}

/// What an id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Not known.
    No,
    /// Processed.
    Done,
    /// In flight, for so many more ms.
    InFlight {
        /// Until the lease ends.
        remaining_ms: u64,
    },
}

/// What a holder must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The lease is his.
    Holds,
    /// It has ended, but nobody has overtaken him: either answer.
    Late,
    /// He was overtaken, or has been told so before.
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Done { end_ms: u64 },
    Held { serial: u64, end_ms: u64 },
}

impl Naive {
    /// Starts empty, at clock reading zero.
    #[must_use]
    pub fn new(extra_ms: u64) -> Self {
        Self {
            extra_ms,
            ..Self::default()
        }
    }

    /// Moves the clock on.
    pub fn advance(&mut self, by_ms: u64) {
        self.now_ms += by_ms;
    }

    /// The clock, in ms.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Tells what the id is now.
    #[must_use]
    pub fn known(&self, id: Id) -> Known {
        match self.entries.get(&id) {
            Some(&Entry::Done { end_ms }) if self.now_ms < end_ms => Known::Done,
            Some(&Entry::Held { end_ms, .. }) if self.now_ms < end_ms => Known::InFlight {
                remaining_ms: end_ms - self.now_ms,
            },
            _ => Known::No,
        }
    }

    /// Every id that is known, and until when, in ms.
    pub fn all_known(&self) -> impl Iterator<Item = (Id, Known, u64)> {
        self.entries.iter().filter_map(|(&id, entry)| {
            let (Entry::Done { end_ms } | Entry::Held { end_ms, .. }) = *entry;
            let known = self.known(id);
            (known != Known::No).then_some((id, known, end_ms))
        })
    }

    /// Marks the id if it is not known; tells what it was.
    pub fn mark(&mut self, id: Id, retention_ms: u64) -> Known {
        let known = self.known(id);
        if known == Known::No {
            let end_ms = self.end_ms(retention_ms);
            self.replace(id, Some(Entry::Done { end_ms }));
        }
        self.count(known);
        known
    }

    /// Claims the id if it is not known; tells what it was, and the serial
    /// number of the lease if it was not.
    pub fn claim(&mut self, id: Id, lease_ms: u64) -> (Known, u64) {
        let known = self.known(id);
        if known == Known::No {
            self.serials += 1;
            let held = Entry::Held {
                serial: self.serials,
                end_ms: self.end_ms(lease_ms),
            };
            self.replace(id, Some(held));
        }
        self.count(known);
        (known, self.serials)
    }

    /// Tells what the holder of this lease must be told.
    #[must_use]
    pub fn holder(&self, id: Id, serial: u64) -> Holder {
        match self.entries.get(&id) {
            Some(&Entry::Held {
                serial: held,
                end_ms,
            }) if held == serial => {
                if self.now_ms < end_ms {
                    Holder::Holds
                } else {
                    Holder::Late
                }
            }
            _ => Holder::Lost,
        }
    }

    /// The holder completes.
    pub fn complete(&mut self, id: Id, retention_ms: u64) {
        let end_ms = self.end_ms(retention_ms);
        self.replace(id, Some(Entry::Done { end_ms }));
    }

    /// The holder extends: never shorter than before.
    pub fn extend(&mut self, id: Id, by_ms: u64) {
        let asked_ms = self.end_ms(by_ms);
        if let Some(Entry::Held { end_ms, .. }) = self.entries.get_mut(&id) {
            *end_ms = asked_ms.max(*end_ms);
        }
    }

    /// The holder gives the id back, in time or late.
    pub fn release(&mut self, id: Id, serial: u64) {
        match self.holder(id, serial) {
            Holder::Holds => self.books.released += 1,
            Holder::Late => self.books.released_late += 1,
            Holder::Lost => {
                self.books.released_late += 1;
                return;
            }
        }
        self.replace(id, None);
    }

    /// A late holder was told that he has lost the id.
    pub fn lose(&mut self, id: Id) {
        self.replace(id, None);
    }

    /// Forgets an id that is done; tells whether there was one.
    pub fn forget(&mut self, id: Id) -> bool {
        let done = self.known(id) == Known::Done;
        if done {
            self.replace(id, None);
            self.books.forgotten += 1;
        }
        done
    }

    /// Forgets every id that is done.
    pub fn clear(&mut self) {
        let done: Vec<Id> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::Done { .. }))
            .map(|(&id, _)| id)
            .collect();
        for id in done {
            self.books.cleared += u64::from(self.known(id) == Known::Done);
            self.replace(id, None);
        }
    }

    /// The id had to make room for another.
    pub fn push_out(&mut self, id: Id) {
        self.replace(id, None);
        self.books.forgotten_early += 1;
    }

    /// The id that was just marked found no room: it was first, and that is all.
    pub fn unrecord(&mut self, id: Id) {
        self.replace(id, None);
        self.books.first -= 1;
        self.books.unrecorded += 1;
    }

    /// Counts the ids that are known, and those of them in flight; and how many
    /// others ended so recently that books with ticks of this length may still
    /// show them.
    pub fn census(&mut self, tick_ms: u64) -> Census {
        let now_ms = self.now_ms;
        // What is over and can never matter again; a late holder still can.
        let over: Vec<Id> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::Done { end_ms } if *end_ms <= now_ms))
            .map(|(&id, _)| id)
            .collect();
        for id in over {
            self.replace(id, None);
        }
        let shows = |end_ms: u64| now_ms < end_ms + tick_ms;
        self.ended_ms.retain(|&end_ms| shows(end_ms));
        let mut census = Census {
            fading: self.ended_ms.len() as u64,
            ..Census::default()
        };
        for entry in self.entries.values() {
            match *entry {
                Entry::Done { .. } => census.live += 1,
                Entry::Held { end_ms, .. } if now_ms < end_ms => {
                    census.live += 1;
                    census.in_flight += 1;
                }
                Entry::Held { end_ms, .. } => census.fading += u64::from(shows(end_ms)),
            }
        }
        census
    }

    fn replace(&mut self, id: Id, entry: Option<Entry>) {
        let old = match entry {
            Some(entry) => self.entries.insert(id, entry),
            None => self.entries.remove(&id),
        };
        if let Some(Entry::Done { end_ms } | Entry::Held { end_ms, .. }) = old
            && end_ms <= self.now_ms
        {
            self.ended_ms.push(end_ms);
        }
    }

    fn end_ms(&self, span_ms: u64) -> u64 {
        self.now_ms + self.extra_ms + span_ms
    }

    fn count(&mut self, known: Known) {
        match known {
            Known::No => self.books.first += 1,
            _ => self.books.not_first += 1,
        }
    }
}
