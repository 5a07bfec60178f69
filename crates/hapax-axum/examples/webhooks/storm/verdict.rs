//! The oracle: what was lost, and what was processed twice.
//!
//! Every interval it reasons with is bounded from outside by times that were really
//! measured, so it never accuses wrongly, however slow the machine is:
//!
//! - a claim is made after its request *arrived* and before its handler *started*, so a
//!   lease surely holds until `arrived + lease`;
//! - it is settled after its handler *ended* and before its answer *came out*, so it is
//!   surely settled in time if the answer came out before `arrived + lease`, and the id
//!   is surely remembered until `ended + retention`.
//!
//! - if its process was killed before the answer came out, it was settled or it was not.
//!   Until `arrived + lease` the id is surely held or remembered; after that it may run
//!   again, even if the first run had completed. That is what *at least once* means, and
//!   it is counted apart.
//!
//! What it cannot see are faults inside the few microseconds between these times.

use super::{
    books::{Acknowledged, Run},
    ledger::Event,
    moment::Moment,
};
use std::{collections::HashMap, time::Duration};

/// What the ledger proves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Runs in all.
    pub(crate) runs: usize,
    /// Events that ran to completion at least once.
    pub(crate) completed: usize,
    /// Acknowledged, but never ran to completion.
    pub(crate) lost: Vec<Event>,
    /// Acknowledged before the first run to completion had ended. If that run had
    /// failed, the event would have been lost.
    pub(crate) early: Vec<Event>,
    /// Ran to completion although it was remembered as done, or while another run
    /// surely held the lease. Once per run too many.
    pub(crate) twice: Vec<Event>,
    /// Runs that outlasted their lease and whose event then ran again, as it should.
    pub(crate) overtaken: usize,
    /// Runs that had not ended when their process was killed.
    pub(crate) cut_short: usize,
    /// Events that ran to completion, whose process was killed before anybody saw the
    /// claim settled, and that ran to completion again when the lease was over.
    pub(crate) again_after_kill: usize,
}

impl Verdict {
    pub(crate) fn is_good(&self) -> bool {
        self.lost.is_empty() && self.early.is_empty() && self.twice.is_empty()
    }
}

/// Judges. The order of both lists does not matter.
pub(crate) fn judge(runs: &[Run], acknowledged: &[Acknowledged], retention: Duration) -> Verdict {
    let mut events: HashMap<&Event, Vec<&Run>> = HashMap::new();
    for run in runs {
        events.entry(&run.event).or_default().push(run);
    }
    let mut verdict = Verdict {
        runs: runs.len(),
        ..Verdict::default()
    };
    for (event, runs) in &mut events {
        runs.sort_by_key(|run| run.started);
        verdict.completed += usize::from(first_completion(runs).is_some());
        for (i, run) in runs.iter().enumerate() {
            let forbidden = |earlier: &&Run| {
                earlier.holds_at(run.started) || earlier.remembered_at(run.started, retention)
            };
            if run.completed && runs[..i].iter().any(forbidden) {
                verdict.twice.push(Event::clone(event));
            }
            let overtakes = |later: &&Run| later.started >= run.lease_end();
            if run.cut {
                verdict.cut_short += usize::from(run.ended.is_none());
                let again = runs[i + 1..].iter().any(|later| later.completed);
                verdict.again_after_kill += usize::from(run.completed && again);
            } else if run.outlasted() && runs[i + 1..].iter().any(overtakes) {
                verdict.overtaken += 1;
            }
        }
    }

    let mut earliest: HashMap<&Event, Moment> = HashMap::new();
    for acknowledged in acknowledged {
        let at = earliest
            .entry(&acknowledged.event)
            .or_insert(acknowledged.at);
        *at = acknowledged.at.min(*at);
    }
    for (event, at) in earliest {
        let runs = events.get(event).map_or(&[][..], Vec::as_slice);
        match first_completion(runs) {
            None => verdict.lost.push(Event::clone(event)),
            Some(ended) if at < ended => verdict.early.push(Event::clone(event)),
            Some(_) => {}
        }
    }
    verdict
}

fn first_completion(runs: &[&Run]) -> Option<Moment> {
    let completed = runs.iter().filter(|run| run.completed);
    completed.filter_map(|run| run.ended).min()
}

impl Run {
    /// The lease surely holds until then.
    fn lease_end(&self) -> Moment {
        self.arrived + self.lease
    }

    /// Whether this run surely holds its lease at `moment`, or is remembered as done.
    fn holds_at(&self, moment: Moment) -> bool {
        let running = self.ended.is_none_or(|ended| ended > moment);
        let open = running || (self.cut && self.completed);
        open && moment < self.lease_end()
    }

    /// Whether the id is surely remembered as done at `moment`, thanks to this run.
    fn remembered_at(&self, moment: Moment, retention: Duration) -> bool {
        let Some(ended) = self.ended.filter(|_| self.completed) else {
            return false;
        };
        let settled = !self.cut && !self.outlasted();
        settled && ended <= moment && moment < ended + retention
    }

    /// Whether the lease may have ended before the claim was settled.
    fn outlasted(&self) -> bool {
        // Where the sender was gone, the handler's end is the best there is.
        let settled = self.answered.or(self.ended);
        settled.is_none_or(|settled| settled >= self.lease_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: u64 = 100;
    const RETENTION: Duration = Duration::from_millis(1000);

    fn at(ms: u64) -> Moment {
        Moment::from_nanos(ms * 1_000_000)
    }

    /// A run of the event "e" whose answer came out when the handler ended.
    fn run(started_ms: u64, ended_ms: u64, completed: bool) -> Run {
        Run {
            event: Event::from("e"),
            arrived: at(started_ms),
            started: at(started_ms),
            ended: Some(at(ended_ms)),
            completed,
            answered: Some(at(ended_ms)),
            lease: Duration::from_millis(LEASE),
            cut: false,
        }
    }

    /// The same, but its process was killed before the answer came out.
    fn cut(started_ms: u64, ended_ms: Option<u64>, completed: bool) -> Run {
        Run {
            ended: ended_ms.map(at),
            answered: None,
            cut: true,
            ..run(started_ms, 0, completed)
        }
    }

    fn acknowledged(ms: u64) -> Acknowledged {
        Acknowledged {
            event: Event::from("e"),
            at: at(ms),
        }
    }

    fn twice(runs: &[Run]) -> usize {
        judge(runs, &[], RETENTION).twice.len()
    }

    #[test]
    fn one_completed_run_is_good() {
        let verdict = judge(&[run(0, 10, true)], &[acknowledged(11)], RETENTION);
        assert!(verdict.is_good());
        assert_eq!((verdict.completed, verdict.overtaken), (1, 0));
    }

    #[test]
    fn a_failed_run_may_be_followed_by_another() {
        assert_eq!(twice(&[run(0, 10, false), run(10, 20, true)]), 0);
    }

    #[test]
    fn a_second_completion_within_the_retention_is_twice() {
        assert_eq!(twice(&[run(0, 10, true), run(1009, 1020, true)]), 1);
    }

    #[test]
    fn a_second_completion_after_the_retention_is_allowed() {
        assert_eq!(twice(&[run(0, 10, true), run(1010, 1020, true)]), 0);
    }

    #[test]
    fn a_completion_beside_an_unexpired_lease_is_twice() {
        assert_eq!(twice(&[run(0, 50, false), run(49, 60, true)]), 1);
    }

    #[test]
    fn a_failure_beside_an_unexpired_lease_is_not_twice() {
        assert_eq!(twice(&[run(0, 50, true), run(40, 45, false)]), 0);
    }

    #[test]
    fn a_run_beyond_its_lease_is_overtaken_and_not_twice() {
        let runs = [run(0, 200, true), run(100, 110, true)];
        let verdict = judge(&runs, &[], RETENTION);
        assert!(verdict.is_good());
        assert_eq!(verdict.overtaken, 1);
    }

    #[test]
    fn the_overtakers_completion_is_remembered() {
        let runs = [run(0, 200, true), run(100, 110, true), run(300, 310, true)];
        assert_eq!(twice(&runs), 1);
    }

    /// The answer came out after the lease's end, so the claim may have been lost
    /// although the handler ended before.
    #[test]
    fn a_claim_settled_too_late_is_not_remembered() {
        let mut late = run(0, 99, true);
        late.answered = Some(at(101));
        assert_eq!(twice(&[late, run(150, 160, true)]), 0);
    }

    #[test]
    fn an_acknowledged_event_without_a_run_is_lost() {
        let verdict = judge(&[], &[acknowledged(5)], RETENTION);
        assert_eq!(verdict.lost, [Event::from("e")]);
    }

    #[test]
    fn an_acknowledged_event_that_only_failed_is_lost() {
        let verdict = judge(&[run(0, 10, false)], &[acknowledged(5)], RETENTION);
        assert_eq!(verdict.lost, [Event::from("e")]);
    }

    #[test]
    fn an_acknowledgement_before_the_completion_is_early() {
        let verdict = judge(&[run(0, 10, true)], &[acknowledged(5)], RETENTION);
        assert_eq!(verdict.early, [Event::from("e")]);
        assert!(verdict.lost.is_empty());
    }

    #[test]
    fn an_unacknowledged_event_is_not_lost() {
        assert!(judge(&[run(0, 10, false)], &[], RETENTION).is_good());
    }

    #[test]
    fn a_run_cut_short_comes_through_after_its_lease() {
        let runs = [cut(0, None, false), run(100, 110, true)];
        let verdict = judge(&runs, &[acknowledged(111)], RETENTION);
        assert!(verdict.is_good());
        assert_eq!((verdict.cut_short, verdict.again_after_kill), (1, 0));
        assert_eq!(verdict.overtaken, 0);
    }

    #[test]
    fn a_completion_beside_the_lease_of_a_killed_process_is_twice() {
        assert_eq!(twice(&[cut(0, None, false), run(99, 110, true)]), 1);
        assert_eq!(twice(&[cut(0, Some(10), true), run(99, 110, true)]), 1);
    }

    #[test]
    fn a_completion_that_was_not_settled_before_the_kill_runs_again() {
        let runs = [cut(0, Some(10), true), run(100, 110, true)];
        let verdict = judge(&runs, &[acknowledged(111)], RETENTION);
        assert!(verdict.is_good());
        assert_eq!((verdict.cut_short, verdict.again_after_kill), (0, 1));
    }

    #[test]
    fn a_completion_answered_before_the_kill_is_remembered() {
        // What the books do not call cut is judged as ever.
        assert_eq!(twice(&[run(0, 10, true), run(500, 510, true)]), 1);
    }

    #[test]
    fn an_acknowledged_event_cut_short_is_lost() {
        let verdict = judge(&[cut(0, None, false)], &[acknowledged(5)], RETENTION);
        assert_eq!(verdict.lost, [Event::from("e")]);
    }
}
