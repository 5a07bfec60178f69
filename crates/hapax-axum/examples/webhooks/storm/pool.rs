//! A bounded number of connections to all nodes, kept open between requests.
//!
//! A connection is either idle at its door or owned by one request. A request that is
//! dropped before its answer takes its connection with it: that is how a sender hangs up.
//!
//! A door leads to one node. Its *life* is odd while the node is killed and not back, and
//! only those who kill move it on: before the kill, and after the return. So a request
//! that ends in an error was cut off by a kill exactly if the life was odd when it began
//! or is another now; any other error is the node's fault. Senders do not know of lives
//! and knock at closed doors, too.

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
    doors: Vec<Mutex<Door>>,
    free: Semaphore,
}

/// What the senders look at in an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The node was killed meanwhile, or is not back yet.
    Killed,
    Broken(io::Error),
}

#[derive(Debug)]
struct Door {
    address: SocketAddr,
    life: u32,
    /// All of this life.
    idle: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// Moves the bytes. Aborted with the connection.
    driver: JoinHandle<()>,
    used: Instant,
}

impl Pool {
    /// Makes a pool for the nodes at `addresses`.
    pub(crate) fn new(addresses: &[SocketAddr], connections: usize) -> Self {
        let door = |address: &SocketAddr| {
            Mutex::new(Door {
                address: *address,
                life: 0,
                idle: Vec::new(),
            })
        };
        Self {
            doors: addresses.iter().map(door).collect(),
            free: Semaphore::new(connections),
        }
    }

    /// Returns how many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.doors.len()
    }

    /// Sends a request to a node, and calls `begun` as soon as it has a connection.
    ///
    /// # Cancellation
    ///
    /// Hangs up.
    pub(crate) async fn send_to(
        &self,
        node: usize,
        request: Request<Full<Bytes>>,
        begun: impl FnOnce(),
    ) -> Result<Answer, Unanswered> {
        let permit = self.free.acquire().await;
        let _permit = permit.map_err(|closed| Unanswered::Broken(io::Error::other(closed)))?;
        let door = &self.doors[node];
        let life = lock(door).life;
        let answer = Self::exchange(door, life, request, begun).await;
        answer.map_err(|error| {
            let killed = life % 2 == 1 || lock(door).life != life;
            match killed {
                true => Unanswered::Killed,
                false => Unanswered::Broken(error),
            }
        })
    }

    async fn exchange(
        door: &Mutex<Door>,
        life: u32,
        request: Request<Full<Bytes>>,
        begun: impl FnOnce(),
    ) -> io::Result<Answer> {
        let mut connection = Self::connection(door).await?;
        begun();
        let answer = connection.requests.send_request(request).await;
        let (head, body) = answer.map_err(io::Error::other)?.into_parts();
        body.collect().await.map_err(io::Error::other)?;
        connection.used = Instant::now();
        let mut door = lock(door);
        if door.life == life {
            door.idle.push(connection);
        }
        Ok(Answer {
            status: head.status,
            retry_after: head.headers.contains_key(RETRY_AFTER),
        })
    }

    /// Takes the connection that was used last, or opens one.
    async fn connection(door: &Mutex<Door>) -> io::Result<Connection> {
        let (idle, address) = {
            let mut door = lock(door);
            (door.idle.pop(), door.address)
        };
        if let Some(mut connection) = idle.filter(|idle| idle.used.elapsed() < IDLE_MOST)
            && connection.requests.ready().await.is_ok()
        {
            return Ok(connection);
        }
        Connection::open(address).await
    }

    /// Tells that a node is about to be killed.
    pub(crate) fn goes(&self, node: usize) {
        let mut door = lock(&self.doors[node]);
        door.life += 1;
        door.idle.clear();
    }

    /// Tells that a killed node is back.
    pub(crate) fn is_back(&self, node: usize, address: SocketAddr) {
        let mut door = lock(&self.doors[node]);
        door.address = address;
        door.life += 1;
        door.idle.clear();
    }

    /// Closes the idle connections; nothing can be sent any more.
    pub(crate) fn close(&self) {
        self.free.close();
        for door in &self.doors {
            lock(door).idle.clear();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{io::AsyncReadExt, net::TcpListener};

    fn request() -> Request<Full<Bytes>> {
        Request::post("/").body(Full::default()).expect("a request")
    }

    /// A node that takes a request and closes the connection without an answer.
    async fn rude() -> (TcpListener, Pool) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        (listener, Pool::new(&[address], 1))
    }

    async fn hear(listener: &TcpListener) -> TcpStream {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.read_u8().await.expect("a request");
        stream
    }

    #[tokio::test]
    async fn a_connection_that_breaks_by_itself_is_the_nodes_fault() {
        let (listener, pool) = rude().await;
        let answer = async {
            drop(hear(&listener).await);
        };
        let (sent, ()) = tokio::join!(pool.send_to(0, request(), || {}), answer);
        assert!(matches!(sent, Err(Unanswered::Broken(_))), "{sent:?}");
    }

    #[tokio::test]
    async fn a_connection_that_breaks_across_a_kill_is_not() {
        let (listener, pool) = rude().await;
        let kill = async {
            let stream = hear(&listener).await;
            pool.goes(0);
            drop(stream);
        };
        let (sent, ()) = tokio::join!(pool.send_to(0, request(), || {}), kill);
        assert!(matches!(sent, Err(Unanswered::Killed)), "{sent:?}");
        // Nobody is there yet.
        drop(listener);
        let sent = pool.send_to(0, request(), || {}).await;
        assert!(matches!(sent, Err(Unanswered::Killed)), "{sent:?}");
    }

    #[tokio::test]
    async fn a_node_that_is_back_is_judged_again() {
        let (listener, pool) = rude().await;
        drop(listener);
        pool.goes(0);
        let (listener, _) = rude().await;
        pool.is_back(0, listener.local_addr().expect("an address"));
        let answer = async {
            drop(hear(&listener).await);
        };
        let (sent, ()) = tokio::join!(pool.send_to(0, request(), || {}), answer);
        assert!(matches!(sent, Err(Unanswered::Broken(_))), "{sent:?}");
    }
}
