//! What operators ask: `/stats`, `/healthz`, and `/try` for the curious.

use crate::{Service, curl};
use axum::{Json, extract::State};
use hapax_axum::Counters;
use serde_json::{Value, json};
use std::sync::Arc;

/// Sums the layers' counters.
///
/// `first` counts claims that were won: an event that failed and ran again counts again.
/// All is of this process alone. `live`, the ids remembered, is null with a server.
pub(crate) async fn stats(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(totals(&service))
}

pub(crate) fn totals(service: &Service) -> Value {
    let mut sum = Counters::default();
    for open in &service.open {
        sum += &open.layer.counters();
    }
    let mut totals = json!({
        "first": sum.first,
        "duplicate": sum.duplicate,
        "in_flight": sum.in_flight,
        "released": sum.released,
        "rejected": sum.rejected.total(),
        "live": service.store.live(),
    });
    if let Some(front) = service.store.front() {
        totals["duplicate_answered_here"] = front.answered_here.into();
        totals["duplicate_answered_by_server"] = front.answered_there.into();
    }
    totals
}

/// Tells that the service runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Hands out fresh lines for the endpoints with demo secrets.
pub(crate) async fn lines(State(service): State<Arc<Service>>) -> String {
    curl::fresh(&service.open, &service.base, &service.settings.public_url)
}
