//! Accepts connections until told to stop, with a time limit for request headers.
//!
//! `axum::serve` is shorter but sets no such limit: a client that sends a byte of its
//! headers now and then would hold its connection for ever. HTTP/1.1 only, on purpose:
//! telling the versions apart by a connection's first bytes would wait for them without
//! a limit, and what stands in front of a service speaks HTTP/1.1 to it.

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use std::{future::Future, io, pin::pin, time::Duration};
use tokio::net::TcpListener;

/// How long a request's headers may take. An idle connection is closed after it, too.
const HEADERS: Duration = Duration::from_secs(10);

/// After the handlers have ended, how long their answers may take to be sent.
const FLUSH: Duration = Duration::from_secs(1);

/// Opens the port.
///
/// # Errors
///
/// As the system says; most often the port is taken.
pub(crate) async fn listen(address: &str) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves `app` until `stop` ends, then closes idle connections and waits for `drain`,
/// which lets the running handlers finish, and for their answers to be sent.
///
/// Returns what `drain` returned.
pub(crate) async fn serve<T>(
    mut listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()>,
    drain: impl Future<Output = T>,
) -> T {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let (stream, _) = tokio::select! {
            // Waits and tries again when the system is out of file descriptors.
            accepted = Listener::accept(&mut listener) => accepted,
            () = &mut stop => break,
        };
        // Answers are small; nothing is gained by waiting for more to send.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(app.clone());
        let connection = connections.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                // Senders hang up and dawdle; that is nobody's alarm.
                tracing::debug!(%error, "connection ended early");
            }
        });
    }
    drop(listener);
    // Closes the connections without a request at once, the others after their answer.
    let closed = tokio::spawn(connections.shutdown());
    let drained = drain.await;
    if tokio::time::timeout(FLUSH, closed).await.is_err() {
        tracing::debug!("some connections did not close in time");
    }
    drained
}
