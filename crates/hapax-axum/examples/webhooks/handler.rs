//! The handler: what a service does with an event that it sees for the first time.
//!
//! There is nothing about duplicates in it. That is the point.

use axum::{
    Json,
    body::Bytes,
    extract::Query,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use hapax_axum::{Delivery, Items, MissingLayer, Verified};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// What `?simulate=slow` takes.
const SLOW: Duration = Duration::from_secs(2);

/// Lets anyone watch a release or a copy in flight: `?simulate=fail`, `panic`, `slow`.
/// Twilio signs the query, so there it has to be part of what was signed.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    simulate: Option<Trouble>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Trouble {
    Fail,
    Panic,
    Slow,
}

/// Accepts an event: 202 with its id, or with the ids of a batch.
pub(crate) async fn receive(
    delivery: Delivery,
    batch: Result<Items, MissingLayer>,
    Query(asked): Query<Asked>,
    Verified(body): Verified<Bytes>,
) -> Response {
    match asked.simulate {
        None => {}
        Some(Trouble::Slow) => tokio::time::sleep(SLOW).await,
        Some(Trouble::Panic) => panic!("the panic that ?simulate=panic asked for"),
        Some(Trouble::Fail) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "failed, as asked for\n").into_response();
        }
    }
    // Here a real service writes to its database, calls others, and so on.
    tracing::debug!(
        provider = delivery.provider(),
        bytes = body.len(),
        "handled"
    );

    let answer = match batch {
        Ok(items) => json!({ "events": items.iter().map(|item| item.id()).collect::<Vec<_>>() }),
        Err(_) => json!({ "event": delivery.id() }),
    };
    (StatusCode::ACCEPTED, Json(answer)).into_response()
}
