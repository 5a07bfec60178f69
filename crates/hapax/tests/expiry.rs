//! When exactly is an id forgotten? Never early, never late, whatever the clock does.
//!
//! A reading may lag behind the true time by up to the clock's resolution. So an id that was marked
//! at the reading `m` must be known to every reading before `m + retention + resolution`, and must
//! be *first* for every reading from `m + retention + resolution + 1 ms` on: those are the worst
//! cases of *at least the retention* and *at most retention + 2 resolutions + 1 ms* of true time.
//! For the second, a retention or resolution of broken milliseconds counts as the next whole one.

use hapax::{Claim, Clock, DedupSet, Lease, LeaseLost, ManualClock};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

mod random;
use random::Random;

const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A clock of nanoseconds that is set by hand, with a resolution of its own.
#[derive(Clone, Debug)]
struct Dial {
    now_ns: Arc<AtomicU64>,
    resolution: Duration,
}

impl Dial {
    fn at(now: Duration, resolution: Duration) -> Self {
        let dial = Self {
            now_ns: Arc::default(),
            resolution,
        };
        dial.set(now);
        dial
    }
    fn set(&self, now: Duration) {
        self.now_ns
            .store(u64::try_from(now.as_nanos()).unwrap(), SeqCst);
    }
    /// The reading by which what was marked at `marked_at` for `span` must have ended.
    fn latest_end(&self, marked_at: Duration, span: Duration) -> Duration {
        marked_at + whole_ms(span) + whole_ms(self.resolution.max(MS)) + MS
    }
}

fn whole_ms(span: Duration) -> Duration {
    Duration::from_millis(u64::try_from((span + MS - NS).as_millis()).unwrap())
}

impl Clock for Dial {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(SeqCst))
    }
    fn resolution(&self) -> Duration {
        self.resolution
    }
}

/// Origins, retentions, resolutions and instants that fall between milliseconds in every way.
fn every_edge(mut case: impl FnMut(&Dial, Duration, Duration)) {
    let phases = [0, 1, 400_000, 500_000, 999_999].map(Duration::from_nanos);
    let retentions = [MS, MS + NS, MS * 21 / 2, SECOND, DAY, YEAR];
    let resolutions = [
        0,
        1,
        999_999,
        1_000_000,
        1_000_001,
        4_250_000,
        1_000_000_000,
    ];
    for origin in phases {
        for retention in retentions {
            for resolution in resolutions.map(Duration::from_nanos) {
                for phase in phases {
                    let dial = Dial::at(origin, resolution);
                    case(&dial, retention, origin + 7 * MS + phase);
                }
            }
        }
    }
}

fn built(retention: Duration, dial: &Dial) -> DedupSet<hapax::Seeds, Dial> {
    let builder = DedupSet::builder()
        .retention(retention)
        .shards(1)
        .max_entries(1);
    builder.clock(dial.clone()).build().unwrap()
}

#[test]
fn mark_is_neither_early_nor_late() {
    every_edge(|dial, retention, marked_at| {
        let set = built(retention, dial);
        dial.set(marked_at);
        assert!(set.check_and_mark("a"));
        dial.set(marked_at + retention + dial.resolution - NS);
        let case = || format!("{retention:?} from {marked_at:?} on {dial:?}");
        assert!(set.contains("a"), "early: {}", case());
        assert!(!set.check_and_mark("a"), "early: {}", case());
        dial.set(dial.latest_end(marked_at, retention));
        assert!(!set.contains("a") && !set.forget("a"), "late: {}", case());
        assert!(set.check_and_mark("a"), "late: {}", case());
    });
}

#[test]
fn lease_is_neither_early_nor_late() {
    every_edge(|dial, span, claimed_at| {
        let set = built(YEAR, dial);
        dial.set(claimed_at);
        let Ok(Claim::First(_lease)) = set.claim_for("a", span) else {
            panic!("nobody is here")
        };
        dial.set(claimed_at + span + dial.resolution - NS);
        let case = || format!("{span:?} from {claimed_at:?} on {dial:?}");
        let in_flight = matches!(set.claim("a"), Ok(Claim::InFlight { .. }));
        assert!(in_flight, "early: {}", case());
        dial.set(dial.latest_end(claimed_at, span));
        let first = matches!(set.claim("a"), Ok(Claim::First(_)));
        assert!(first, "late: {}", case());
    });
}

#[test]
fn retention_of_one_call_is_neither_early_nor_late() {
    every_edge(|dial, span, marked_at| {
        let set = built(YEAR, dial);
        let span_of_call = set.retention(span).unwrap();
        dial.set(marked_at);
        let Ok(Claim::First(lease)) = set.claim("done") else {
            panic!("nobody is here")
        };
        assert!(set.check_and_mark_for("marked", span_of_call));
        assert_eq!(lease.complete_for(span_of_call), Ok(()));
        dial.set(marked_at + span + dial.resolution - NS);
        let case = || format!("{span:?} from {marked_at:?} on {dial:?}");
        assert!(
            set.contains("marked") && set.contains("done"),
            "early: {}",
            case()
        );
        dial.set(dial.latest_end(marked_at, span));
        assert!(
            set.check_and_mark("marked") && set.check_and_mark("done"),
            "late: {}",
            case()
        );
    });
}

#[test]
fn retention_checked_by_a_finer_set_is_not_early_in_a_coarser_one() {
    // The value used to carry the resolution of the set that had checked it. An id was forgotten
    // early in a set with a coarser clock.
    let fine = built(SECOND, &Dial::at(Duration::ZERO, MS));
    let dial = Dial::at(Duration::ZERO, 100 * MS);
    let coarse = built(SECOND, &dial);
    assert!(coarse.check_and_mark_for("a", fine.retention(10 * MS).unwrap()));
    dial.set(110 * MS - NS);
    assert!(!coarse.check_and_mark("a"));
    dial.set(111 * MS);
    assert!(coarse.check_and_mark("a"));
}

#[test]
fn done_id_is_remembered_from_its_completion() {
    let dial = Dial::at(Duration::ZERO, MS);
    let set = built(100 * MS, &dial);
    let Ok(Claim::First(lease)) = set.claim_for("a", 50 * MS) else {
        panic!("nobody is here")
    };
    dial.set(40 * MS);
    assert_eq!(lease.complete(), Ok(()));
    dial.set(140 * MS);
    assert!(!set.check_and_mark("a"));
    dial.set(143 * MS);
    assert!(set.check_and_mark("a"));
}

#[test]
fn duplicates_do_not_prolong_an_entry() {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(100 * MS)
        .clock(clock.clone())
        .build()
        .unwrap();
    assert!(set.check_and_mark("a"));
    for _ in 0..100 {
        assert!(!set.check_and_mark("a"));
        assert!(matches!(set.claim("a"), Ok(Claim::Duplicate)));
        clock.advance(MS);
    }
    clock.advance(3 * MS);
    assert!(set.check_and_mark("a"));
}

#[test]
fn clock_that_stands_still_forgets_nothing_and_stops_nothing() {
    let set = DedupSet::builder()
        .retention(MS)
        .clock(ManualClock::new())
        .build()
        .unwrap();
    for id in 0..20_000 {
        assert!(set.check_and_mark(&id));
    }
    for id in 0..20_000 {
        assert!(!set.check_and_mark(&id));
    }
    let Ok(Claim::First(lease)) = set.claim_for("a", MS) else {
        panic!("nobody is here")
    };
    assert!(matches!(set.claim("a"), Ok(Claim::InFlight { .. })));
    assert_eq!(lease.complete(), Ok(()));
    assert_eq!(set.len(), 20_001);
}

#[test]
fn clock_that_jumps_by_years_forgets_all_and_goes_on() {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(DAY)
        .clock(clock.clone())
        .build()
        .unwrap();
    for jump in 1..=10u32 {
        for id in 0..1000 {
            assert!(set.check_and_mark(&id), "{id} after {jump} jumps");
        }
        let Ok(Claim::First(lease)) = set.claim("claimed") else {
            panic!("after {jump} jumps")
        };
        assert_eq!(set.len(), 1001);
        clock.advance(YEAR * jump / 3);
        assert_eq!((set.len(), set.stats().in_flight), (0, 0));
        assert!(!set.contains(&0));
        assert_eq!(lease.complete(), Err(LeaseLost));
    }
}

#[test]
fn past_the_forty_bits_entries_stop_expiring_and_nothing_loops() {
    // Deadlines have 40 bits of milliseconds: 34.8 years. Beyond, the clock counts as stopped.
    for beyond in [34 * YEAR + 316 * DAY, 35 * YEAR, 1000 * YEAR, Duration::MAX] {
        let clock = ManualClock::new();
        let set = DedupSet::builder()
            .retention(DAY)
            .clock(clock.clone())
            .build()
            .unwrap();
        assert!(set.check_and_mark("old"));
        let Ok(Claim::First(slow)) = set.claim("slow") else {
            panic!("nobody is here")
        };
        clock.advance(beyond);
        assert!(
            set.check_and_mark("old"),
            "what was marked before has ended"
        );
        assert_eq!(slow.complete(), Err(LeaseLost));
        for id in 0..3000 {
            assert!(set.check_and_mark(&id), "{id}");
        }
        clock.advance(beyond);
        set.tick();
        for id in 0..3000 {
            assert!(!set.check_and_mark(&id), "{id}");
        }
        let Ok(Claim::First(lease)) = set.claim_for("a", MS) else {
            panic!("{beyond:?}")
        };
        clock.advance(beyond);
        let Ok(Claim::InFlight { remaining }) = set.claim("a") else {
            panic!("{beyond:?}")
        };
        assert!(remaining >= MS);
        assert_eq!(lease.complete(), Ok(()));
        let Ok(Claim::First(mut lease)) = set.claim_for("b", MS) else {
            panic!("{beyond:?}")
        };
        assert_eq!(lease.extend(DAY), Ok(()));
        drop(lease);
        assert!(set.check_and_mark("b") && set.forget("b"));
        assert_eq!(set.len(), 3002);
        set.clear();
        assert!(set.is_empty());
    }
}

#[test]
fn last_moments_before_the_forty_bits_are_kept_right() {
    let end = Duration::from_millis((1 << 40) - 1);
    let dial = Dial::at(Duration::ZERO, MS);
    let set = built(100 * MS, &dial);
    dial.set(end - 150 * MS);
    assert!(set.check_and_mark("a"));
    dial.set(end - 51 * MS);
    assert!(!set.check_and_mark("a"));
    dial.set(end - 47 * MS);
    assert!(
        set.check_and_mark("a"),
        "its deadline lies beyond the end, so it stays for good"
    );
    dial.set(end + YEAR);
    assert!(!set.check_and_mark("a"));
}

#[test]
fn clock_that_leaps_at_every_reading_does_not_hold_a_claim_up() {
    // A claim that had slept until its own end used to start again, without end when every reading
    // is further ahead than the lease is long.
    #[derive(Debug, Default)]
    struct Leaping(AtomicU64);
    impl Clock for Leaping {
        fn now(&self) -> Duration {
            let reading = self.0.fetch_add(1, SeqCst);
            assert!(
                reading < 10_000,
                "one claim has read the clock ten thousand times"
            );
            Duration::from_secs(reading)
        }
        fn resolution(&self) -> Duration {
            MS
        }
    }
    let set = DedupSet::builder()
        .retention(MS)
        .clock(Leaping::default())
        .build()
        .unwrap();
    assert!(set.check_and_mark("a"));
    assert!(set.check_and_mark("a"));
    let claim: Result<Claim<Lease<'_, Leaping>>, _> = set.claim("b");
    assert!(claim.is_ok());
}

/// A clock whose readings lag behind the true time by what each thread was told.
#[derive(Clone, Debug)]
struct Disagreeing(Dial);

thread_local! {
    static LAG: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };
}

impl Clock for Disagreeing {
    fn now(&self) -> Duration {
        self.0.now() - LAG.get()
    }
    fn resolution(&self) -> Duration {
        self.0.resolution
    }
}

#[test]
fn readers_that_disagree_within_the_resolution_are_both_served() {
    let (retention, resolution) = (50 * MS, 7 * MS);
    let mut random = Random(1);
    let dial = Dial::at(SECOND, resolution);
    let set = DedupSet::builder()
        .retention(retention)
        .shards(1)
        .clock(Disagreeing(dial.clone()));
    let set = set.build().unwrap();
    let mut marked_at = [None::<Duration>; 50];
    let mut now = SECOND;
    let mut firsts = 0;
    for _ in 0..200_000 {
        now += Duration::from_micros(random.below(100));
        dial.set(now);
        LAG.set(Duration::from_nanos(
            random.below(resolution.as_nanos() as u64 + 1),
        ));
        let id = random.below(50) as usize;
        let age = marked_at[id].map(|then| now - then);
        if set.check_and_mark(&id) {
            assert!(
                age.is_none_or(|age| age >= retention),
                "{id} was forgotten after {age:?}"
            );
            marked_at[id] = Some(now);
            firsts += 1;
        } else {
            let late = age.is_none_or(|age| age >= retention + 2 * resolution + MS);
            assert!(!late, "{id} was still known after {age:?}");
        }
    }
    LAG.set(Duration::ZERO);
    assert!(firsts > 5000, "{firsts}");
}
