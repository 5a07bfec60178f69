//! Whether a contender answers rightly, found out by asking it, not by believing its page.
//!
//! Two questions: is there exactly one winner when callers race for one id, and is an id remembered
//! for its retention, no shorter and not much longer, however often duplicates arrive meanwhile?
//! What is left in memory is asked in [`memory`](crate::memory).

use crate::{
    contender::{Row, Setup},
    crew,
    ids::{self, Id},
    script::LONG,
};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What came out of races of several threads for one id after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Races {
    /// How many ids were raced for.
    pub ids: usize,
    /// Ids for which two callers or more were told *first*.
    pub several_winners: usize,
    /// Ids for which nobody was told *first*.
    pub no_winner: usize,
}

/// When an id became *first* again.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The retention that was asked for.
    pub retention: Duration,
    /// Ids that were *first* again before their retention was over.
    pub early: usize,
    /// Ids that were still called duplicates long after it.
    pub late: usize,
    /// Ids that were asked about once, after the retention; the others were asked all the time.
    pub asked: usize,
    /// The shortest time by which an id that was asked about all the time outlived its retention.
    /// The shortest, because a longer one may be this thread's own delay.
    pub overshoot: Option<Duration>,
}

impl Races {
    /// Whether each id had exactly one winner.
    pub fn one_winner(&self) -> bool {
        self.several_winners == 0 && self.no_winner == 0
    }
}

impl Window {
    /// How late an id may be before it counts: coarse clocks tick every 4 ms, some every 10.
    const TOLERANCE: Duration = Duration::from_millis(25);

    /// Whether ids came back neither early nor late.
    pub fn exact(&self) -> bool {
        let polled = self.overshoot.is_some_and(|over| over <= Self::TOLERANCE);
        self.early == 0 && self.late == 0 && polled
    }
}

/// Lets `threads` threads race for `count` ids, one after the other, each started by the last.
pub fn race(row: &Row, threads: usize, count: usize) -> Races {
    let ids = ids::range(0, count as u64);
    let set = (row.build)(&Setup {
        retention: LONG,
        capacity: count,
    });
    let arrived = AtomicUsize::new(0);
    let (_, answers) = crew::together(threads, |_| {
        ids.iter()
            .enumerate()
            .map(|(round, id)| {
                // AcqRel and Acquire, each other's partner: nobody asks before all have arrived.
                arrived.fetch_add(1, Ordering::AcqRel);
                let mut looks = 0u32;
                // Acquire, partner is the addition above.
                while arrived.load(Ordering::Acquire) < (round + 1) * threads {
                    looks += 1;
                    if looks.is_multiple_of(1_024) {
                        thread::yield_now();
                    }
                }
                set.check_and_mark(id)
            })
            .collect::<Vec<bool>>()
    });
    let winners = |round: usize| answers.iter().filter(|answers| answers[round]).count();
    let count_where = |test: fn(usize) -> bool| (0..count).filter(|&id| test(winners(id))).count();
    Races {
        ids: count,
        several_winners: count_where(|winners| winners > 1),
        no_winner: count_where(|winners| winners == 0),
    }
}

/// Marks ids and asks when they are *first* again. Takes a little more than `retention`, in real
/// time, because each contender has its own clock.
pub fn window(row: &Row, retention: Duration) -> Window {
    const IDS: u64 = 20;
    let set = (row.build)(&Setup {
        retention,
        capacity: 0,
    });
    let (asked_often, asked_once) = (ids::range(0, IDS), ids::range(IDS, 2 * IDS));
    let mark = |id: &Id| {
        let before = Instant::now();
        assert!(set.check_and_mark(id), "{} answered wrongly", row.name);
        // An instant before the mark and one after: the true one lies between.
        (before, Instant::now())
    };
    let often: Vec<_> = asked_often.iter().map(mark).collect();
    let once: Vec<_> = asked_once.iter().map(mark).collect();
    let mut back = vec![None; asked_often.len()];
    let mut early = 0;
    let start = Instant::now();
    let end = retention + 4 * Window::TOLERANCE;
    while start.elapsed() < end && back.iter().any(Option::is_none) {
        for (at, id) in asked_often.iter().enumerate() {
            if back[at].is_some() || !set.check_and_mark(id) {
                continue;
            }
            early += usize::from(often[at].0.elapsed() < retention);
            back[at] = Some(often[at].1.elapsed().saturating_sub(retention));
        }
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(end.saturating_sub(once[0].0.elapsed()));
    let late = asked_once
        .iter()
        .filter(|id| !set.check_and_mark(id))
        .count();
    Window {
        retention,
        early,
        late,
        asked: asked_once.len(),
        overshoot: back.into_iter().flatten().min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{Contender, HAPAX};

    /// Gives every caller the same answer.
    struct Always(bool);

    impl Contender for Always {
        fn check_and_mark(&self, _: &str) -> bool {
            self.0
        }
    }

    #[test]
    fn a_set_has_one_winner() {
        assert!(race(HAPAX, 2, 20_000).one_winner());
    }

    #[test]
    fn wrong_winners_are_counted() {
        let everybody = Row {
            build: |_| Box::new(Always(true)),
            ..*HAPAX
        };
        let nobody = Row {
            build: |_| Box::new(Always(false)),
            ..*HAPAX
        };
        assert_eq!(race(&everybody, 3, 50).several_winners, 50);
        assert_eq!(race(&nobody, 3, 50).no_winner, 50);
    }
}
