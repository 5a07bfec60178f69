//! The same webhook endpoint three times: without protection, with the mutex map, with hapax.
//!
//! Each answers 202 to an event that it handles and 200 to one that it has seen, so that a client can
//! count. The handler itself does nothing: what is compared is everything around it.

use crate::{
    contender::WebhookDedup,
    ids::{self, Id},
    script::LONG,
};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    routing::post,
};
use hapax::DedupSet;
use hapax_axum::{IdSource, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tower_service::Service;

/// The header with the id of the event.
pub const ID_HEADER: &str = "x-github-delivery";

/// How many live ids duplicates are taken from.
pub const POOL: usize = 512;

const SECRET: &str = "correct horse battery staple";

/// One way to build the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct App {
    /// The name in ids of benchmarks, tables and charts.
    pub name: &'static str,
    /// Whether it knows an event that it has seen.
    pub dedups: bool,
    fill: fn(usize) -> Filling,
}

/// A router, and the ids that still have to be sent through it.
struct Filling {
    router: Router,
    missing: Vec<Id>,
}

/// The handler alone.
pub const EMPTY: App = App {
    name: "empty",
    dedups: false,
    fill: |_| Filling {
        router: Router::new().route("/", post(handle)),
        missing: Vec::new(),
    },
};

/// The handler asks the mutex map first.
pub const MUTEX_MAP: App = App {
    name: "mutex_map",
    dedups: true,
    fill: |live| {
        let dedup = WebhookDedup::new(LONG);
        dedup.prefill(&ids::range(0, live as u64));
        Filling {
            router: Router::new()
                .route("/", post(ask_then_handle))
                .with_state(dedup),
            missing: Vec::new(),
        }
    },
};

/// hapax stands before the handler as a layer; the id is in a header.
pub const LAYER: App = App {
    name: "layer",
    dedups: true,
    fill: |live| {
        let provider = Provider::custom("header").id(IdSource::header(ID_HEADER));
        layered(live, provider, None)
    },
};

/// The same, and the layer checks the sender's signature of the body.
pub const SIGNED: App = App {
    name: "layer_signed",
    dedups: true,
    fill: |live| layered(live, Provider::github(), Some(SECRET)),
};

impl App {
    /// Builds the endpoint with `live` ids known to it, the first [`POOL`] ids among them.
    pub async fn build(&self, live: usize) -> Router {
        let Filling {
            mut router,
            missing,
        } = (self.fill)(live);
        for id in missing {
            let Ok(response) = router.call(request(&id, &body())).await;
            assert_eq!(response.status(), StatusCode::ACCEPTED, "{}", self.name);
        }
        router
    }
}

/// A body of a kilobyte, as a small event has.
pub fn body() -> Bytes {
    Bytes::from(vec![b'x'; 1_024])
}

/// A signed request for the event `id`.
pub fn request(id: &str, body: &Bytes) -> Request {
    let mut request = Request::new(Body::from(body.clone()));
    *request.method_mut() = axum::http::Method::POST;
    let value = |text: &str| HeaderValue::from_str(text).expect("ids and digits are ASCII");
    let headers = request.headers_mut();
    headers.insert(ID_HEADER, value(id));
    headers.insert(
        "x-hub-signature-256",
        value(&format!("sha256={}", hex(&bare_hmac(body)))),
    );
    request
}

/// What any check of the signature must do at least: HMAC-SHA-256 over the body.
pub fn bare_hmac(body: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length will do");
    mac.update(body);
    mac.finalize().into_bytes().into()
}

fn layered(live: usize, provider: Provider, secret: Option<&str>) -> Filling {
    let known = POOL.min(live);
    let set = DedupSet::builder()
        .retention(LONG * 7)
        .capacity(live + live / 4)
        .build()
        .expect("a week is within the limits");
    // The layer's keys are its own business. So only those that will come again are sent through it;
    // the others need only to be there.
    for id in ids::range(known as u64, live as u64) {
        set.check_and_mark(id.as_str());
    }
    let layer = WebhookLayer::builder(provider, MemoryStore::from(set))
        .secrets(secret)
        .build()
        .expect("the configuration is complete");
    Filling {
        router: Router::new().route("/", post(handle).layer(layer)),
        missing: ids::range(0, known as u64),
    }
}

async fn handle(body: Bytes) -> StatusCode {
    drop(body);
    StatusCode::ACCEPTED
}

async fn ask_then_handle(
    State(dedup): State<WebhookDedup>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(id) = headers.get(ID_HEADER).and_then(|id| id.to_str().ok()) else {
        return StatusCode::BAD_REQUEST;
    };
    if !dedup.check_and_mark(id).await {
        return StatusCode::OK;
    }
    handle(body).await
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_endpoint_knows_what_it_has_seen() {
        for app in [MUTEX_MAP, LAYER, SIGNED] {
            let mut router = app.build(1_000).await;
            for (id, expected) in [(3, StatusCode::OK), (1_000, StatusCode::ACCEPTED)] {
                let Ok(response) = router.call(request(&ids::id(id), &body())).await;
                assert_eq!(response.status(), expected, "{} {id}", app.name);
            }
        }
    }
}
