//! A set of this process in front of a store that is far away.
//!
//! Senders repeat themselves most just after an event was done. A front answers
//! those repetitions without a round trip. What it may say is narrow:
//!
//! - It answers **done**, or it asks the store. It never says *in flight* (that
//!   may end at any moment, elsewhere) and never *absent* (another process may have
//!   claimed).
//! - It learns **after** the store said done, never before.
//! - It forgets **before** the store does: an entry gets what the store said
//!   remains, less the time since before the question, less a margin for two clocks
//!   that run at different speeds. A stall between reading the clock and marking is
//!   noticed afterwards, and the entry is taken back.
//!
//! A forget on this node is followed here at once. A forget elsewhere reaches this
//! node when its entry runs out: up to the retention late.

use crate::{ClaimStore, Key, Outcome, SettleError, StoreError, StoreLease};
use hapax::{Clock, DedupSet, HashPair};
use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
    time::{Duration, Instant},
};

/// Taken off every entry: covers what a set with a clock of 24 ms resolution or
/// better is late by (twice the resolution and 1 ms), and a short stall.
const MARGIN: Duration = Duration::from_millis(50);

/// One part in so many is taken off as well. Clocks that NTP slews run at most
/// 500 ppm wrong each, together one part in a thousand.
const DRIFT_PARTS: u32 = 1_000;

/// Puts a local [`DedupSet`] `L` in front of a store `R`. Clones share the set.
///
/// # Examples
///
/// ```
/// use hapax::DedupSet;
/// use hapax_store::{ClaimStore, Fronted, Key, MemoryStore, StoreLease};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let day = Duration::from_secs(24 * 3600);
/// let far_away = MemoryStore::new(day); // think of a server
/// let local = DedupSet::builder().retention(day).max_entries(100_000).build()?;
/// let store = Fronted::new(local, far_away);
///
/// let key = Key::new("/orders", b"evt_1");
/// let lease = store.claim(&key, Duration::from_secs(30)).await?.first().expect("first");
/// lease.complete().await?;
/// assert!(store.claim(&key, Duration::from_secs(30)).await?.is_duplicate());
/// assert_eq!(store.counts().answered_here, 1);
/// # Ok(())
/// # }
/// ```
pub struct Fronted<L, R> {
    front: Arc<Front<L>>,
    remote: R,
}

/// Holds a key of the store behind a [`Fronted`].
#[must_use = "dropping the lease releases the key"]
pub struct FrontedLease<L, R> {
    front: Arc<Front<L>>,
    lease: R,
    key: Key,
    retention: Duration,
}

/// Counts who answered *duplicate*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontCounts {
    /// Duplicates answered by the local set, without a call.
    pub answered_here: u64,
    /// Duplicates that the store had to answer.
    pub answered_there: u64,
}

impl FrontCounts {
    /// Returns the share of duplicates answered locally, 0 to 1; `None` before the
    /// first duplicate.
    #[must_use]
    pub fn share_answered_here(&self) -> Option<f64> {
        let all = self.answered_here + self.answered_there;
        (all > 0).then(|| self.answered_here as f64 / all as f64)
    }
}

impl<L, R> Fronted<L, R> {
    /// Puts `local` in front of `remote`.
    ///
    /// Give the set a maximum of entries: pushing one out early only costs a call.
    /// Its retention bounds how long it answers; longer than the store's is no use.
    /// Its clock should resolve 24 ms or better, as all of [`hapax`] do; with a
    /// coarser one the front may answer *done* late by the difference.
    pub fn new(local: L, remote: R) -> Self {
        let front = Arc::new(Front {
            set: local,
            forgets: AtomicU64::new(0),
            answered_here: AtomicU64::new(0),
            answered_there: AtomicU64::new(0),
        });
        Self { front, remote }
    }

    /// Returns who answered *duplicate* so far.
    #[must_use]
    pub fn counts(&self) -> FrontCounts {
        FrontCounts {
            // Relaxed: a count for people, ordered with nothing.
            answered_here: self.front.answered_here.load(Ordering::Relaxed),
            // Relaxed: as above.
            answered_there: self.front.answered_there.load(Ordering::Relaxed),
        }
    }

    /// Returns the store behind.
    #[must_use]
    pub fn remote(&self) -> &R {
        &self.remote
    }
}

impl<S, C, R> ClaimStore for Fronted<DedupSet<S, C>, R>
where
    S: HashPair + 'static,
    C: Clock + 'static,
    R: ClaimStore,
{
    type Lease = FrontedLease<DedupSet<S, C>, R::Lease>;

    fn retention(&self) -> Duration {
        self.remote.retention()
    }

    async fn claim(&self, key: &Key, lease: Duration) -> Result<Outcome<Self::Lease>, StoreError> {
        if self.front.answers(key) {
            return Ok(Outcome::Duplicate { remaining: None });
        }
        let asked = self.front.ask();
        let answer = self.remote.claim(key, lease).await;
        answer.map(|outcome| self.learn(key, outcome, asked))
    }

    async fn claim_many(
        &self,
        keys: &[Key],
        lease: Duration,
    ) -> Vec<Result<Outcome<Self::Lease>, StoreError>> {
        let known: Vec<bool> = keys.iter().map(|key| self.front.answers(key)).collect();
        let unknown: Vec<Key> = keys
            .iter()
            .zip(&known)
            .filter(|(_, known)| !**known)
            .map(|(key, _)| key.clone())
            .collect();
        let asked = self.front.ask();
        let mut answers = if unknown.is_empty() {
            Vec::new()
        } else {
            self.remote.claim_many(&unknown, lease).await
        }
        .into_iter();
        keys.iter()
            .zip(known)
            .filter_map(|(key, known)| {
                if known {
                    return Some(Ok(Outcome::Duplicate { remaining: None }));
                }
                let answer = answers.next();
                debug_assert!(answer.is_some(), "a store answers every key");
                answer.map(|answer| answer.map(|outcome| self.learn(key, outcome, asked)))
            })
            .collect()
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        // Dropped last: also if the store fails or the caller goes away, as the
        // store may have forgotten by then.
        let _forgetting = Forgetting(&self.front, key);
        self.remote.forget(key).await
    }
}

impl<S, C, R> Fronted<DedupSet<S, C>, R>
where
    S: HashPair,
    C: Clock,
{
    /// Remembers what the store said and wraps its lease.
    fn learn<K>(
        &self,
        key: &Key,
        outcome: Outcome<K>,
        asked: Asked,
    ) -> Outcome<FrontedLease<DedupSet<S, C>, K>>
    where
        R: ClaimStore,
    {
        if let Outcome::Duplicate { remaining } = &outcome {
            // Relaxed: see `counts`.
            self.front.answered_there.fetch_add(1, Ordering::Relaxed);
            if let Some(remaining) = remaining {
                self.front.remember(key, *remaining, asked);
            }
        }
        outcome.map(|lease| FrontedLease {
            front: Arc::clone(&self.front),
            lease,
            key: key.clone(),
            retention: self.remote.retention(),
        })
    }
}

impl<S, C, R> StoreLease for FrontedLease<DedupSet<S, C>, R>
where
    S: HashPair + 'static,
    C: Clock + 'static,
    R: StoreLease,
{
    async fn complete(self) -> Result<(), SettleError> {
        let asked = self.front.ask();
        self.lease.complete().await?;
        self.front.remember(&self.key, self.retention, asked);
        Ok(())
    }

    fn release(self) -> impl Future<Output = Result<(), SettleError>> + Send {
        self.lease.release()
    }

    fn extend(&mut self, lease: Duration) -> impl Future<Output = Result<(), SettleError>> + Send {
        self.lease.extend(lease)
    }
}

struct Front<L> {
    set: L,
    /// How often this node forgot a key. An answer from before a forget teaches
    /// nothing after it.
    forgets: AtomicU64,
    answered_here: AtomicU64,
    answered_there: AtomicU64,
}

/// What was true just before the store was asked.
#[derive(Clone, Copy)]
struct Asked {
    at: Instant,
    forgets: u64,
}

impl<L> Front<L> {
    fn ask(&self) -> Asked {
        Asked {
            at: Instant::now(),
            // SeqCst: pairs with the `fetch_add` in `Forgetting`; see `remember`.
            forgets: self.forgets.load(Ordering::SeqCst),
        }
    }
}

impl<S: HashPair, C: Clock> Front<DedupSet<S, C>> {
    fn answers(&self, key: &Key) -> bool {
        let done = self.set.contains(key);
        if done {
            // Relaxed: see `counts`.
            self.answered_here.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Remembers `key` for no longer than the store does, which had `remaining` left
    /// at some moment after `asked`.
    fn remember(&self, key: &Key, remaining: Duration, asked: Asked) {
        let safe = remaining
            .saturating_sub(remaining / DRIFT_PARTS)
            .saturating_sub(asked.at.elapsed())
            .saturating_sub(MARGIN)
            .min(self.set.default_retention());
        // SeqCst: pairs with the `fetch_add` in `Forgetting`; a first look only.
        if self.forgets.load(Ordering::SeqCst) != asked.forgets {
            return;
        }
        // An error is a rest too short to be worth an entry.
        let Ok(retention) = self.set.retention(safe) else {
            return;
        };
        let before_mark = Instant::now();
        self.set.check_and_mark_for(key, retention);
        // SeqCst fence: pairs with the one in `Forgetting`. Either this load sees the
        // forget, or the forget sees the mark.
        fence(Ordering::SeqCst);
        // SeqCst: pairs with the `fetch_add` in `Forgetting`.
        let forgotten = self.forgets.load(Ordering::SeqCst) != asked.forgets;
        let stalled = before_mark.elapsed() > MARGIN / 2;
        if forgotten || stalled {
            self.set.forget(key);
        }
    }
}

/// Forgets a key here once the store was told to, whatever it answered.
struct Forgetting<'a, S: HashPair, C: Clock>(&'a Front<DedupSet<S, C>>, &'a Key);

impl<S: HashPair, C: Clock> Drop for Forgetting<'_, S, C> {
    fn drop(&mut self) {
        let Self(front, key) = self;
        // SeqCst: pairs with the loads in `ask` and `remember`.
        front.forgets.fetch_add(1, Ordering::SeqCst);
        // SeqCst fence: pairs with the one in `remember`.
        fence(Ordering::SeqCst);
        front.set.forget(*key);
    }
}

impl<L, R: Clone> Clone for Fronted<L, R> {
    fn clone(&self) -> Self {
        Self {
            front: Arc::clone(&self.front),
            remote: self.remote.clone(),
        }
    }
}

impl<L, R: fmt::Debug> fmt::Debug for Fronted<L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fronted")
            .field("counts", &self.counts())
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

impl<L, R> fmt::Debug for FrontedLease<L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontedLease")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
