//! Does it hold over real connections?

use crate::rig::{Gate, Held, PATH, RETENTION, Runs, settle};
use axum::{Router, routing::post};
use bytes::Bytes;
use hapax_axum::{Builder, Provider, Reason, WebhookLayer};
use hapax_store::{ClaimStore, Key, MemoryStore, Outcome};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

struct Server {
    address: SocketAddr,
    store: MemoryStore,
    layer: WebhookLayer,
    runs: Runs,
    gate: Gate,
}

/// Serves unsigned JSON. With `"wait"` in the query the handler waits at the gate.
async fn serve(configure: impl FnOnce(Builder) -> Builder) -> Server {
    let store = MemoryStore::new(RETENTION);
    let builder = WebhookLayer::builder(Provider::unsigned_json(), store.clone());
    let layer = configure(builder).build().unwrap();
    let (runs, gate) = (Runs::default(), Gate::default());
    let handler = {
        let (runs, gate) = (runs.clone(), gate.clone());
        move |uri: http::Uri| {
            let (runs, gate) = (runs.clone(), gate.clone());
            async move {
                if uri.query() == Some("wait") {
                    gate.pass().await;
                }
                runs.add();
                StatusCode::ACCEPTED
            }
        }
    };
    let app = Router::new().route(PATH, post(handler).layer(layer.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    Server {
        address,
        store,
        layer,
        runs,
        gate,
    }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn held(&self, id: &str) -> Held {
        let key = Key::new(PATH, id.as_bytes());
        match self
            .store
            .claim(&key, Duration::from_secs(1))
            .await
            .unwrap()
        {
            Outcome::First(_) => Held::Nothing,
            Outcome::InFlight { .. } => Held::InFlight,
            Outcome::Duplicate { .. } => Held::Done,
        }
    }
}

/// Reads from a socket until `end` has been seen.
async fn read_until(socket: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 1024];
    while !text.contains(end) {
        let n = socket.read(&mut buffer).await.unwrap();
        assert!(n > 0, "closed after {text:?}");
        text += std::str::from_utf8(&buffer[..n]).unwrap();
    }
    text
}

fn request() -> Request<Full<Bytes>> {
    Request::post(format!("http://localhost{PATH}"))
        .header("host", "localhost")
        .body(Full::new(Bytes::from_static(br#"{"id":"a"}"#)))
        .unwrap()
}

#[tokio::test]
async fn duplicates_are_dropped_over_http_1() {
    let server = serve(|b| b).await;
    let io = TokioIo::new(server.connect().await);
    let (mut client, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    for status in [202, 200, 200] {
        let response = client.send_request(request()).await.unwrap();
        assert_eq!(response.status(), status);
        response.into_body().collect().await.unwrap();
    }
    assert_eq!(server.runs.get(), 1);
}

#[tokio::test]
async fn duplicates_are_dropped_over_http_2_on_one_connection_at_once() {
    let server = serve(|b| b).await;
    let io = TokioIo::new(server.connect().await);
    let (client, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let copies: Vec<_> = (0..50)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.send_request(request()).await.unwrap().status() })
        })
        .collect();
    let mut first = 0;
    for copy in copies {
        let status = copy.await.unwrap();
        assert!([200, 202, 503].contains(&status.as_u16()), "{status}");
        first += usize::from(status == 202);
    }
    assert_eq!((first, server.runs.get()), (1, 1));
}

/// A stream reset is how an HTTP/2 sender hangs up: the connection stays.
#[tokio::test]
async fn handler_finishes_when_an_http_2_stream_is_reset() {
    let server = serve(|b| b).await;
    let io = TokioIo::new(server.connect().await);
    let (mut client, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut waiting = request();
    *waiting.uri_mut() = format!("http://localhost{PATH}?wait").parse().unwrap();
    let sent = tokio::spawn(client.send_request(waiting));
    server.gate.entered().await;
    sent.abort();
    assert!(sent.await.is_err());
    // A later request on the same connection proves that the reset has arrived.
    let copy = client.send_request(request()).await.unwrap();
    assert_eq!(copy.status(), 503);
    server.gate.open();
    server.layer.drain(Duration::from_secs(10)).await;
    assert_eq!(server.held("a").await, Held::Done);
}

#[tokio::test]
async fn handler_finishes_when_an_http_1_connection_is_closed() {
    let server = serve(|b| b).await;
    let mut socket = server.connect().await;
    let text = "POST /hook?wait HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{\"id\":\"a\"}";
    socket.write_all(text.as_bytes()).await.unwrap();
    server.gate.entered().await;
    drop(socket);
    settle().await;
    assert_eq!(server.held("a").await, Held::InFlight);
    server.gate.open();
    server.layer.drain(Duration::from_secs(10)).await;
    assert_eq!(server.held("a").await, Held::Done);
}

#[tokio::test]
async fn sender_that_leaves_in_the_middle_of_the_body_claims_nothing() {
    let server = serve(|b| b).await;
    let mut socket = server.connect().await;
    let text = "POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"id\":\"a\"}";
    socket.write_all(text.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    // The server closes once it has seen the end.
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
    assert!(server.store.set().is_empty());
    assert_eq!(
        (server.runs.get(), server.layer.counters().panicked),
        (0, 0)
    );
}

#[tokio::test]
async fn sender_that_expects_100_continue_gets_it() {
    let server = serve(|b| b).await;
    let mut socket = server.connect().await;
    let head =
        "POST /hook HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let interim = read_until(&mut socket, "\r\n\r\n").await;
    assert!(interim.starts_with("HTTP/1.1 100 "), "{interim}");
    socket.write_all(br#"{"id":"a"}"#).await.unwrap();
    let answer = read_until(&mut socket, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
}

/// A body that is announced as too large is refused without being asked for.
#[tokio::test]
async fn announced_length_over_the_limit_is_413_before_100_continue() {
    let server = serve(|b| b).await;
    let mut socket = server.connect().await;
    let head =
        "POST /hook HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1048577\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let answer = read_until(&mut socket, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn chunked_body_over_the_limit_is_413_while_it_is_still_sent() {
    let server = serve(|b| b.body_limit(1000)).await;
    let mut socket = server.connect().await;
    let head = "POST /hook HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("200\r\n{}\r\n", " ".repeat(0x200));
    for _ in 0..3 {
        socket.write_all(chunk.as_bytes()).await.unwrap();
    }
    let answer = read_until(&mut socket, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(server.store.set().is_empty());
}

#[tokio::test]
async fn body_that_stops_coming_is_408() {
    let server = serve(|b| b.body_timeout(Duration::from_millis(50))).await;
    let mut socket = server.connect().await;
    let text = "POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{\"id\"";
    socket.write_all(text.as_bytes()).await.unwrap();
    let answer = read_until(&mut socket, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(server.layer.counters().rejected.get(Reason::BodyTooSlow), 1);
    assert!(server.store.set().is_empty());
}
