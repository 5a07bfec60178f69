//! A real server with a header-read timeout, books of what came in, and a sender.

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
    routing::post,
};
use hapax::DedupSet;
use hapax_axum::{Builder, Counters, Delivery, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use sha2::Sha256;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_util::task::TaskTracker;

pub(crate) const SECRET: &str = "hush";
/// What a slow sender of headers is given, and a slow sender of a body, where that is
/// what is tested. Elsewhere a busy machine must not look like a slow sender.
pub(crate) const PATIENCE: Duration = Duration::from_millis(300);
/// What no step of a test may take; a bound, not a measure.
pub(crate) const BOUND: Duration = Duration::from_secs(15);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) layer: WebhookLayer,
    pub(crate) store: MemoryStore,
    /// Requests that reached the layer.
    came: Arc<AtomicU64>,
    /// Open connections.
    connections: TaskTracker,
    close: watch::Sender<bool>,
}

/// Serves GitHub's preset. What the handler does stands in the id: `panic…`, `fail…`,
/// `wait…`.
pub(crate) async fn serve() -> Server {
    serve_with(unbounded(), |builder| builder).await
}

pub(crate) async fn serve_with(
    set: DedupSet,
    configure: impl FnOnce(Builder) -> Builder,
) -> Server {
    serve_all(Provider::github(), set, BOUND, configure).await
}

pub(crate) async fn serve_as(provider: Provider) -> Server {
    serve_all(provider, unbounded(), BOUND, |builder| builder).await
}

pub(crate) async fn serve_impatiently() -> Server {
    serve_all(Provider::github(), unbounded(), PATIENCE, |builder| builder).await
}

fn unbounded() -> DedupSet {
    DedupSet::new(Duration::from_secs(96 * 3600))
}

async fn serve_all(
    provider: Provider,
    set: DedupSet,
    patience: Duration,
    configure: impl FnOnce(Builder) -> Builder,
) -> Server {
    let store = MemoryStore::from(set);
    let builder = WebhookLayer::builder(provider, store.clone())
        .secret(SECRET)
        .body_timeout(patience);
    let layer = configure(builder).build().expect("a good configuration");
    let came = Arc::new(AtomicU64::new(0));
    let app = Router::new()
        .route("/github", post(handler).layer(layer.clone()))
        .layer(middleware::from_fn_with_state(Arc::clone(&came), count));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let (connections, (close, closed)) = (TaskTracker::new(), watch::channel(false));
    let tracker = connections.clone();
    let mut stopping = closed.clone();
    connections.spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopping.wait_for(|closed| *closed) => break,
            };
            let (socket, _) = accepted.expect("a socket");
            let service = TowerToHyperService::new(app.clone());
            let mut closed = closed.clone();
            tracker.spawn(async move {
                // Not `auto`: it waits for ever until it knows which version it will be.
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(patience);
                let serving = http.serve_connection(TokioIo::new(socket), service);
                tokio::select! {
                    // What the client did wrong is its business.
                    _ = serving => {}
                    _ = closed.wait_for(|closed| *closed) => {}
                }
            });
        }
    });
    Server {
        address,
        layer,
        store,
        came,
        connections,
        close,
    }
}

async fn count(State(came): State<Arc<AtomicU64>>, request: Request, next: Next) -> Response {
    // Relaxed: no partner; read when all is over.
    came.fetch_add(1, Ordering::Relaxed);
    next.run(request).await
}

async fn handler(delivery: Delivery) -> StatusCode {
    let id = delivery.id();
    if id.starts_with("wait") {
        tokio::task::yield_now().await;
    }
    if id.starts_with("panic") {
        // As `panic!`, without a message for each.
        std::panic::resume_unwind(Box::new("on purpose"));
    }
    match id.starts_with("fail") {
        true => StatusCode::INTERNAL_SERVER_ERROR,
        false => StatusCode::ACCEPTED,
    }
}

impl Server {
    pub(crate) async fn connect(&self) -> Sender {
        Sender::to(self.address).await
    }

    /// Waits until so many requests have reached the layer.
    pub(crate) async fn reached(&self, requests: u64) {
        // Relaxed: no partner; a count that only grows.
        let come = || self.came.load(Ordering::Relaxed) >= requests;
        bounded(async {
            while !come() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Closes everything and checks that all that came in is accounted for.
    pub(crate) async fn balance(self) -> Counters {
        self.close.send_replace(true);
        self.connections.close();
        bounded(self.connections.wait()).await;
        let drained = bounded(self.layer.drain(BOUND)).await;
        assert_eq!(drained.stopped, 0);
        let counters = self.layer.counters();
        let told = counters.first + counters.duplicate + counters.in_flight + counters.unchecked;
        let others = counters.handshakes + counters.passed + counters.rejected.total();
        // Relaxed: no partner; all tasks have ended.
        let came = self.came.load(Ordering::Relaxed);
        assert_eq!(told + others, came, "{counters:?}");
        let ended = counters.completed + counters.released + counters.lost;
        assert_eq!((counters.first, counters.running), (ended, 0));
        let stats = self.store.set().stats();
        assert_eq!(stats.in_flight, 0);
        assert_eq!(
            self.store.set().len() as u64 + stats.forgotten_early,
            counters.completed
        );
        // A second drain has nothing to wait for.
        let at_once = self.layer.drain(Duration::ZERO).await;
        assert_eq!(at_once.stopped, 0);
        counters
    }
}

/// One connection, as its owner likes it.
pub(crate) struct Sender {
    pub(crate) socket: TcpStream,
    unread: Vec<u8>,
}

impl Sender {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        let socket = bounded(TcpStream::connect(address)).await;
        Self {
            socket: socket.expect("connected"),
            unread: Vec::new(),
        }
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let written = bounded(self.socket.write_all(bytes.as_ref())).await;
        written.expect("the server reads");
    }

    /// Writes, even if the server has had enough of it.
    pub(crate) async fn try_write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = bounded(self.socket.write_all(bytes.as_ref())).await;
    }

    /// Returns the status of the next answer, or none if the server closed.
    pub(crate) async fn status(&mut self) -> Option<u16> {
        let end = loop {
            let found = self.unread.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(at) = found {
                break at + 4;
            }
            if self.read().await == 0 {
                assert!(self.unread.is_empty(), "closed within an answer");
                return None;
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head)
            .expect("a head is text")
            .to_lowercase();
        let length = head.split("content-length: ").nth(1).map_or(0, |rest| {
            rest.split("\r\n")
                .next()
                .unwrap()
                .parse()
                .expect("a length")
        });
        while self.unread.len() < length {
            assert_ne!(self.read().await, 0, "closed within an answer");
        }
        self.unread.drain(..length);
        Some(head[9..12].parse().expect("a status"))
    }

    async fn read(&mut self) -> usize {
        // A reset is an end, too.
        let read = bounded(self.socket.read_buf(&mut self.unread)).await;
        read.unwrap_or(0)
    }

    /// Waits for the server to close, and returns the last status before.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        let mut last = None;
        while let Some(status) = self.status().await {
            last = Some(status);
        }
        last
    }

    /// Sends a whole request and returns the status.
    pub(crate) async fn send(&mut self, request: impl AsRef<[u8]>) -> Option<u16> {
        self.write(request).await;
        self.status().await
    }
}

/// Waits, but not for ever.
pub(crate) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future)
        .await
        .expect("within the bound")
}

/// A signed delivery.
pub(crate) fn delivery(id: &str) -> String {
    delivery_with(
        id,
        &sign(BODY),
        &format!("content-length: {}", BODY.len()),
        BODY,
    )
}

pub(crate) fn forged(id: &str) -> String {
    let wrong = format!("sha256={}", "0".repeat(64));
    delivery_with(id, &wrong, &format!("content-length: {}", BODY.len()), BODY)
}

pub(crate) const BODY: &str = r#"{"zen":"Keep it logically awesome."}"#;

pub(crate) fn delivery_with(id: &str, signature: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /github HTTP/1.1\r\nhost: x\r\nx-github-delivery: {id}\r\n\
         x-hub-signature-256: {signature}\r\n{headers}\r\n\r\n{body}"
    )
}

pub(crate) fn sign(body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any key");
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}
