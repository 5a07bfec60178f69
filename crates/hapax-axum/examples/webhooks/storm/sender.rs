//! Senders: they sign, send, and send again until somebody says 2xx, as real ones do.
//!
//! One event has one sender, even if several copies of it are under way: what any copy
//! is told counts for all. A sender that was told 2xx never sends the event again
//! unless its errand is to be a nuisance. That is why an acknowledgement too many loses
//! an event, here as in life.

use super::{
    books::Books,
    ledger::Event,
    plan::Errand,
    pool::{Answer, Pool, Unanswered},
    target::{End, ORDER, Order, SHORT_LEASE, event},
};
use crate::{
    endpoints::{ENDPOINTS, Endpoint},
    sign::Letter,
};
use bytes::Bytes;
use futures_util::future::join_all;
use hdrhistogram::Histogram;
use http_body_util::Full;
use hyper::{Request, StatusCode, header::HOST};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::time::sleep;

/// After how long a sender gives an event up; longer where leases have to run out. Nothing
/// in the plan takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// When a sender hangs up.
const IMPATIENCE: Duration = Duration::from_millis(8);

/// When a handler fails late, 2½ times this.
const FAILS_AFTER: Duration = Duration::from_millis(60);

/// What a handler is told whose node is to be killed meanwhile.
const DOOMED: Order = Order {
    take_ms: 10_000,
    end: End::Complete,
};

/// Between two attempts of one copy, at most. `Retry-After` counts in seconds, and the storm is to
/// be over in some: the senders come back sooner than they are asked to.
const PAUSE_MOST: Duration = Duration::from_millis(40);

/// How many done events are kept for late duplicates.
const KEPT_MOST: usize = 10_000;

/// All senders.
pub(crate) struct Senders {
    pool: Pool,
    books: Arc<Books>,
    public_url: String,
    short_lease: Duration,
    patience: Duration,
    /// Numbers the events.
    next: AtomicU64,
    /// Events that were acknowledged.
    done: Mutex<Vec<Arc<Mail>>>,
    tally: Mutex<Tally>,
}

/// What the senders were told, in numbers.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) sent: u64,
    pub(crate) first: u64,
    pub(crate) duplicate: u64,
    pub(crate) in_flight: u64,
    pub(crate) failed: u64,
    pub(crate) hung_up: u64,
    /// Not answered because the node was killed, or not back yet.
    pub(crate) killed: u64,
    /// Given up without a success.
    pub(crate) unanswered: u64,
    /// Answers that nobody should get, and broken connections. The first few are kept.
    pub(crate) unexpected: u64,
    pub(crate) surprises: Vec<String>,
    /// Of answers that no handler was told to delay, in µs.
    pub(crate) latency_us: Histogram<u64>,
}

/// One event on its way.
#[derive(Debug)]
struct Mail {
    endpoint: &'static Endpoint,
    path: &'static str,
    id: String,
    note: String,
    event: Event,
    acknowledged: AtomicBool,
}

impl Senders {
    /// Makes senders that know the service as `public_url`; `short_lease` is that of the
    /// endpoint whose handlers outlast it.
    pub(crate) fn new(
        pool: Pool,
        public_url: &str,
        short_lease: Duration,
        books: &Arc<Books>,
    ) -> Self {
        Self {
            pool,
            books: Arc::clone(books),
            public_url: public_url.to_owned(),
            short_lease,
            patience: PATIENCE,
            next: AtomicU64::new(0),
            done: Mutex::default(),
            tally: Mutex::new(Tally::new()),
        }
    }

    /// Makes the senders wait for leases of this length, which nodes that die leave behind.
    pub(crate) fn wait_for_leases(mut self, lease: Duration) -> Self {
        self.patience = PATIENCE.saturating_add(lease);
        self
    }

    /// Carries out an errand.
    pub(crate) async fn run(&self, errand: Errand) {
        match errand {
            Errand::Burst { events } => {
                let sends = (0..events).map(|_| self.until_done(self.mail(), []));
                join_all(sends).await;
            }
            Errand::Repeated { deliveries } => {
                let mail = self.mail();
                for _ in 0..deliveries {
                    self.until_done(Arc::clone(&mail), []).await;
                }
            }
            Errand::Late => {
                let mail = self.some_done().unwrap_or_else(|| self.mail());
                self.until_done(mail, []).await;
            }
            Errand::AtOnce { orders } => {
                let mail = self.mail();
                let copy = |order| self.until_done(Arc::clone(&mail), [order]);
                join_all(orders.into_iter().map(copy)).await;
            }
            Errand::Failing { orders } => self.until_done(self.mail(), orders).await,
            Errand::HangsUp { order } => {
                let mail = self.mail();
                let attempt = self.attempt(&mail, order);
                if tokio::time::timeout(IMPATIENCE, attempt).await.is_err() {
                    self.tally().hung_up += 1;
                }
                self.until_done(mail, []).await;
            }
            Errand::Outlasts => {
                // The copy comes within the first lease, and again until it takes over.
                let mail = self.mail_to(&ENDPOINTS[0], SHORT_LEASE, self.number());
                self.overlap(mail, self.short_lease, End::Complete).await;
            }
            Errand::FailsLate => self.overlap(self.mail(), FAILS_AFTER, End::Fail).await,
            Errand::Twins => {
                let (one, other) = self.twins();
                tokio::join!(self.until_done(one, []), self.until_done(other, []));
            }
        }
    }

    /// Writes an event and returns it with its way: first to `node`, whose handler takes
    /// so long that the node is killed meanwhile, and then to any until it is done.
    pub(crate) fn doomed(
        self: &Arc<Self>,
        node: usize,
    ) -> (Event, impl Future<Output = ()> + Send + use<>) {
        let (senders, mail) = (Arc::clone(self), self.mail());
        let event = Event::clone(&mail.event);
        let way = async move {
            senders.attempt_at(node, &mail, DOOMED).await;
            senders.until_done(mail, []).await;
        };
        (event, way)
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event whose handler takes 2½ times `span`, and a copy after a third of
    /// it.
    async fn overlap(&self, mail: Arc<Mail>, span: Duration, end: End) {
        let take_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let take_ms = take_ms.saturating_mul(5) / 2;
        let copy = async {
            sleep(span / 3).await;
            self.until_done(Arc::clone(&mail), []).await;
        };
        let long = self.until_done(Arc::clone(&mail), [Order { take_ms, end }]);
        tokio::join!(long, copy);
    }

    /// Sends until a success, with `orders` for the first attempts and none after them;
    /// at least once, even if the event is done.
    async fn until_done(&self, mail: Arc<Mail>, orders: impl IntoIterator<Item = Order>) {
        let mut orders = orders.into_iter();
        let give_up = Instant::now() + self.patience;
        let mut pause = Duration::from_millis(2);
        loop {
            let order = orders.next().unwrap_or(Order::COMPLETE);
            self.attempt(&mail, order).await;
            // Acquire: pairs with the release in `attempt`; sees the acknowledgement in
            // the ledger if another copy made it.
            if mail.acknowledged.load(Ordering::Acquire) {
                return;
            }
            if Instant::now() > give_up {
                self.tally().unanswered += 1;
                return;
            }
            sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
            pause = (pause * 2).min(PAUSE_MOST);
        }
    }

    /// Sends once to any node and notes the answer.
    async fn attempt(&self, mail: &Arc<Mail>, order: Order) {
        let node = fastrand::usize(..self.pool.nodes());
        self.attempt_at(node, mail, order).await;
    }

    async fn attempt_at(&self, node: usize, mail: &Arc<Mail>, order: Order) {
        let mut begun = None;
        self.tally().sent += 1;
        let request = self.sign(mail, order);
        let begins = || begun = Some(Instant::now());
        let answer = self.pool.send_to(node, request, begins).await;
        let took = begun.map(|begun| begun.elapsed());
        if answer
            .as_ref()
            .is_ok_and(|answer| answer.status.is_success())
        {
            self.books.acknowledge(Event::clone(&mail.event));
            // Release: pairs with the acquire in `until_done`. AcqRel by the swap, so
            // that one copy alone puts the event on the list.
            if !mail.acknowledged.swap(true, Ordering::AcqRel) {
                self.keep(mail);
            }
        }
        self.tally()
            .note(&answer, mail.path, took.filter(|_| order.take_ms == 0));
    }

    fn sign(&self, mail: &Mail, order: Order) -> Request<Full<Bytes>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let signed = (mail.endpoint.sign)(&Letter {
            id: &mail.id,
            note: &mail.note,
            secret: mail.endpoint.demo_secret,
            url: &mail.endpoint.url(&self.public_url),
            now_s: now.unwrap_or_default().as_secs(),
        });
        let mut request = Request::post(mail.path)
            .header(HOST, "storm")
            .header(ORDER, order.to_string());
        for (name, value) in signed.headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(signed.body));
        request.body(body).expect("names and values are plain text")
    }

    /// Writes a new event for the next endpoint in turn.
    fn mail(&self) -> Arc<Mail> {
        let number = self.number();
        let endpoint = self.endpoint(number);
        self.mail_to(endpoint, endpoint.path, number)
    }

    /// Writes two events with one id.
    fn twins(&self) -> (Arc<Mail>, Arc<Mail>) {
        let number = self.number();
        let [one, other] = [number, number + 1].map(|n| self.endpoint(n));
        (
            self.mail_to(one, one.path, number),
            self.mail_to(other, other.path, number),
        )
    }

    fn mail_to(&self, endpoint: &'static Endpoint, path: &'static str, number: u64) -> Arc<Mail> {
        let id = format!("evt_{number:08}");
        Arc::new(Mail {
            endpoint,
            path,
            event: event(path, &id),
            id,
            note: "storm ".repeat(fastrand::usize(1..200)),
            acknowledged: AtomicBool::new(false),
        })
    }

    fn number(&self) -> u64 {
        // Relaxed: no partner; numbers need to differ and nothing else.
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn endpoint(&self, number: u64) -> &'static Endpoint {
        let count = ENDPOINTS.len() as u64;
        &ENDPOINTS[usize::try_from(number % count).unwrap_or(0)]
    }

    /// Keeps a done event for a late duplicate, in the place of another if there are
    /// many.
    fn keep(&self, mail: &Arc<Mail>) {
        let mut done = lock(&self.done);
        if done.len() < KEPT_MOST {
            done.push(Arc::clone(mail));
        } else {
            done[fastrand::usize(..KEPT_MOST)] = Arc::clone(mail);
        }
    }

    fn some_done(&self) -> Option<Arc<Mail>> {
        fastrand::choice(lock(&self.done).iter()).cloned()
    }
}

impl Tally {
    fn new() -> Self {
        Self {
            sent: 0,
            first: 0,
            duplicate: 0,
            in_flight: 0,
            failed: 0,
            hung_up: 0,
            killed: 0,
            unanswered: 0,
            unexpected: 0,
            surprises: Vec::new(),
            latency_us: Histogram::new_with_bounds(1, 60_000_000, 3).expect("constant bounds"),
        }
    }

    fn note(&mut self, answer: &Result<Answer, Unanswered>, path: &str, took: Option<Duration>) {
        const SURPRISES_MOST: usize = 5;
        let surprise = match answer {
            Ok(Answer {
                status,
                retry_after,
            }) => match (*status, retry_after) {
                (StatusCode::ACCEPTED, _) => return self.answered(took, |tally| &mut tally.first),
                (StatusCode::OK, _) => return self.answered(took, |tally| &mut tally.duplicate),
                // CloudEvents' senders obey `Retry-After` with 429 alone.
                (StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS, true) => {
                    return self.answered(took, |tally| &mut tally.in_flight);
                }
                (StatusCode::INTERNAL_SERVER_ERROR, _) => {
                    return self.answered(took, |tally| &mut tally.failed);
                }
                (status, _) => format!("{path} answered {status}"),
            },
            Err(Unanswered::Killed) => {
                self.killed += 1;
                return;
            }
            Err(Unanswered::Broken(error)) => format!("{path} did not answer: {error}"),
        };
        self.unexpected += 1;
        if self.surprises.len() < SURPRISES_MOST {
            self.surprises.push(surprise);
        }
    }

    fn answered(&mut self, took: Option<Duration>, count: fn(&mut Self) -> &mut u64) {
        *count(self) += 1;
        if let Some(took) = took {
            let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.latency_us.saturating_record(us);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
