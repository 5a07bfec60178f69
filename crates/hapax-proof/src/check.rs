//! Decides whether a history of one id keeps the promise; exactly.
//!
//! The search places one effect after another (Wing and Gong's way, with Lowe's
//! memo). A configuration is how far each thread has come, and the [`State`] of
//! the id. A call may be next when no call that is still to come returned before
//! it was invoked. Three things keep this at about one step per call:
//!
//! - an answer that only observes (nearly every *duplicate*) and leaves the state
//!   as it is, is placed at once and for good: wherever else it could stand, it
//!   can stand here, and there nothing is missed when it has gone;
//! - calls that returned early are tried first;
//! - a configuration is looked at once.

use std::{collections::HashSet, fmt};

use crate::{
    history::{Call, Token},
    window::State,
};

/// How much longer than asked a window may last, in ms, on a clock of this
/// resolution: two resolutions and one millisecond.
#[must_use]
pub const fn slack_ms(resolution_ms: i64) -> i64 {
    2 * resolution_ms + 1
}

/// Configurations after which the search gives up; some 300 MB.
const MOST_CONFIGURATIONS: usize = 2_000_000;

/// Why a history is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Two claims were granted the same lease.
    TokenRecurred {
        /// The lease.
        token: Token,
    },
    /// No order and no instants explain all the answers.
    Impossible {
        /// The most calls that some order explained.
        explained: usize,
        /// The id at that point.
        state: State,
        /// The calls that could have been next, and could not: indices into the
        /// history.
        stuck: Vec<usize>,
    },
    /// Not decided: too many calls overlap.
    TooHard {
        /// The configurations that were looked at.
        configurations: usize,
    },
}

/// Returns the number of steps that it took to explain the history.
///
/// Takes about one step per call where few calls overlap with *first* answers;
/// the worst case is exponential in the number of threads.
///
/// # Errors
///
/// A [`Refusal`] if the promise does not allow the history, or if that could not
/// be decided.
pub fn check(history: &[Call], slack_ms: i64) -> Result<u64, Refusal> {
    tokens_are_unique(history)?;
    let mut search = Search::new(history, slack_ms);
    search.run()
}

fn tokens_are_unique(history: &[Call]) -> Result<(), Refusal> {
    let mut granted = HashSet::new();
    for token in history.iter().filter_map(Call::granted) {
        if !granted.insert(token) {
            return Err(Refusal::TokenRecurred { token });
        }
    }
    Ok(())
}

/// How far each thread has come, and what the id is then.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration {
    placed: Box<[u32]>,
    state: State,
}

struct Search<'h> {
    history: &'h [Call],
    slack_ms: i64,
    /// Per thread, its calls in program order: indices into the history.
    threads: Vec<Vec<usize>>,
    seen: HashSet<Configuration>,
    stack: Vec<Configuration>,
    steps: u64,
    deepest: (usize, State, Vec<usize>),
}

impl<'h> Search<'h> {
    fn new(history: &'h [Call], slack_ms: i64) -> Self {
        let mut names: Vec<u32> = history.iter().map(|call| call.thread).collect();
        names.sort_unstable();
        names.dedup();
        let mut threads = vec![Vec::new(); names.len()];
        for (index, call) in history.iter().enumerate() {
            let thread = names
                .binary_search(&call.thread)
                .expect("every call's thread is among the names");
            threads[thread].push(index);
        }
        Self {
            history,
            slack_ms,
            threads,
            seen: HashSet::new(),
            stack: Vec::new(),
            steps: 0,
            deepest: (0, State::new(), Vec::new()),
        }
    }

    fn run(&mut self) -> Result<u64, Refusal> {
        self.stack.push(Configuration {
            placed: vec![0; self.threads.len()].into(),
            state: State::new(),
        });
        let mut candidates = Vec::new();
        let mut states = Vec::new();
        while let Some(mut here) = self.stack.pop() {
            self.place_what_changes_nothing(&mut here, &mut candidates, &mut states);
            if candidates.is_empty() {
                return Ok(self.steps);
            }
            let explained = here.placed.iter().map(|&n| n as usize).sum();
            if explained >= self.deepest.0 {
                let stuck = candidates.iter().map(|&(_, index)| index).collect();
                self.deepest = (explained, here.state, stuck);
            }
            if !self.seen.insert(here.clone()) {
                continue;
            }
            if self.seen.len() > MOST_CONFIGURATIONS {
                return Err(Refusal::TooHard {
                    configurations: self.seen.len(),
                });
            }
            // The last one pushed is looked at first: the earliest return.
            candidates.sort_unstable_by_key(|&(_, index)| {
                std::cmp::Reverse(self.history[index].returned)
            });
            for &(thread, index) in &candidates {
                states.clear();
                here.state
                    .after(&self.history[index], self.slack_ms, &mut states);
                self.steps += 1;
                for &state in &states {
                    let mut placed = here.placed.clone();
                    placed[thread] += 1;
                    self.stack.push(Configuration { placed, state });
                }
            }
        }
        let (explained, state, ref stuck) = self.deepest;
        Err(Refusal::Impossible {
            explained,
            state,
            stuck: stuck.clone(),
        })
    }

    /// Places calls that leave the state as it is, then leaves in `candidates`
    /// the calls that may be next, as (thread, index).
    fn place_what_changes_nothing(
        &mut self,
        here: &mut Configuration,
        candidates: &mut Vec<(usize, usize)>,
        states: &mut Vec<State>,
    ) {
        loop {
            self.candidates(&here.placed, candidates);
            let before = candidates.len();
            candidates.retain(|&(thread, index)| {
                states.clear();
                here.state
                    .after(&self.history[index], self.slack_ms, states);
                let idle = self.history[index].only_observes() && states[..] == [here.state];
                if idle {
                    here.placed[thread] += 1;
                    self.steps += 1;
                }
                !idle
            });
            if candidates.len() == before {
                return;
            }
        }
    }

    fn candidates(&self, placed: &[u32], candidates: &mut Vec<(usize, usize)>) {
        let next = |(thread, calls): (usize, &Vec<usize>)| {
            calls
                .get(placed[thread] as usize)
                .map(|&index| (thread, index))
        };
        candidates.clear();
        candidates.extend(self.threads.iter().enumerate().filter_map(next));
        let bound = candidates
            .iter()
            .map(|&(_, index)| self.history[index].returned)
            .min();
        candidates.retain(|&(_, index)| Some(self.history[index].invoked) <= bound);
    }
}

impl Refusal {
    /// Shows the history with the calls that could not be explained marked `>`;
    /// of a long one, the part around them.
    #[must_use]
    pub fn explain(&self, history: &[Call]) -> String {
        use fmt::Write as _;
        let stuck: &[usize] = match self {
            Self::Impossible { stuck, .. } => stuck,
            _ => &[],
        };
        let mut text = format!("{self}\n");
        let mut order: Vec<usize> = (0..history.len()).collect();
        order.sort_by_key(|&index| history[index].invoked);
        let first = order.iter().position(|index| stuck.contains(index));
        let last = order.iter().rposition(|index| stuck.contains(index));
        let from = first.map_or(0, |place| place.saturating_sub(CONTEXT));
        let to = last.map_or(order.len(), |place| (place + CONTEXT / 4).min(order.len()));
        for &index in &order[from..to] {
            let mark = if stuck.contains(&index) { '>' } else { ' ' };
            let _ = writeln!(text, "{mark} {}", history[index]);
        }
        text
    }
}

/// Calls shown before the first one that could not be explained.
const CONTEXT: usize = 24;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TokenRecurred { token } => write!(f, "lease #{token} was granted twice"),
            Self::Impossible {
                explained, state, ..
            } => write!(
                f,
                "no order explains more than {explained} calls; the id was then {:?}",
                state.phase
            ),
            Self::TooHard { configurations } => {
                write!(f, "not decided after {configurations} configurations")
            }
        }
    }
}

impl std::error::Error for Refusal {}
