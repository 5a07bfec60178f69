//! Does a front say *done* when it may, and nothing else ever?

use hapax::{DedupSet, ManualClock, Seeds};
use hapax_store::{
    ClaimStore, ErrorKind, Fronted, Key, MemoryLease, MemoryStore, Outcome, StoreError, StoreLease,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

type Set = DedupSet<Seeds, ManualClock>;
type Front<H> = Fronted<Set, Far<H>>;

const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(30);

/// A store far away: it counts calls, tells what remains, and lets a test do
/// something between its answer and the caller's hearing of it.
struct Remote<H> {
    memory: MemoryStore<Seeds, ManualClock>,
    remaining: Mutex<Option<Duration>>,
    calls: AtomicU32,
    before_answer: H,
}

struct Far<H>(Arc<Remote<H>>);

impl<H> Clone for Far<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H> std::ops::Deref for Far<H> {
    type Target = Remote<H>;

    fn deref(&self) -> &Remote<H> {
        &self.0
    }
}

impl<H: AsyncHook> ClaimStore for Far<H> {
    type Lease = MemoryLease<Seeds, ManualClock>;

    fn retention(&self) -> Duration {
        HOUR
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<Self::Lease>, StoreError> {
        // Relaxed: one thread.
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut answer = self.memory.claim(key, lease).await?;
        if let Outcome::Duplicate { remaining } = &mut answer {
            *remaining = *self.remaining.lock().unwrap();
        }
        self.before_answer.run(key).await;
        Ok(answer)
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        self.memory.forget(key).await?;
        Err(StoreError::new(ErrorKind::Timeout))
    }
}

trait AsyncHook: Send + Sync + 'static {
    fn run(&self, key: &Key) -> impl Future<Output = ()> + Send;
}

struct Nothing;

impl AsyncHook for Nothing {
    async fn run(&self, _: &Key) {}
}

/// A store that takes its time to answer.
struct Slow(Duration);

impl AsyncHook for Slow {
    async fn run(&self, _: &Key) {
        // Not waited for: this is the latency itself.
        tokio::time::sleep(self.0).await;
    }
}

fn set(clock: &ManualClock) -> Set {
    let builder = DedupSet::builder().retention(HOUR).clock(clock.clone());
    builder.build().expect("a good set")
}

fn remote<H: AsyncHook>(clock: &ManualClock, before_answer: H) -> Far<H> {
    Far(Arc::new(Remote {
        memory: MemoryStore::from(set(clock)),
        remaining: Mutex::new(None),
        calls: AtomicU32::new(0),
        before_answer,
    }))
}

fn calls<H>(front: &Front<H>) -> u32 {
    // Relaxed: one thread.
    front.remote().calls.load(Ordering::Relaxed)
}

fn key() -> Key {
    Key::new("front", b"1")
}

async fn claim<S: ClaimStore>(store: &S) -> Outcome<S::Lease> {
    store.claim(&key(), LEASE).await.expect("the store answers")
}

#[tokio::test]
async fn key_completed_here_is_answered_here() {
    let clock = ManualClock::new();
    let front = Fronted::new(set(&clock), remote(&clock, Nothing));
    claim(&front)
        .await
        .first()
        .unwrap()
        .complete()
        .await
        .unwrap();
    assert_eq!(calls(&front), 1);
    for _ in 0..3 {
        assert!(claim(&front).await.is_duplicate());
    }
    assert_eq!(calls(&front), 1);
    assert_eq!(front.counts().answered_here, 3);
    assert_eq!(front.counts().share_answered_here(), Some(1.0));
}

#[tokio::test]
async fn key_in_flight_or_free_is_always_asked_for() {
    let clock = ManualClock::new();
    let front = Fronted::new(set(&clock), remote(&clock, Nothing));
    let lease = claim(&front).await.first().unwrap();
    for _ in 0..3 {
        assert!(claim(&front).await.is_in_flight());
    }
    lease.release().await.unwrap();
    assert!(claim(&front).await.is_first());
    assert_eq!(calls(&front), 5);
    assert_eq!(front.counts().share_answered_here(), None);
}

#[tokio::test]
async fn key_completed_elsewhere_is_learnt_from_the_first_answer() {
    let clock = ManualClock::new();
    let far = remote(&clock, Nothing);
    claim(&far).await.first().unwrap().complete().await.unwrap();
    let front = Fronted::new(set(&clock), far.clone());
    // A store that does not tell what remains teaches nothing.
    assert!(claim(&front).await.is_duplicate());
    assert!(claim(&front).await.is_duplicate());
    assert_eq!(calls(&front), 3);
    *far.remaining.lock().unwrap() = Some(HOUR / 2);
    assert!(claim(&front).await.is_duplicate());
    assert!(claim(&front).await.is_duplicate());
    assert_eq!(calls(&front), 4);
    assert_eq!(front.counts().answered_here, 1);
    assert_eq!(front.counts().answered_there, 3);
    // Gone here before it is gone there.
    clock.advance(HOUR / 2 - Duration::from_millis(1));
    assert!(claim(&front).await.is_duplicate());
    assert_eq!(calls(&front), 5);
}

/// What the store said remains was true while it answered. A slow answer is old.
#[tokio::test]
async fn time_since_before_the_call_is_taken_off() {
    let clock = ManualClock::new();
    let far = remote(&clock, Slow(Duration::from_millis(200)));
    claim(&far).await.first().unwrap().complete().await.unwrap();
    *far.remaining.lock().unwrap() = Some(Duration::from_secs(1));
    let front = Fronted::new(set(&clock), far);
    assert!(claim(&front).await.is_duplicate());
    let asked = calls(&front);
    assert!(claim(&front).await.is_duplicate());
    assert_eq!(calls(&front), asked, "learnt");
    clock.advance(Duration::from_millis(800));
    assert!(claim(&front).await.is_duplicate());
    assert_eq!(calls(&front), asked + 1, "forgotten by then");
}

/// An answer that was on its way while the key was forgotten must not be learnt.
#[tokio::test]
async fn answer_from_before_a_forget_teaches_nothing() {
    struct ForgetsMeanwhile(Mutex<Option<Front<ForgetsMeanwhile>>>);
    impl AsyncHook for ForgetsMeanwhile {
        async fn run(&self, key: &Key) {
            let front = self.0.lock().unwrap().take();
            if let Some(front) = front {
                // Boxed, as this future would contain itself.
                let forgetting: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                    Box::pin(async move { front.forget(key).await.map(drop) });
                let _ = forgetting.await;
            }
        }
    }
    let clock = ManualClock::new();
    let far = remote(&clock, ForgetsMeanwhile(Mutex::new(None)));
    claim(&far).await.first().unwrap().complete().await.unwrap();
    *far.remaining.lock().unwrap() = Some(HOUR);
    let front = Fronted::new(set(&clock), far.clone());
    *far.before_answer.0.lock().unwrap() = Some(front.clone());
    assert!(claim(&front).await.is_duplicate(), "it was, when asked");
    assert!(claim(&front).await.is_first(), "forgotten since");
}

/// The store's answer to a forget may get lost although it forgot.
#[tokio::test]
async fn forget_without_an_answer_is_followed_here() {
    let clock = ManualClock::new();
    let front = Fronted::new(set(&clock), remote(&clock, Nothing));
    claim(&front)
        .await
        .first()
        .unwrap()
        .complete()
        .await
        .unwrap();
    assert!(front.forget(&key()).await.is_err());
    assert!(claim(&front).await.is_first());
}
