//! A server on loopback and a client that loads it.
//!
//! Server and client share the cores of one machine, so requests per second are far below what the
//! server alone could do; what counts is the difference between endpoints. The client keeps its
//! connections. It has two gaits: as fast as the answers come, for requests per second, and at a fixed
//! rate, for the tail. At a fixed rate the time of a request counts from when it was *due*: a stall
//! delays every request that was due meanwhile, and each of them counts.

use crate::{
    ids,
    rush::{self, Times},
    webhook::{self, App, POOL},
};
use axum::{body::Body, extract::Request, http::StatusCode};
use http_body_util::BodyExt;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::{
    cell::Cell,
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    task::LocalSet,
    time,
};

/// Connections of the client.
pub const CONNECTIONS: usize = 16;

/// One request in so many brings a new id; the others repeat live ones. So the number of live ids
/// stays near what it is called, and handling differs little from answering a duplicate.
const NEW_EVERY: u64 = 20;

/// An endpoint that is served, and a client connected to it.
pub struct Load {
    app: App,
    live: u64,
    /// Keeps the server's threads.
    _server: Runtime,
    client: Runtime,
    connections: Vec<Option<SendRequest<Body>>>,
    sent: Cell<u64>,
}

/// What came out at a fixed rate.
pub struct Paced {
    /// The times of the requests that were answered, from when they were due.
    pub times: Times,
    /// Requests per second that were answered while the load lasted.
    pub per_second: f64,
}

impl Load {
    /// Serves `app` with `live` ids known to it on a free port of loopback, and connects to it.
    ///
    /// # Panics
    ///
    /// When the system gives no port or no threads.
    pub fn start(app: App, live: usize) -> Self {
        let server = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads for a server");
        let address = server.block_on(async {
            let router = app.build(live).await;
            let listener = TcpListener::bind(("127.0.0.1", 0)).await;
            let listener = listener.expect("a free port on loopback");
            let address = listener.local_addr().expect("it is bound");
            tokio::spawn(async move { axum::serve(listener, router).await });
            address
        });
        let client = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime on this thread");
        let connections = client.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..CONNECTIONS {
                connections.push(Some(connect(address).await));
            }
            connections
        });
        Self {
            app,
            live: live as u64,
            _server: server,
            client,
            connections,
            sent: Cell::new(0),
        }
    }

    /// Sends at least `requests` requests as fast as the answers come and returns how many and the
    /// time they took.
    ///
    /// # Panics
    ///
    /// When an answer is wrong.
    pub fn rush(&mut self, requests: u64) -> (u64, Duration) {
        let each = requests.div_ceil(CONNECTIONS as u64);
        let (_, taken) = self.each_connection(async |load: &Load, connection, _| {
            for _ in 0..each {
                load.send(connection).await;
            }
        });
        (each * CONNECTIONS as u64, taken)
    }

    /// Sends `per_second` requests a second, for `lasting`.
    ///
    /// # Panics
    ///
    /// When an answer is wrong.
    pub fn paced(&mut self, per_second: u32, lasting: Duration) -> Paced {
        let between = CONNECTIONS as u32 * Duration::from_secs(1) / per_second;
        let start = Instant::now() + Duration::from_millis(20);
        let (parts, _) = self.each_connection(async |load: &Load, connection, number| {
            let mut times = rush::times();
            let mut due = start + between * number as u32 / CONNECTIONS as u32;
            while due < start + lasting && start.elapsed() < lasting {
                let mut from = due;
                if Instant::now() < due {
                    time::sleep_until(due.into()).await;
                    // The timer is up to a millisecond late. That is the client's fault.
                    from = Instant::now();
                }
                load.send(connection).await;
                times.saturating_record(from.elapsed().as_nanos() as u64);
                due += between;
            }
            times
        });
        let mut times = rush::times();
        for part in parts {
            times += part;
        }
        Paced {
            per_second: times.len() as f64 / lasting.as_secs_f64(),
            times,
        }
    }

    /// Runs `work` on every connection at once, on this thread.
    fn each_connection<T: 'static>(
        &mut self,
        work: impl AsyncFn(&Load, &mut SendRequest<Body>, usize) -> T,
    ) -> (Vec<T>, Duration) {
        let mut connections: Vec<_> = self.connections.iter_mut().map(Option::take).collect();
        let load = &*self;
        let start = Instant::now();
        let values = load.client.block_on(LocalSet::new().run_until(async {
            let crew = connections
                .iter_mut()
                .enumerate()
                .map(|(number, connection)| {
                    let connection = connection.as_mut().expect("it was put back");
                    work(load, connection, number)
                });
            futures_util::future::join_all(crew).await
        }));
        let taken = start.elapsed();
        self.connections = connections;
        (values, taken)
    }

    /// Sends the next request and checks the answer.
    async fn send(&self, connection: &mut SendRequest<Body>) {
        let number = self.sent.get();
        self.sent.set(number + 1);
        let new = number.is_multiple_of(NEW_EVERY);
        let id = match new {
            true => self.live + number / NEW_EVERY,
            false => ids::mix(number) % (POOL as u64).min(self.live),
        };
        let request: Request = webhook::request(&ids::id(id), &webhook::body());
        connection
            .ready()
            .await
            .expect("the server keeps connections");
        let response = connection.send_request(request).await;
        let response = response.expect("the server answers");
        let expected = match new || !self.app.dedups {
            true => StatusCode::ACCEPTED,
            false => StatusCode::OK,
        };
        assert_eq!(response.status(), expected, "{}", self.app.name);
        response
            .into_body()
            .collect()
            .await
            .expect("a whole answer");
    }
}

async fn connect(address: SocketAddr) -> SendRequest<Body> {
    let stream = TcpStream::connect(address)
        .await
        .expect("the server listens");
    stream.set_nodelay(true).expect("a fresh connection");
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .expect("the server speaks HTTP");
    tokio::spawn(connection);
    sender
}
