//! Many threads on one set: what each of them brings, and what must come out together.
//!
//! A rush is played whole: every thread makes all of its calls, on a set that was filled before.
//! The threads start together and the clock stops when the last is done. There may be more threads
//! than cores; that is what a busy runtime looks like to a lock, whose holder is then descheduled.

use crate::{
    contender::{Contender, Family, Row, Setup},
    crew,
    ids::{self, Id},
    script::LONG,
};
use hdrhistogram::Histogram;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::time::Duration;

/// Times of single calls in nanoseconds, up to a minute, with three significant digits.
pub type Times = Histogram<u64>;

/// What the threads bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Each thread new ids of its own.
    New,
    /// Each thread live ids, in random order of its own.
    Duplicate,
    /// New ids, one in twenty a live one.
    Mixed,
    /// All threads the same new ids in the same order: each id has exactly one *first*.
    Same,
    /// All threads one live id.
    Hot,
    /// New ids into an empty set of default size.
    Growth,
}

impl Traffic {
    /// The name in ids of benchmarks.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Duplicate => "duplicate",
            Self::Mixed => "mixed",
            Self::Same => "same",
            Self::Hot => "hot",
            Self::Growth => "growth",
        }
    }
}

/// Prepared calls for a number of threads.
#[derive(Debug)]
pub struct Rush {
    traffic: Traffic,
    live: Vec<Id>,
    /// The calls of each thread, and which of them bring an id that nobody else brings.
    calls: Vec<(Vec<Id>, Vec<bool>)>,
}

/// What came out of one rush.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// From the first call to the end of the last.
    pub taken: Duration,
    /// How many calls were made.
    pub calls: usize,
    /// Calls that were told *first* although another call with the same id was too. Only a
    /// contender that is known for it may have any.
    pub false_firsts: usize,
}

impl Rush {
    /// Prepares `calls` calls in all, in equal parts, on a set of `live` ids.
    pub fn new(traffic: Traffic, live: usize, threads: usize, calls: usize) -> Self {
        let each = calls.div_ceil(threads) as u64;
        let size = live as u64;
        let stream = |thread: u64| {
            let mut random = StdRng::seed_from_u64(thread);
            let own = size + thread * each;
            let numbers = (0..each).map(|call| match traffic {
                Traffic::New | Traffic::Growth => (own + call, true),
                Traffic::Duplicate => (random.random_range(0..size), false),
                Traffic::Mixed => match random.random_range(0..20) {
                    0 => (random.random_range(0..size), false),
                    _ => (own + call, true),
                },
                Traffic::Same => (size + call, thread == 0),
                Traffic::Hot => (0, false),
            });
            numbers.map(|(number, own)| (ids::id(number), own)).unzip()
        };
        let prefilled = if traffic == Traffic::Growth { 0 } else { size };
        Self {
            traffic,
            live: ids::range(0, prefilled),
            calls: (0..threads as u64).map(stream).collect(),
        }
    }

    /// Plays the rush once on a fresh set of `row` and times it as a whole.
    ///
    /// # Panics
    ///
    /// When the contender's answers are wrong.
    pub fn play(&self, row: &Row) -> Outcome {
        let set = self.prepare(row);
        let each = self.each(row);
        let (taken, firsts) = crew::together(self.calls.len(), |thread| {
            set.mark_all(&self.calls[thread].0[..each])
        });
        self.outcome(row, each, taken, firsts.into_iter().sum())
    }

    /// Plays the rush once and times every call by itself.
    ///
    /// # Panics
    ///
    /// When the contender's answers are wrong.
    pub fn play_timed(&self, row: &Row) -> (Outcome, Times) {
        let set = self.prepare(row);
        let each = self.each(row);
        let (taken, parts) = crew::together(self.calls.len(), |thread| {
            let mut times = times();
            let firsts = set.mark_timed(&self.calls[thread].0[..each], &mut times);
            (firsts, times)
        });
        let firsts = parts.iter().map(|(firsts, _)| firsts).sum();
        let mut all = times();
        for (_, part) in parts {
            all += part;
        }
        (self.outcome(row, each, taken, firsts), all)
    }

    fn prepare(&self, row: &Row) -> Box<dyn Contender> {
        let calls: usize = self.calls.iter().map(|(calls, _)| calls.len()).sum();
        let capacity = match self.traffic {
            Traffic::Growth => 0,
            Traffic::Duplicate | Traffic::Hot => self.live.len(),
            Traffic::Same => self.live.len() + calls / self.calls.len(),
            Traffic::New | Traffic::Mixed => self.live.len() + calls,
        };
        let set = (row.build)(&Setup {
            retention: LONG,
            capacity,
        });
        set.prefill(&self.live);
        set
    }

    /// Calls per thread. A contender that looks at every entry on every call gets as many as it can
    /// do in the time of the others; its throughput is computed from those.
    fn each(&self, row: &Row) -> usize {
        let all = self.calls[0].0.len();
        if row.facts.scans && self.traffic != Traffic::Growth {
            let looks = 20_000_000;
            let calls = looks / self.live.len().max(1);
            return (calls / self.calls.len()).clamp(1, all);
        }
        all
    }

    fn outcome(&self, row: &Row, each: usize, taken: Duration, firsts: usize) -> Outcome {
        let alone =
            |(_, own): &(Vec<Id>, Vec<bool>)| own[..each].iter().filter(|own| **own).count();
        let expected: usize = self.calls.iter().map(alone).sum();
        let false_firsts = if row.facts.family == Family::Floor {
            0
        } else if row.facts.atomic {
            assert_eq!(firsts, expected, "{} answered wrongly", row.name);
            0
        } else {
            assert!(firsts >= expected, "{} lost an id", row.name);
            firsts - expected
        };
        Outcome {
            taken,
            calls: each * self.calls.len(),
            false_firsts,
        }
    }
}

impl Outcome {
    /// Nanoseconds in which one call was done, on average over all threads together.
    pub fn ns_per_call(&self) -> f64 {
        self.taken.as_secs_f64() * 1e9 / self.calls as f64
    }
}

/// An empty histogram for times of single calls.
pub fn times() -> Times {
    Times::new_with_max(60_000_000_000, 3).expect("the bounds are valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{CONTENDERS, HAPAX};

    #[test]
    fn every_contender_answers_every_rush_as_expected() {
        use Traffic::*;
        for traffic in [New, Duplicate, Mixed, Same, Hot, Growth] {
            let rush = Rush::new(traffic, 400, 3, 600);
            for row in CONTENDERS {
                assert!(rush.play(row).calls > 0, "{}", row.name);
            }
        }
    }

    #[test]
    fn every_call_is_timed() {
        let (outcome, times) = Rush::new(Traffic::Mixed, 100, 2, 1_000).play_timed(HAPAX);
        assert_eq!(outcome.calls as u64, times.len());
    }

    #[test]
    #[should_panic(expected = "answered wrongly")]
    fn a_wrong_answer_ends_the_run() {
        let mut rush = Rush::new(Traffic::New, 100, 2, 1_000);
        rush.calls[1].1[0] = false;
        rush.play(HAPAX);
    }
}
