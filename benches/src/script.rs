//! A stream of calls whose answers are known before the first call is made.
//!
//! A script has the ids that are live at the start, the ids of the calls, and for every call the
//! answer that must come. A [`Player`] prepares a set outside the clock, times only the calls, and
//! compares the number of *firsts*: a wrong answer ends the run, because the speed of a set that
//! answers wrongly is of no interest.

use crate::{
    contender::{Contender, Family, Row, Setup},
    ids::{self, Id},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Zipf};
use std::{
    collections::HashSet,
    hint::black_box,
    time::{Duration, Instant},
};

/// Long enough that nothing expires while a cell runs.
pub const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Calls that can be timed well together.
const ENOUGH: usize = 50_000;

/// What the calls look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Every call brings an id that was never seen.
    New,
    /// Every call brings a live id, in random order.
    Duplicate,
    /// One call in twenty brings a live id, the others a new one.
    Mixed,
    /// Ids by popularity, Zipf with exponent 0.99, over a quarter more ids than are live.
    Zipf,
    /// From an empty set of default size up to the given number.
    Growth,
}

impl Workload {
    /// The name in ids of benchmarks.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Duplicate => "duplicate",
            Self::Mixed => "mixed",
            Self::Zipf => "zipf",
            Self::Growth => "growth",
        }
    }
}

/// Whether a call needs the answer of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It does not: cache misses may overlap.
    Independent,
    /// It does: the next id is found with the answer.
    Dependent,
}

/// Prepared calls for one workload and one number of live ids.
#[derive(Debug)]
pub struct Script {
    workload: Workload,
    live: Vec<Id>,
    calls: Vec<Id>,
    /// `firsts[n]` is the number of *firsts* among the first `n` calls.
    firsts: Vec<u32>,
}

impl Script {
    /// Prepares the ids for `live` entries at the start.
    ///
    /// A script that brings new ids adds about a quarter to the live ones, then starts with a fresh
    /// set. Growth starts empty and ends at `live`.
    pub fn new(workload: Workload, live: usize) -> Self {
        let size = live as u64;
        let more = (size / 4).clamp(256, 1 << 20);
        let mut random = StdRng::seed_from_u64(0x68_61_70_61_78 ^ size);
        let calls: Vec<u64> = match workload {
            Workload::New => (size..size + more).collect(),
            Workload::Growth => (0..size).collect(),
            Workload::Duplicate => (0..more.max(4_096))
                .map(|_| random.random_range(0..size))
                .collect(),
            Workload::Mixed => (size..size + more)
                .map(|new| match random.random_range(0..20) {
                    0 => random.random_range(0..size),
                    _ => new,
                })
                .collect(),
            Workload::Zipf => {
                let ranks = size + more;
                let popular = Zipf::new(ranks as f64, 0.99).expect("there is at least one rank");
                // A stride without a common factor scatters the ranks, so that popular ids are
                // among the live and the new ones alike.
                let stride = coprime(ranks);
                (0..more.max(4_096))
                    .map(|_| (popular.sample(&mut random) as u64 - 1) * stride % ranks)
                    .collect()
            }
        };
        let live = if workload == Workload::Growth {
            0
        } else {
            size
        };
        Self {
            workload,
            live: ids::range(0, live),
            firsts: count_firsts(live, &calls),
            calls: calls.into_iter().map(ids::id).collect(),
        }
    }

    fn prepare(&self, row: &Row) -> Box<dyn Contender> {
        let capacity = match self.workload {
            Workload::Growth => 0,
            Workload::Duplicate => self.live.len(),
            _ => self.live.len() + self.calls.len(),
        };
        let set = (row.build)(&Setup {
            retention: LONG,
            capacity,
        });
        set.prefill(&self.live);
        set
    }
}

/// Plays a script on one contender. The set lives on from one call of [`play`](Self::play) to the
/// next and is built anew only when the script has no calls left.
pub struct Player<'a> {
    script: &'a Script,
    row: &'a Row,
    access: Access,
    set: Option<Box<dyn Contender>>,
    at: usize,
}

impl<'a> Player<'a> {
    /// Makes a player; the set is built when it is first needed.
    pub fn new(script: &'a Script, row: &'a Row, access: Access) -> Self {
        Self {
            script,
            row,
            access,
            set: None,
            at: 0,
        }
    }

    /// Builds the set if there is none, so that [`play`](Self::play) does not have to.
    pub fn ready(&mut self) {
        self.set
            .get_or_insert_with(|| self.script.prepare(self.row));
    }

    /// Makes `calls` calls and returns the time that they took.
    ///
    /// Building a set again and again would take longer than what is measured. So where calls use a
    /// set up, at most one set is used, or fifty thousand calls, and the time is scaled to `calls`. Growth
    /// is always played to its end: a part of it would be another size.
    ///
    /// # Panics
    ///
    /// When the contender's answers are wrong.
    pub fn play(&mut self, calls: u64) -> Duration {
        let asked = usize::try_from(calls).expect("a number of calls fits the address space");
        let whole = self.script.calls.len();
        let most = whole.max(ENOUGH / whole * whole);
        let made = match self.script.workload {
            Workload::Duplicate => asked,
            Workload::Growth => asked.next_multiple_of(whole).min(most),
            _ => asked.min(most),
        };
        let mut taken = Duration::ZERO;
        let mut left = made;
        while left > 0 {
            if self.at == whole {
                self.at = 0;
                if self.script.workload != Workload::Duplicate {
                    self.set = None;
                }
            }
            let now = left.min(whole - self.at);
            taken += self.stretch(now);
            left -= now;
        }
        taken.mul_f64(asked as f64 / made as f64)
    }

    /// Makes the next `calls` calls of the script.
    fn stretch(&mut self, calls: usize) -> Duration {
        let Script { calls: all, .. } = self.script;
        let set = self
            .set
            .get_or_insert_with(|| self.script.prepare(self.row));
        let end = self.at + calls;
        let ids = black_box(&all[self.at..end]);
        let busy = processor_time();
        let start = Instant::now();
        let firsts = black_box(match self.access {
            Access::Independent => set.mark_all(ids),
            Access::Dependent => set.mark_chained(ids),
        });
        let taken = start.elapsed().min(processor_time() - busy);
        let expected = self.script.firsts[end] - self.script.firsts[self.at];
        if self.row.facts.family != Family::Floor {
            assert_eq!(
                firsts, expected as usize,
                "{} answered wrongly",
                self.row.name
            );
        }
        self.at = end;
        taken
    }
}

/// What this thread has had of a processor until now.
///
/// Both times are upper bounds of what the calls cost: the wall clock counts while another program
/// has the core, the processor time counts its own two readings. The smaller one is nearer.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Counts the *firsts* up to every call, for a set in which the ids below `live` are known.
fn count_firsts(live: u64, calls: &[u64]) -> Vec<u32> {
    let mut seen = HashSet::new();
    let mut firsts = Vec::with_capacity(calls.len() + 1);
    let mut count = 0;
    firsts.push(0);
    for &call in calls {
        count += u32::from(call >= live && seen.insert(call));
        firsts.push(count);
    }
    firsts
}

/// A number near the golden section of `n` that has no factor in common with it.
fn coprime(n: u64) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let start = (n as f64 * 0.618) as u64 | 1;
    (start..).find(|&at| gcd(at, n) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{BASELINE, HAPAX};

    #[test]
    fn every_workload_is_answered_as_expected() {
        use Workload::*;
        for workload in [New, Duplicate, Mixed, Zipf, Growth] {
            let script = Script::new(workload, 500);
            for row in [BASELINE, HAPAX] {
                let mut player = Player::new(&script, row, Access::Independent);
                player.play(1);
                player.play(2_000);
            }
        }
    }

    #[test]
    #[should_panic(expected = "answered wrongly")]
    fn a_wrong_answer_ends_the_run() {
        let mut script = Script::new(Workload::New, 500);
        script.firsts[10] -= 1;
        Player::new(&script, HAPAX, Access::Independent).play(10);
    }

    #[test]
    fn a_mixed_script_has_one_duplicate_in_twenty() {
        let script = Script::new(Workload::Mixed, 40_000);
        let share = f64::from(script.firsts[10_000]) / 10_000.0;
        assert!((0.94..0.96).contains(&share), "{share}");
    }
}
