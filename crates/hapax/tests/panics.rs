//! What is left behind when code of the user panics in the middle of a call?
//!
//! A clock, a hasher and a `Hash` are called at several points of each operation. At each of them
//! they panic once; afterwards the set must be as if the call had not been, or had been finished.

use hapax::{Claim, Clock, DedupSet, Full, ManualClock, Prefixed, WhenFull};
use std::{
    hash::{BuildHasher, Hash, Hasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);

/// Counts calls down, and panics at the one that reaches zero.
#[derive(Clone, Debug, Default)]
struct Fuse(Arc<AtomicU64>);

/// What a fuse panics with.
struct Blown;

impl Fuse {
    fn light(&self, calls: u64) {
        self.0.store(calls, SeqCst);
    }
    fn burn(&self) {
        let left = self
            .0
            .fetch_update(SeqCst, SeqCst, |calls| calls.checked_sub(1));
        if left == Ok(1) {
            panic_any(Blown);
        }
    }
}

#[derive(Clone, Debug, Default)]
struct FusedClock(ManualClock, Fuse);
impl Clock for FusedClock {
    fn now(&self) -> Duration {
        self.1.burn();
        self.0.now()
    }
    fn resolution(&self) -> Duration {
        self.0.resolution()
    }
}

#[derive(Clone, Default)]
struct FusedState(RandomState, Fuse);
struct FusedHasher(<RandomState as BuildHasher>::Hasher, Fuse);
impl BuildHasher for FusedState {
    type Hasher = FusedHasher;
    fn build_hasher(&self) -> FusedHasher {
        self.1.burn();
        FusedHasher(self.0.build_hasher(), self.1.clone())
    }
}
impl Hasher for FusedHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.1.burn();
        self.0.write(bytes);
    }
    fn finish(&self) -> u64 {
        self.1.burn();
        self.0.finish()
    }
}

/// An id whose `Hash` panics.
struct FusedId<'f>(u64, &'f Fuse);
impl Hash for FusedId<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.1.burn();
        self.0.hash(hasher);
    }
}

type Set = DedupSet<Prefixed<FusedState>, FusedClock>;

struct Bench {
    set: Arc<Set>,
    clock: ManualClock,
    fuse: Fuse,
}

/// A set of one table with exactly as many slots as ids can be squeezed in.
fn bench(mode: WhenFull) -> Bench {
    let fuse = Fuse::default();
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(100 * MS)
        .max_entries(1)
        .shards(1);
    let builder = builder
        .when_full(mode)
        .hasher(FusedState(RandomState::new(), fuse.clone()));
    let builder = builder.clock(FusedClock(clock.clone(), fuse.clone()));
    Bench {
        set: Arc::new(builder.build().unwrap()),
        clock,
        fuse,
    }
}

impl Bench {
    fn id(&self, id: u64) -> FusedId<'_> {
        FusedId(id, &self.fuse)
    }

    /// How many new ids fit into the set: all its slots, when none is lost.
    fn room(&self) -> u64 {
        self.clock.advance(1000 * MS);
        let ids = 1_000_000..1_010_000;
        let room = ids
            .take_while(|id| self.set.try_check_and_mark(id) != Err(Full))
            .count();
        self.clock.advance(1000 * MS);
        room as u64
    }

    /// Runs `call` with a fuse of every length until it comes through.
    fn blow_at_every_call(&self, mut call: impl FnMut(&Self), mut after: impl FnMut(&Self, u64)) {
        for calls in 1.. {
            assert!(calls < 100, "does it ever come through?");
            self.fuse.light(calls);
            let outcome = catch_unwind(AssertUnwindSafe(|| call(self)));
            self.fuse.light(0);
            let Err(panic) = outcome else {
                assert!(calls > 1, "nothing was called");
                return;
            };
            assert!(panic.is::<Blown>(), "a panic of our own");
            after(self, calls);
        }
    }
}

#[test]
fn panic_in_a_mark_marks_nothing_and_loses_no_slot() {
    let bench = bench(WhenFull::Refuse);
    let room = bench.room();
    bench.blow_at_every_call(
        |bench| assert!(bench.set.check_and_mark(&bench.id(7))),
        |bench, calls| {
            assert!(!bench.set.contains(&bench.id(7)), "after {calls} calls");
            assert_eq!(bench.room(), room, "after {calls} calls");
        },
    );
    assert!(
        !bench.set.check_and_mark(&bench.id(7)),
        "the one that came through"
    );
}

#[test]
fn panic_in_a_claim_claims_nothing_and_loses_no_slot() {
    let bench = bench(WhenFull::Refuse);
    let room = bench.room();
    bench.blow_at_every_call(
        |bench| {
            let claim = bench.set.claim(&bench.id(7));
            assert!(matches!(claim, Ok(Claim::First(_))));
            std::mem::forget(claim);
        },
        |bench, calls| {
            assert!(!bench.set.contains(&bench.id(7)), "after {calls} calls");
            assert_eq!(bench.set.stats().in_flight, 0, "after {calls} calls");
            assert_eq!(bench.room(), room, "after {calls} calls");
        },
    );
    assert!(matches!(
        bench.set.claim(&bench.id(7)),
        Ok(Claim::InFlight { .. })
    ));
}

#[test]
fn panic_at_the_limit_loses_no_slot_and_keeps_the_books() {
    let bench = bench(WhenFull::ForgetOldest);
    for id in 0..1000u64 {
        assert!(bench.set.check_and_mark(&id));
    }
    let slots = bench.set.stats().live;
    bench.blow_at_every_call(
        |bench| std::mem::forget(bench.set.claim(&bench.id(7))),
        |bench, calls| {
            let stats = bench.set.stats();
            assert!(stats.live + 1 >= slots, "after {calls} calls: {stats:?}");
            assert_eq!(
                stats.first,
                stats.live + stats.forgotten_early,
                "after {calls} calls"
            );
            (1000 * calls..1000 * calls + 500)
                .for_each(|id| assert!(bench.set.check_and_mark(&id)));
            assert_eq!(bench.set.stats().live, slots, "after {calls} calls");
        },
    );
}

#[test]
fn panic_while_settling_gives_the_id_up() {
    // The lease is on the stack that unwinds, so it is dropped: the work was not completed.
    for spilled in [false, true] {
        let bench = bench(WhenFull::Refuse);
        if spilled {
            // All but a few slots: most of what comes now lies outside its home.
            let room = bench.room() - 4;
            assert!((0..room).all(|id| bench.set.try_check_and_mark(&("done", id)) == Ok(true)));
        }
        bench.blow_at_every_call(
            |bench| {
                let calls = bench.fuse.0.swap(0, SeqCst);
                let Ok(Claim::First(lease)) = bench.set.claim(&bench.id(7)) else {
                    panic!()
                };
                bench.fuse.light(calls);
                assert_eq!(lease.complete(), Ok(()));
            },
            |bench, calls| assert!(!bench.set.contains(&bench.id(7)), "after {calls} calls"),
        );
        assert_eq!(bench.set.stats().in_flight, 0);
        assert!(matches!(
            bench.set.claim(&bench.id(7)),
            Ok(Claim::Duplicate)
        ));
    }
}

#[test]
fn panic_while_extending_leaves_the_lease_with_its_holder() {
    let bench = bench(WhenFull::Refuse);
    let Ok(Claim::First(mut lease)) = bench.set.claim_owned_for(&bench.id(7), 50 * MS) else {
        panic!("is new")
    };
    bench.blow_at_every_call(
        |_| assert_eq!(lease.extend(60 * MS), Ok(())),
        |bench, _| {
            assert!(matches!(
                bench.set.claim(&bench.id(7)),
                Ok(Claim::InFlight { .. })
            ));
        },
    );
    bench.clock.advance(55 * MS);
    assert!(matches!(
        bench.set.claim(&bench.id(7)),
        Ok(Claim::InFlight { .. })
    ));
    assert_eq!(lease.complete(), Ok(()));
}

#[test]
fn panic_in_the_other_calls_changes_nothing() {
    let bench = bench(WhenFull::Refuse);
    let room = bench.room();
    let still = |bench: &Bench, calls| {
        assert_eq!(bench.set.len(), 1, "after {calls} calls");
        assert!(bench.set.contains(&bench.id(7)), "after {calls} calls");
    };
    assert!(bench.set.check_and_mark(&bench.id(7)));
    bench.blow_at_every_call(|bench| assert!(bench.set.contains(&bench.id(7))), still);
    bench.blow_at_every_call(|bench| assert_eq!(bench.set.len(), 1), still);
    bench.blow_at_every_call(|bench| assert_eq!(bench.set.stats().live, 1), still);
    bench.blow_at_every_call(|bench| bench.set.tick(), still);
    bench.blow_at_every_call(
        |bench| assert!(!bench.set.check_and_mark(&bench.id(7))),
        still,
    );
    bench.blow_at_every_call(|bench| assert!(!bench.set.forget(&bench.id(8))), still);
    bench.blow_at_every_call(|bench| assert!(bench.set.forget(&bench.id(7))), still);
    assert!(bench.set.check_and_mark(&bench.id(7)));
    bench.blow_at_every_call(|bench| bench.set.clear(), still);
    assert!(bench.set.is_empty());
    assert_eq!(bench.room(), room);
}

#[test]
fn panic_in_a_batch_keeps_the_answers_so_far() {
    let bench = bench(WhenFull::ForgetOldest);
    let ids: Vec<_> = (0..200).map(|id| bench.id(id)).collect();
    for calls in [1, 50, 500, 1000, 2100] {
        let mut answers = Vec::new();
        bench.clock.advance(1000 * MS);
        bench.fuse.light(calls);
        let batch = || bench.set.check_and_mark_many(&ids, &mut answers);
        assert!(catch_unwind(AssertUnwindSafe(batch)).is_err_and(|panic| panic.is::<Blown>()));
        bench.fuse.light(0);
        assert!(answers.len() < ids.len() && answers.iter().all(|first| *first));
        let done = bench.set.stats();
        assert!(done.first >= answers.len() as u64);
    }
    let mut answers = Vec::new();
    bench.clock.advance(1000 * MS);
    bench.set.check_and_mark_many(&ids, &mut answers);
    assert!(answers.iter().all(|first| *first) && answers.len() == 200);
}

#[test]
fn panics_while_a_set_grows_leave_it_whole() {
    let fuse = Fuse::default();
    let clock = FusedClock(ManualClock::new(), fuse.clone());
    let set = DedupSet::builder()
        .shards(1)
        .retention(100 * MS)
        .clock(clock.clone());
    let set = set.build().unwrap();
    let mut id = 0u64;
    for calls in (1..200u64).cycle().take(2000) {
        fuse.light(calls % 7 + 1);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..20 {
                assert!(set.check_and_mark(&id));
                id += 1;
            }
        }));
        assert!(outcome.is_err_and(|panic| panic.is::<Blown>()));
    }
    fuse.light(0);
    assert_eq!(set.len() as u64, id);
    assert!((0..id).all(|id| !set.check_and_mark(&id)));
    assert_eq!(set.stats().forgotten_early, 0);
    clock.0.advance(200 * MS);
    set.tick();
    assert_eq!((set.len(), set.stats().tables), (0, 1));
}
