//! A bounded number of connections that are kept open between requests.
//!
//! A connection is either idle in the pool or owned by one request. A request that is
//! dropped before its answer takes its connection with it: that is how a sender hangs up.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode,
    client::conn::http1::{self, SendRequest},
    header::RETRY_AFTER,
};
use hyper_util::rt::TokioIo;
use std::{
    io,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{net::TcpStream, sync::Semaphore, task::JoinHandle};

/// A connection idle for longer is not used again: the server closes it after twice as
/// long, and a request sent at that moment would get no answer.
const IDLE_MOST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Pool {
    address: SocketAddr,
    idle: Mutex<Vec<Connection>>,
    free: Semaphore,
}

/// What the senders look at in an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: bool,
}

#[derive(Debug)]
struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// Moves the bytes. Aborted with the connection.
    driver: JoinHandle<()>,
    used: Instant,
}

impl Pool {
    pub(crate) fn new(address: SocketAddr, connections: usize) -> Self {
        Self {
            address,
            idle: Mutex::default(),
            free: Semaphore::new(connections),
        }
    }

    /// Sends a request, and calls `begun` as soon as it has a connection.
    ///
    /// # Cancellation
    ///
    /// Hangs up.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        begun: impl FnOnce(),
    ) -> io::Result<Answer> {
        let _permit = self.free.acquire().await.map_err(io::Error::other)?;
        let mut connection = self.connection().await?;
        begun();
        let answer = connection.requests.send_request(request).await;
        let answer = answer.map_err(io::Error::other)?;
        let (head, body) = answer.into_parts();
        body.collect().await.map_err(io::Error::other)?;
        connection.used = Instant::now();
        self.idle().push(connection);
        Ok(Answer {
            status: head.status,
            retry_after: head.headers.contains_key(RETRY_AFTER),
        })
    }

    /// Takes the connection that was used last, or opens one.
    async fn connection(&self) -> io::Result<Connection> {
        let idle = self.idle().pop();
        if let Some(mut connection) = idle.filter(|idle| idle.used.elapsed() < IDLE_MOST)
            && connection.requests.ready().await.is_ok()
        {
            return Ok(connection);
        }
        Connection::open(self.address).await
    }

    /// Closes the idle connections; nothing can be sent any more.
    pub(crate) fn close(&self) {
        self.free.close();
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (requests, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let driver = tokio::spawn(async move {
            // The request that is under way learns of any error itself.
            let _ = driver.await;
        });
        Ok(Self {
            requests,
            driver,
            used: Instant::now(),
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
