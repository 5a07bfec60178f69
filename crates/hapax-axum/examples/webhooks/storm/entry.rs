//! What a handler writes down, one entry at a time, also as a line of text.
//!
//! A process that is killed cannot be asked what it did. So a storm's process writes each
//! entry to a pipe in one piece and goes on only when the pipe has it: what is in the pipe
//! outlives the process. That makes the line of a completed run *be* the effect that
//! must not happen twice. A line is shorter than the 512 bytes that any system writes
//! whole.

use super::{ledger::Event, moment::Moment};
use std::{fmt, str::FromStr, time::Duration};

/// A change in the books. Runs are numbered by the process that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The handler began.
    Started {
        run: u64,
        event: Event,
        /// When the request came in, before the layer: the claim is not older.
        arrived: Moment,
        at: Moment,
        /// How long the claim lasts unless it is settled.
        lease: Duration,
    },
    /// The handler ended, however it did.
    Ended {
        run: u64,
        at: Moment,
        /// Whether it ran to completion: it ended with a success.
        completed: bool,
    },
    /// The answer came out of the layer: the claim was settled before.
    Answered { run: u64, at: Moment },
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started {
                run,
                event,
                arrived,
                at,
                lease,
            } => {
                let (arrived, at) = (arrived.as_nanos(), at.as_nanos());
                write!(
                    f,
                    "started {run} {arrived} {at} {} {event}",
                    lease.as_millis()
                )
            }
            Self::Ended { run, at, completed } => {
                let how = if *completed { "completed" } else { "failed" };
                write!(f, "{how} {run} {}", at.as_nanos())
            }
            Self::Answered { run, at } => write!(f, "answered {run} {}", at.as_nanos()),
        }
    }
}

impl FromStr for Entry {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, rest) = line.split_once(' ').ok_or(())?;
        // The event comes last, as it may have spaces.
        let mut parts = rest.splitn(5, ' ');
        let mut number = || parts.next().ok_or(())?.parse::<u64>().map_err(drop);
        let run = number()?;
        let at = Moment::from_nanos(number()?);
        let entry = match word {
            "started" => {
                let arrived = at;
                let at = Moment::from_nanos(number()?);
                let lease = Duration::from_millis(number()?);
                let event = Event::from(parts.next().ok_or(())?);
                Self::Started {
                    run,
                    event,
                    arrived,
                    at,
                    lease,
                }
            }
            "completed" | "failed" => Self::Ended {
                run,
                at,
                completed: word == "completed",
            },
            "answered" => Self::Answered { run, at },
            _ => return Err(()),
        };
        match parts.next() {
            None => Ok(entry),
            Some(_) => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_all_of_its_entry() {
        let at = Moment::from_nanos;
        for entry in [
            Entry::Started {
                run: 7,
                event: Event::from("/github evt 1"),
                arrived: at(123_456_789_012),
                at: at(u64::MAX),
                lease: Duration::from_millis(300),
            },
            Entry::Ended {
                run: 0,
                at: at(1),
                completed: true,
            },
            Entry::Ended {
                run: u64::MAX,
                at: at(2),
                completed: false,
            },
            Entry::Answered { run: 3, at: at(4) },
        ] {
            let line = entry.to_string();
            assert!(line.len() < 512 && !line.contains('\n'), "{line}");
            assert_eq!(line.parse(), Ok(entry), "{line}");
        }
    }

    #[test]
    fn half_a_line_is_no_entry() {
        for line in [
            "",
            "started",
            "started 1 2 3",
            "ended 1 2",
            "answered 1",
            "answered 1 2 3",
        ] {
            assert_eq!(line.parse::<Entry>(), Err(()), "{line}");
        }
    }
}
