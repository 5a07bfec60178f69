//! What does the layer cost one request?
//!
//! Measured: CPU time of the thread per request, from the call of the outermost service
//! to its response, with and without the layer. Rounds of both take turns, so that a
//! busy machine slows both; the figure is the median of the rounds' differences. For a
//! signed request the handler alone is preceded by a bare HMAC of the same body: what
//! anybody has to pay. Hashing 64 KiB leaves nothing else in the nearest cache, so whatever
//! comes next is slower; the line "behind a bare HMAC" shows how much of the figure that
//! is: the unsigned layer, with the same hash before it on both sides.
//!
//! Not measured: HTTP parsing, sockets, wake-ups between threads, a remote store. The
//! store is in memory and ids are new each time, so a first delivery is claimed, run
//! and completed. Answers are checked.
//!
//! `cargo bench -p hapax-axum --bench overhead`

use axum::{Router, body::Body, extract::Request, routing::post};
use bytes::Bytes;
use hapax_axum::{IdSource, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderValue, StatusCode};
use rustix::time::{ClockId, clock_gettime};
use sha2::Sha256;
use std::{hint::black_box, time::Duration};
use tower::Service;

/// An odd number, for the median. Run as a test, one round shows that it works.
fn rounds() -> usize {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    if measuring { 101 } else { 1 }
}

const REQUESTS: usize = 500;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let header = Provider::custom("header").id(IdSource::header("x-github-delivery"));
    for length in [1024, 65536] {
        let body = Bytes::from(vec![b'x'; length]);
        let cost = compare(header.clone(), None, &body, false).await;
        println!(
            "{length:>5} bytes, id from a header: {:>6} ns more than the {} of the handler",
            cost.more, cost.bare
        );
        let cost = compare(header.clone(), None, &body, true).await;
        println!(
            "{length:>5} bytes, the same behind a bare HMAC: {:>6} ns more than the {} of both",
            cost.more, cost.bare
        );
        let cost = compare(Provider::github(), Some("s"), &body, false).await;
        println!(
            "{length:>5} bytes, signed:           {:>6} ns more than the {} of a bare HMAC and the handler",
            cost.more, cost.bare
        );
    }
}

/// Nanoseconds per request.
struct Cost {
    bare: i128,
    more: i128,
}

async fn compare(provider: Provider, secret: Option<&str>, body: &Bytes, hash: bool) -> Cost {
    let store = MemoryStore::new(Duration::from_secs(96 * 3600));
    let layer = WebhookLayer::builder(provider, store)
        .secrets(secret)
        .build()
        .expect("a good configuration");
    let route = || post(|| async { StatusCode::ACCEPTED });
    let mut without = Router::new().route("/", route());
    let mut with = Router::new().route("/", route().layer(layer));
    let signature = HeaderValue::from_str(&format!("sha256={}", hex::encode(mac(body))));
    let signature = signature.expect("hexadecimal");

    let mut ids = 0..;
    let (mut bares, mut mores) = (Vec::new(), Vec::new());
    let by_hand = (hash || secret.is_some()).then_some(body);
    let also_layered = hash.then_some(body);
    for _ in 0..rounds() {
        let bare = round(&mut without, by_hand, requests(&mut ids, body, &signature)).await;
        let layered = round(
            &mut with,
            also_layered,
            requests(&mut ids, body, &signature),
        )
        .await;
        bares.push(bare);
        mores.push(layered - bare);
    }
    Cost {
        bare: median(bares),
        more: median(mores),
    }
}

fn requests(
    ids: &mut impl Iterator<Item = u64>,
    body: &Bytes,
    signature: &HeaderValue,
) -> Vec<Request> {
    let requests = ids.take(REQUESTS).map(|id| {
        Request::post("/")
            .header("x-github-delivery", id.to_string())
            .header("x-hub-signature-256", signature)
            .body(Body::from(body.clone()))
            .expect("a request")
    });
    requests.collect()
}

/// Returns the nanoseconds per request; `by_hand` is hashed before each.
async fn round(app: &mut Router, by_hand: Option<&Bytes>, requests: Vec<Request>) -> i128 {
    let start = cpu_time();
    for request in requests {
        if let Some(body) = by_hand {
            black_box(mac(black_box(body)));
        }
        let Ok(response) = app.call(request).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED);
    }
    (cpu_time() - start) / REQUESTS as i128
}

fn mac(body: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s").expect("any key");
    mac.update(body);
    mac.finalize().into_bytes().to_vec()
}

fn cpu_time() -> i128 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn median(mut rounds: Vec<i128>) -> i128 {
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}
