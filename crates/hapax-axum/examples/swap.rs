//! A webhook handler on a mutex around a map, and the same handler on hapax: before and
//! after, side by side, both running.
//!
//! ```text
//! cargo run --release -p hapax-axum --example swap
//! ```
//!
//! | route | what it is | the handler fails |
//! |---|---|---|
//! | `/mutex` | before: one lock, a walk over all ids on every call | the event is lost |
//! | `/drop-in` | the smallest change: hapax in the map's place | the event is lost |
//! | `/hapax` | after: the layer claims, and completes on success | the retry runs |
//!
//! The drop-in removes the lock and the walk and keeps the order: *mark, then process*.
//! An event whose processing fails is marked all the same, so its retry is dropped and
//! nobody ever processes it. The layer turns the order around: *claim, process, then
//! complete*. `?simulate=fail` shows the difference on each route.

use axum::{
    Json, Router,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use hapax::DedupSet;
use hapax_axum::{Provider, Verified, WebhookLayer};
use hapax_store::MemoryStore;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, sync::Mutex};

const RETENTION: Duration = Duration::from_secs(96 * 3600);

/// What senders post.
#[derive(Debug, Deserialize)]
struct Webhook {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

// ---- Before -------------------------------------------------------------------------

/// Ids in a map under one lock. Every call visits all of them to forget the old ones.
#[derive(Clone)]
struct MutexDedup {
    seen: Arc<Mutex<HashMap<String, Instant>>>,
    ttl: Duration,
}

impl MutexDedup {
    fn new(ttl: Duration) -> Self {
        let seen = Arc::default();
        Self { seen, ttl }
    }

    async fn check_and_mark(&self, id: &str) -> bool {
        let now = Instant::now();
        let mut seen = self.seen.lock().await;
        seen.retain(|_, marked| now.duration_since(*marked) < self.ttl);
        if seen.contains_key(id) {
            return false;
        }
        seen.insert(id.to_owned(), now);
        true
    }
}

async fn on_the_mutex(
    State(dedup): State<MutexDedup>,
    Query(asked): Query<Asked>,
    Json(webhook): Json<Webhook>,
) -> Response {
    if !dedup.check_and_mark(&webhook.id).await {
        return StatusCode::OK.into_response();
    }
    process(&webhook, &asked)
}

// ---- The smallest change --------------------------------------------------------------

async fn on_the_set(
    State(dedup): State<Arc<DedupSet>>,
    Query(asked): Query<Asked>,
    Json(webhook): Json<Webhook>,
) -> Response {
    if !dedup.check_and_mark(&webhook.id) {
        return StatusCode::OK.into_response();
    }
    process(&webhook, &asked)
}

// ---- After ----------------------------------------------------------------------------

/// No dedup in sight: the layer runs it for first deliveries only, completes the id when
/// it succeeds, and releases it when it does not.
async fn under_the_layer(
    Query(asked): Query<Asked>,
    Verified(Json(webhook)): Verified<Json<Webhook>>,
) -> Response {
    process(&webhook, &asked)
}

// ---- What all three do ------------------------------------------------------------------

#[derive(Debug, Deserialize)]
struct Asked {
    simulate: Option<String>,
}

fn process(webhook: &Webhook, asked: &Asked) -> Response {
    if asked.simulate.as_deref() == Some("fail") {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    println!(
        "processed {} ({}): {}",
        webhook.id, webhook.kind, webhook.payload
    );
    (StatusCode::ACCEPTED, Json(json!({ "event": webhook.id }))).into_response()
}

/// All three routes.
fn app() -> Result<Router, hapax_axum::BuildError> {
    let before = MutexDedup::new(RETENTION);
    let drop_in = Arc::new(DedupSet::new(RETENTION));
    // Unsigned, as before. For a sender that signs, take its preset and a secret.
    let store = MemoryStore::new(RETENTION);
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store).build()?;
    Ok(Router::new()
        .route("/mutex", post(on_the_mutex).with_state(before))
        .route("/drop-in", post(on_the_set).with_state(drop_in))
        .route("/hapax", post(under_the_layer).layer(layer)))
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> anyhow::Result<()> {
    use anyhow::Context;
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:8081");
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} (another may be given as argument)")
    })?;
    let base = format!("http://{}", listener.local_addr()?);
    println!("ready on {base}; Ctrl-C stops\n");
    println!("The handler fails, and the sender sends again. Who still has the event?");
    for route in ["/mutex", "/drop-in", "/hapax"] {
        println!(
            "  for q in '?simulate=fail' ''; do curl -sw ' %{{http_code}}\\n' \"{base}{route}$q\" -H 'content-type: application/json' -d '{{\"id\":\"evt_1\",\"type\":\"paid\",\"payload\":7}}'; done"
        );
    }
    println!();
    axum::serve(listener, app()?)
        .with_graceful_shutdown(async {
            let _ = tokio::signal::ctrl_c().await;
        })
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, extract::Request, http::header::CONTENT_TYPE};
    use tower::ServiceExt;

    /// Sends one event with each query in turn; returns the answers' statuses.
    async fn statuses(route: &str, queries: &[&str]) -> Vec<u16> {
        let app = app().expect("a good configuration");
        let mut statuses = Vec::new();
        for query in queries {
            let body = r#"{"id":"evt_1","type":"paid","payload":7}"#;
            let request = Request::post(format!("{route}{query}"))
                .header(CONTENT_TYPE, "application/json")
                .body(Body::from(body))
                .expect("a request");
            let Ok(response) = app.clone().oneshot(request).await;
            statuses.push(response.status().as_u16());
        }
        statuses
    }

    #[tokio::test]
    async fn all_three_drop_a_duplicate() {
        for route in ["/mutex", "/drop-in", "/hapax"] {
            assert_eq!(statuses(route, &["", ""]).await, [202, 200], "{route}");
        }
    }

    #[tokio::test]
    async fn marking_first_loses_what_fails() {
        for route in ["/mutex", "/drop-in"] {
            let sent = statuses(route, &["?simulate=fail", ""]).await;
            assert_eq!(sent, [500, 200], "{route}");
        }
    }

    #[tokio::test]
    async fn claiming_first_runs_the_retry() {
        let sent = statuses("/hapax", &["?simulate=fail", "", ""]).await;
        assert_eq!(sent, [500, 202, 200]);
    }
}
