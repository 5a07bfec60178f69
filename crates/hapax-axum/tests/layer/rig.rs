//! A layer, its store under a manual clock, and a handler to play with.

use axum::{
    Router, body::Body, extract::Request, handler::Handler, response::Response, routing::post,
};
use hapax::{DedupSet, ManualClock, Seeds};
use hapax_axum::{BuildError, Builder, Counters, Provider, WebhookLayer};
use hapax_store::{ClaimStore, Key, MemoryStore, Outcome, StoreLease};
use http::StatusCode;
use http_body_util::BodyExt;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tower::ServiceExt;

pub(crate) const RETENTION: Duration = Duration::from_secs(96 * 3600);
pub(crate) const PATH: &str = "/hook";

pub(crate) type Store = MemoryStore<Seeds, ManualClock>;

/// What the store holds for an id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Nothing,
    InFlight,
    Done,
}

pub(crate) struct Rig {
    pub(crate) clock: ManualClock,
    pub(crate) store: Store,
    pub(crate) layer: WebhookLayer,
    pub(crate) app: Router,
}

impl Rig {
    /// A layer for unsigned JSON with default settings around `handler`.
    pub(crate) fn new<T: 'static>(handler: impl Handler<T, ()>) -> Self {
        Self::with(Provider::unsigned_json(), |builder| builder, handler)
    }

    pub(crate) fn with<T: 'static>(
        provider: Provider,
        configure: impl FnOnce(Builder) -> Builder,
        handler: impl Handler<T, ()>,
    ) -> Self {
        Self::try_with(provider, configure, handler).expect("a good configuration")
    }

    pub(crate) fn try_with<T: 'static>(
        provider: Provider,
        configure: impl FnOnce(Builder) -> Builder,
        handler: impl Handler<T, ()>,
    ) -> Result<Self, BuildError> {
        let clock = ManualClock::new();
        let store = store(&clock);
        let layer = configure(WebhookLayer::builder(provider, store.clone())).build()?;
        let app = Router::new().route(PATH, post(handler).layer(layer.clone()));
        Ok(Self {
            clock,
            store,
            layer,
            app,
        })
    }

    pub(crate) async fn send(&self, request: Request) -> Response {
        let Ok(response) = self.app.clone().oneshot(request).await;
        response
    }

    /// Sends `{"id": id}` and returns the status.
    pub(crate) async fn post(&self, id: &str) -> StatusCode {
        self.send(json(id)).await.status()
    }

    pub(crate) async fn held(&self, id: &str) -> Held {
        self.held_under(PATH, id).await
    }

    pub(crate) async fn held_under(&self, scope: &str, id: &str) -> Held {
        self.held_key(&Key::new(scope, id.as_bytes())).await
    }

    pub(crate) async fn held_key(&self, key: &Key) -> Held {
        match self.store.claim(key, Duration::from_secs(1)).await {
            Ok(Outcome::First(lease)) => {
                lease.release().await.expect("memory answers");
                Held::Nothing
            }
            Ok(Outcome::InFlight { .. }) => Held::InFlight,
            Ok(Outcome::Duplicate { .. }) => Held::Done,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.layer.counters()
    }
}

pub(crate) fn store(clock: &ManualClock) -> Store {
    let set = DedupSet::builder()
        .retention(RETENTION)
        .clock(clock.clone())
        .build()
        .expect("a good set");
    MemoryStore::from(set)
}

pub(crate) fn json(id: &str) -> Request {
    raw(serde_json::json!({ "id": id }).to_string())
}

pub(crate) fn raw(body: impl Into<Body>) -> Request {
    Request::post(PATH)
        .body(body.into())
        .expect("a good request")
}

pub(crate) async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

/// Counts how often a handler ran.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<AtomicUsize>);

impl Runs {
    pub(crate) fn add(&self) -> usize {
        // SeqCst: a test's counter; no partner worth naming.
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> usize {
        // SeqCst: as `add`.
        self.0.load(Ordering::SeqCst)
    }

    /// A handler that counts and answers 202.
    pub(crate) fn accepting(&self) -> impl Handler<((),), ()> {
        let runs = self.clone();
        move || {
            let runs = runs.clone();
            async move {
                runs.add();
                StatusCode::ACCEPTED
            }
        }
    }
}

/// A door that a handler waits at, inside, until the test opens it.
#[derive(Clone)]
pub(crate) struct Gate {
    entered: Arc<tokio::sync::Semaphore>,
    open: Arc<tokio::sync::Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            entered: Arc::new(tokio::sync::Semaphore::new(0)),
            open: Arc::new(tokio::sync::Semaphore::new(0)),
        }
    }
}

impl Gate {
    /// For the handler: tells that it is inside and waits.
    pub(crate) async fn pass(&self) {
        self.entered.add_permits(1);
        self.open.acquire().await.expect("never closed").forget();
    }

    /// For the test: waits until a handler is inside.
    pub(crate) async fn entered(&self) {
        self.entered.acquire().await.expect("never closed").forget();
    }

    /// For the test: lets one handler through.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}

/// Lets every task that can run do so.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
