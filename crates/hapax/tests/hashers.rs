//! What becomes of ids when the hasher is bad, odd, or good in another way?

use hapax::{Clock, DedupSet, Full, ManualClock, WhenFull};
use std::{
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

const HOUR: Duration = Duration::from_secs(60 * 60);
const MODES: [WhenFull; 2] = [WhenFull::ForgetOldest, WhenFull::Refuse];

/// Has read everything, and says what it likes.
#[derive(Clone, Default)]
struct Constant;
impl Hasher for Constant {
    fn write(&mut self, _: &[u8]) {}
    fn finish(&self) -> u64 {
        0x1234_5678_9abc_def0
    }
}

/// An integer is its own hash, as in several well-known crates.
#[derive(Clone, Default)]
struct Identity(u64);
impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// `FEW` distinct values.
#[derive(Clone, Default)]
struct Few<const FEW: u64>(Identity);
impl<const FEW: u64> Hasher for Few<FEW> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    fn finish(&self) -> u64 {
        self.0.finish() % FEW
    }
}

/// Every other hasher it builds is constant. The set takes two hashes of each id, one for its place
/// and one to recognise it: all ids get the same place, and yet each is an id of its own.
#[derive(Default)]
struct Pile {
    built: AtomicU64,
}
enum Piling {
    Constant,
    Good(Box<<RandomState as BuildHasher>::Hasher>),
}
impl BuildHasher for Pile {
    type Hasher = Piling;
    fn build_hasher(&self) -> Piling {
        if self.built.fetch_add(1, Relaxed).is_multiple_of(2) {
            Piling::Constant
        } else {
            Piling::Good(Box::default())
        }
    }
}
impl Hasher for Piling {
    fn write(&mut self, bytes: &[u8]) {
        if let Self::Good(hasher) = self {
            hasher.write(bytes);
        }
    }
    fn finish(&self) -> u64 {
        match self {
            Self::Constant => 0,
            Self::Good(hasher) => hasher.finish(),
        }
    }
}

/// A clock that will not be read without end.
#[derive(Clone, Debug, Default)]
struct Impatient {
    time: ManualClock,
    readings: Arc<AtomicU64>,
}
impl Clock for Impatient {
    fn now(&self) -> Duration {
        assert!(
            self.readings.fetch_add(1, Relaxed) < 1000,
            "this call does not end"
        );
        self.time.now()
    }
    fn resolution(&self) -> Duration {
        self.time.resolution()
    }
}

/// An id that hashes nothing.
struct Blank;
impl Hash for Blank {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[test]
fn constant_hasher_makes_all_ids_one() {
    let builder = DedupSet::builder().hasher(BuildHasherDefault::<Constant>::default());
    let set = builder.build().unwrap();
    assert!(set.check_and_mark("a"));
    for id in 0..10_000 {
        assert!(!set.check_and_mark(&id));
    }
    assert_eq!((set.len(), set.stats().duplicate), (1, 10_000));
    assert!(set.forget("anything"));
    assert!(set.check_and_mark("b"));
}

#[test]
fn ids_that_hash_nothing_are_one_id() {
    let set = DedupSet::new(HOUR);
    assert!(set.check_and_mark(&Blank));
    assert!(!set.check_and_mark(&Blank));
    assert!(!set.check_and_mark(&()), "nor does the unit");
    assert!(
        set.check_and_mark(""),
        "a string ends with a byte of its own"
    );
}

#[test]
fn few_distinct_values_are_few_ids() {
    let builder = DedupSet::builder().hasher(BuildHasherDefault::<Few<16>>::default());
    let set = builder.shards(1).build().unwrap();
    let firsts = (0..20_000u64).filter(|id| set.check_and_mark(id)).count();
    assert!((1..=16).contains(&firsts), "{firsts}");
    assert_eq!((set.len(), set.stats().tables), (firsts, 1));
}

#[test]
fn identity_hasher_spreads_sequences_and_snowflakes() {
    for shift in [0, 22, 32, 44] {
        let builder = DedupSet::builder().hasher(BuildHasherDefault::<Identity>::default());
        let set = builder
            .retention(HOUR)
            .shards(4)
            .max_entries(20_000)
            .build()
            .unwrap();
        for id in 0..20_000u64 {
            assert!(set.check_and_mark(&(id << shift)), "{id} << {shift}");
        }
        for id in 0..20_000u64 {
            assert!(!set.check_and_mark(&(id << shift)), "{id} << {shift}");
        }
        assert_eq!(
            (set.len(), set.stats().forgotten_early),
            (20_000, 0),
            "<< {shift}"
        );
    }
}

#[test]
fn sip_hash_works_as_well_as_the_default() {
    let builder = DedupSet::builder()
        .hasher(RandomState::new())
        .shards(2)
        .max_entries(20_000);
    let set = builder.build().unwrap();
    for id in 0..20_000u64 {
        assert!(set.check_and_mark(&format!("evt_{id}")));
    }
    for id in 0..20_000u64 {
        assert!(!set.check_and_mark(format!("evt_{id}").as_str()));
    }
    assert_eq!((set.len(), set.stats().forgotten_early), (20_000, 0));
}

#[test]
fn ids_piled_on_one_place_end_in_a_bounded_set() {
    for mode in MODES {
        let builder = DedupSet::builder()
            .hasher(Pile::default())
            .shards(1)
            .max_entries(5000);
        let set = builder
            .when_full(mode)
            .clock(ManualClock::new())
            .build()
            .unwrap();
        let mut full = 0;
        for id in 0..5000u64 {
            match set.try_check_and_mark(&id) {
                Ok(first) => assert!(first, "{id} is an id of its own"),
                Err(Full) => full += 1,
            }
        }
        let stats = set.stats();
        assert!(
            stats.live > 50 && stats.live < 2000,
            "do they pile up at all? {stats:?}"
        );
        assert_eq!(
            stats.live + stats.forgotten_early + stats.refused,
            5000,
            "{stats:?}"
        );
        assert_eq!(stats.refused, full);
        assert_eq!(full > 0, mode == WhenFull::Refuse, "{stats:?}");
        assert!(stats.bytes <= set.max_bytes() as u64);
        let there = (0..5000u64).filter(|id| set.contains(id)).count() as u64;
        assert_eq!(there, stats.live);
    }
}

#[test]
fn default_set_grows_rather_than_forget_ids_that_pile_up() {
    let builder = DedupSet::builder()
        .hasher(Pile::default())
        .clock(ManualClock::new());
    let set = builder.build().unwrap();
    assert!((0..700u64).all(|id| set.check_and_mark(&id)));
    assert!((0..700u64).all(|id| !set.check_and_mark(&id)));
    assert_eq!((set.len(), set.stats().forgotten_early), (700, 0));
}

#[test]
fn set_that_is_nearly_empty_ends_a_call_though_the_run_of_its_id_is_full() {
    // The load asked for a smaller table, the full run for a larger one, in turns and for ever.
    for step_ms in [0, 1, 2, 5, 8, 20] {
        let clock = Impatient::default();
        let builder = DedupSet::builder()
            .hasher(Pile::default())
            .shards(1)
            .capacity(1);
        let builder = builder
            .retention(Duration::from_millis(1000))
            .clock(clock.clone());
        let set = builder.build().unwrap();
        for id in 0..120u64 {
            clock.readings.store(0, Relaxed);
            assert!(set.check_and_mark(&id), "{id}");
            clock.time.advance(Duration::from_millis(step_ms));
        }
        let alive = 1000u64.checked_div(step_ms).unwrap_or(120).min(120);
        clock.readings.store(0, Relaxed);
        assert!(
            (120 - alive..120).all(|id| set.contains(&id)),
            "{step_ms} ms apart"
        );
        assert_eq!(set.stats().forgotten_early, 0);
    }
}

#[test]
fn piled_ids_expire_and_are_taken_again() {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .hasher(Pile::default())
        .retention(Duration::from_secs(1));
    let set = builder.shards(1).clock(clock.clone()).build().unwrap();
    let start = set.stats().bytes;
    for round in 0..20 {
        for id in 0..60u64 {
            assert!(set.check_and_mark(&id), "{id} in round {round}");
            assert!(!set.check_and_mark(&id), "{id} in round {round}");
        }
        clock.advance(Duration::from_millis(1003));
    }
    clock.advance(Duration::from_secs(1));
    set.tick();
    assert_eq!((set.len(), set.stats().forgotten_early), (0, 0));
    assert_eq!(set.stats().bytes, start);
}

#[test]
fn threads_that_pile_ids_on_one_place_all_come_to_an_end() {
    for mode in MODES {
        let builder = DedupSet::builder()
            .hasher(Pile::default())
            .shards(1)
            .max_entries(100);
        let set = builder.when_full(mode).build().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let set = &set;
                scope.spawn(move || {
                    for id in 0..1500u64 {
                        assert!(set.check_and_mark(&(thread, id)) || set.stats().duplicate > 0);
                    }
                });
            }
        });
        // Threads that hash at the same time mix places and fingerprints up, so that some ids are
        // taken for others; all that matters is that everything ends and nothing overflows.
        let stats = set.stats();
        assert!(stats.bytes <= set.max_bytes() as u64);
        let told = stats.first + stats.unrecorded + stats.duplicate;
        assert_eq!(told, 6000, "{stats:?}");
    }
}
