//! Models of the protocol under `loom`: the interleavings of two or three threads, up to a bound
//! of preemptions, with the weakest memory orderings that the code asks for.
//!
//! The code that runs here is the code that ships; only its atomics are `loom`'s. The clock is an
//! atomic read by a *Relaxed* read-modify-write: a stronger one would order the threads at every
//! reading and hide a fence that is missing.
//!
//! Every call begins with such a reading, and that matters twice: `loom` tries two accesses of a
//! word in both orders, but of each word it remembers only the last access. A thread that loads a
//! word and then changes it hides from itself the loads of others before. What is explored in spite
//! of that are the orders from one reading of the clock to the next.
//!
//! `HAPAX_LOOM_PREEMPTIONS` deepens every model by as much. `ci/loom.sh` runs them all.

mod claims;
mod clearing;
mod growth;
mod insert;
mod levers;
mod limit;
mod shrinking;
mod wheel;

use core::time::Duration;

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use crate::{
    clock::Clock,
    counters::{Counters, Event},
    hash::Probe,
    insert::{Answer as AnswerOf, Claimed, Goal, Insert, Mark, Token},
    mark::Epochs,
    place::Place,
    settle,
    shard::{Plan, Shard},
    timeline::Timeline,
    wheel::Kind,
};

/// What both kinds of insert answer here.
type Answer<F = Option<Token>> = AnswerOf<F>;

/// The retention of every model, resolution included.
const RETENTION_MS: u64 = 20;
/// The clock's first reading.
const START_MS: u64 = 10;

/// Three ids that share a home; two of them share a tag.
const A: Id = Id {
    tag: 5,
    fingerprint: 7,
};
const B: Id = Id {
    tag: 5,
    fingerprint: 8,
};
const STRANGER: Id = Id {
    tag: 9,
    fingerprint: 99,
};

#[derive(Clone, Copy)]
struct Id {
    tag: u64,
    fingerprint: u64,
}

impl Id {
    /// Home is bucket 0, whatever the size of the table.
    fn probe(self) -> Probe {
        Probe::of((self.tag << 32, self.fingerprint))
    }
}

struct ModelClock {
    now_ms: AtomicU64,
    /// What the next reading says instead, once. Not modelled: set and used by one thread.
    dream_ms: std::sync::Mutex<Option<u64>>,
    /// Whether a thread may be switched after a reading: `loom` switches before an atomic access,
    /// never at a fence, so a fence right after a reading would hide that one before it is missing.
    lingers: std::sync::atomic::AtomicBool,
}

impl ModelClock {
    fn at_zero() -> Self {
        Self {
            now_ms: AtomicU64::new(0),
            dream_ms: std::sync::Mutex::default(),
            lingers: std::sync::atomic::AtomicBool::new(false),
        }
    }

    fn linger(&self) {
        // Relaxed, here and in `now`: set before there is another thread.
        self.lingers.store(true, Ordering::Relaxed);
    }

    fn dream(&self, ms: u64) {
        *self.dream_ms.lock().expect("no panic") = Some(ms);
    }
}

impl Clock for ModelClock {
    fn now(&self) -> Duration {
        if let Some(ms) = self.dream_ms.lock().expect("no panic").take() {
            return Duration::from_millis(ms);
        }
        // Relaxed: a clock that orders nothing but its own readings.
        let now_ms = self.now_ms.fetch_add(0, Ordering::Relaxed);
        if self.lingers.load(Ordering::Relaxed) {
            // Relaxed: only to be a point at which to switch.
            self.now_ms.load(Ordering::Relaxed);
        }
        Duration::from_millis(now_ms)
    }
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }
}

/// One shard and its clock.
struct Model {
    shard: Shard,
    time: Timeline<ModelClock>,
    counters: Counters,
}

fn plan(base_buckets: usize, top_buckets: usize) -> Plan {
    let epochs = Epochs::covering(RETENTION_MS, 1);
    let (span_ms, lease_span_ms) = (RETENTION_MS, RETENTION_MS / 2);
    Plan {
        base_buckets,
        top_buckets,
        span_ms,
        lease_span_ms,
        epochs,
        forget_oldest: false,
    }
}

impl Model {
    fn new(plan: Plan) -> Arc<Self> {
        let time = Timeline::start(ModelClock::at_zero(), Duration::from_millis(1));
        let model = Self {
            shard: Shard::new(plan).expect("a few words"),
            time,
            counters: Counters::for_this_machine(),
        };
        model.pass(START_MS);
        Arc::new(model)
    }

    /// A base table of `buckets` buckets where each has only slot 0 left, and never tidies.
    fn narrow(buckets: usize) -> Arc<Self> {
        let model = Self::new(plan(buckets, buckets));
        for distance in 0..buckets {
            for slot in 1..3 {
                model.fill(distance, slot, 1000);
            }
        }
        model.shard.postpone_tidying();
        model
    }

    /// Puts a stranger in a slot of the base table. It is at home in its bucket: were it one that
    /// had spilled from A's home, its mark would hide that A's own is missing.
    fn fill(&self, bucket: usize, slot: usize, until_ms: u64) {
        let buckets = self.shard.plan().base_buckets as u64;
        let home_bits = ((bucket as u64) << 32).div_ceil(buckets);
        let stranger = Probe::of((STRANGER.tag << 32 | home_bits, STRANGER.fingerprint));
        let base = self.shard.base();
        assert_eq!(base.home(stranger), bucket);
        base.plant(stranger, Place::new(0, slot), until_ms);
    }

    /// Fills a bucket of the table that the hint names.
    fn fill_grown(&self, distance: usize, until_ms: u64) {
        let hint = self.shard.hint();
        let tables = self.shard.tables();
        let table = tables.by_serial(hint.serial()).expect("open");
        for slot in 0..3 {
            table.plant(STRANGER.probe(), Place::new(distance, slot), until_ms);
        }
    }

    fn put(&self, id: Id, distance: usize, slot: usize, until_ms: u64) {
        self.shard
            .base()
            .plant(id.probe(), Place::new(distance, slot), until_ms);
    }

    fn pass(&self, ms: u64) {
        // Relaxed: see `ModelClock`.
        self.time.clock().now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    fn insert<G: Goal>(&self, id: Id, goal: G) -> AnswerOf<G::First> {
        let (shard, time, counters) = (&self.shard, &self.time, &self.counters);
        Insert {
            shard,
            time,
            counters,
            probe: id.probe(),
            goal,
        }
        .run()
    }

    /// A mark, answered as a claim would be; who is first gets nothing to hold.
    fn mark(&self, id: Id) -> Answer<Option<Token>> {
        match self.insert(
            id,
            Mark {
                span_ms: RETENTION_MS,
            },
        ) {
            Answer::First(()) => Answer::First(None),
            Answer::Duplicate => Answer::Duplicate,
            Answer::InFlight { remaining_ms } => Answer::InFlight { remaining_ms },
            Answer::Full => Answer::Full,
        }
    }

    fn claim(&self, id: Id, lease_ms: u64) -> Answer<Option<Token>> {
        match self.insert(id, Claimed::for_span(&self.shard, lease_ms)) {
            Answer::First(token) => Answer::First(Some(token)),
            Answer::Duplicate => Answer::Duplicate,
            Answer::InFlight { remaining_ms } => Answer::InFlight { remaining_ms },
            Answer::Full => Answer::Full,
        }
    }

    fn must_claim(&self, id: Id, lease_ms: u64) -> Token {
        match self.claim(id, lease_ms) {
            Answer::First(Some(token)) => token,
            other => panic!("{other:?}"),
        }
    }

    fn complete(&self, token: Token) -> bool {
        settle::complete(&self.shard, token, RETENTION_MS, &self.time).is_ok()
    }

    fn extend(&self, token: Token, lease_ms: u64) -> Option<Token> {
        settle::extend(&self.shard, token, lease_ms, &self.time).ok()
    }

    fn release(&self, token: Token) -> bool {
        settle::release(&self.shard, token)
    }

    fn contains(&self, id: Id) -> bool {
        settle::contains(&self.shard, id.probe(), &self.time)
    }

    fn forget(&self, id: Id) -> bool {
        settle::forget(&self.shard, id.probe(), &self.time)
    }

    /// Claims as a thread does that has read the clock at `as_of_ms` and slept until now.
    fn claim_as_of(&self, id: Id, lease_ms: u64, as_of_ms: u64) -> Answer {
        self.time.clock().dream(as_of_ms);
        self.claim(id, lease_ms)
    }

    fn point_at_class(&self, class: u32) {
        self.shard.point_at(class, self.time.now_ms());
    }

    fn close_grown(&self) {
        self.shard.close_grown(self.time.now_ms());
    }

    fn forgotten_early(&self) -> u64 {
        self.counters.sum(Event::ForgottenEarly)
    }

    fn planted_left(&self) -> usize {
        let now_ms = self.time.now_ms();
        self.shard.base().copies(STRANGER.probe(), now_ms)
    }

    /// When nothing runs: no slot is left undecided, no id is live twice, and a look-up finds what
    /// is there.
    fn check_when_quiet(&self) {
        let now_ms = self.time.now_ms();
        let tables = self.shard.tables();
        for table in tables.iter() {
            assert_eq!(
                table.undecided(),
                0,
                "a slot was left reserved or undecided"
            );
        }
        for id in [A, B] {
            let live: usize = tables.iter().map(|t| t.copies(id.probe(), now_ms)).sum();
            assert!(live <= 1, "{live} live entries of one id");
            assert_eq!(
                self.contains(id),
                live == 1,
                "a look-up misses what is there"
            );
        }
    }
}

fn is_first(answer: &Answer) -> bool {
    matches!(answer, Answer::First(_))
}

/// Of a late holder and a newcomer one has won, and the newcomer was told so.
fn one_won(newcomer: &Answer, completed: bool) {
    match newcomer {
        Answer::First(_) => assert!(!completed, "the holder and the newcomer both won"),
        Answer::Duplicate => assert!(completed, "nobody won"),
        Answer::InFlight { .. } | Answer::Full => {}
    }
}

fn firsts(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| is_first(answer)).count()
}

/// Runs `with` on a thread of the model.
fn spawn<R: 'static>(
    model: &Arc<Model>,
    with: impl FnOnce(&Model) -> R + 'static,
) -> JoinHandle<R> {
    let model = Arc::clone(model);
    loom::thread::spawn(move || {
        // A point at which to switch, also where `with` reads no clock.
        model.time.now_ms();
        with(&model)
    })
}

fn join<R>(thread: JoinHandle<R>) -> R {
    thread.join().expect("no panic")
}

/// Explores `scenario` with at most `preemptions` involuntary switches.
fn explore(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let deeper =
        std::env::var("HAPAX_LOOM_PREEMPTIONS").map_or(0, |text| text.parse().expect("a number"));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + deeper);
    builder.max_branches = 50_000;
    builder.check(scenario);
}
