//! The service under the storm: the endpoints and layers of the real one, and a handler
//! that does as the request orders.

use super::ledger::{Arrival, Event, Ledger};
use crate::endpoints::{ENDPOINTS, Settings};
use anyhow::Context;
use axum::{
    Extension, Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::future::join_all;
use hapax_axum::{Builder, Counters, Delivery, Items, LeasePolicy, MissingLayer, WebhookLayer};
use hapax_store::AnyStore;
use serde_json::json;
use std::{fmt, str::FromStr, sync::Arc, time::Duration};

/// The header with the order. Not signed: the order is about this one attempt.
pub(crate) const ORDER: &str = "x-storm-order";

/// Where handlers outlast their lease. GitHub's, with a lease that is never extended.
pub(crate) const SHORT_LEASE: &str = "/short-lease";

/// What a handler is to do: take so long, and then end so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) take_ms: u64,
    pub(crate) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Fail,
    Panic,
}

/// What the service is built on.
pub(crate) struct Ground {
    pub(crate) settings: Settings,
    /// The fixed lease of the endpoint whose handlers outlast it.
    pub(crate) short_lease: Duration,
    pub(crate) store: AnyStore,
    /// Changes the layers before they are built; a test plants its bugs here.
    pub(crate) tweak: fn(Builder) -> Builder,
}

/// The endpoints, ready to be served.
pub(crate) struct Target {
    layers: Vec<(&'static str, Duration, WebhookLayer)>,
    ledger: Arc<Ledger>,
}

impl Target {
    /// Sets up an endpoint for every sender, and the one with the short lease.
    pub(crate) fn build(ground: &Ground, ledger: &Arc<Ledger>) -> anyhow::Result<Self> {
        let settings = &ground.settings;
        let mut layers = Vec::new();
        for endpoint in ENDPOINTS {
            let secrets = endpoint.demo_secrets();
            let builder = endpoint.builder(&secrets, ground.store.clone(), settings);
            let layer = (ground.tweak)(builder)
                .build()
                .with_context(|| format!("cannot set up {}", endpoint.path))?;
            layers.push((endpoint.path, settings.lease, layer));
        }
        let github = &ENDPOINTS[0];
        let builder = github
            .builder(&github.demo_secrets(), ground.store.clone(), settings)
            .lease(LeasePolicy::Fixed(ground.short_lease));
        layers.push((
            SHORT_LEASE,
            ground.short_lease,
            (ground.tweak)(builder).build()?,
        ));
        Ok(Self {
            layers,
            ledger: Arc::clone(ledger),
        })
    }

    pub(crate) fn router(&self) -> Router {
        let mut app = Router::new();
        for (path, lease, layer) in &self.layers {
            let stage = Stage {
                path,
                lease: *lease,
                ledger: Arc::clone(&self.ledger),
            };
            let handler = post(perform).layer(layer.clone()).with_state(stage);
            app = app.route(path, handler);
        }
        let ledger = Arc::clone(&self.ledger);
        app.layer(middleware::from_fn_with_state(ledger, stamp))
    }

    /// Waits for the handlers; returns how many had to be cut off.
    pub(crate) async fn drain(&self, deadline: Duration) -> usize {
        let drains = self
            .layers
            .iter()
            .map(|(_, _, layer)| layer.drain(deadline));
        join_all(drains)
            .await
            .iter()
            .map(|drained| drained.stopped)
            .sum()
    }

    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for (_, _, layer) in &self.layers {
            sum += &layer.counters();
        }
        sum
    }
}

/// What the handler of one endpoint knows.
#[derive(Debug, Clone)]
struct Stage {
    path: &'static str,
    lease: Duration,
    ledger: Arc<Ledger>,
}

/// Follows the order, and writes down what it did.
async fn perform(
    State(stage): State<Stage>,
    delivery: Delivery,
    batch: Result<Items, MissingLayer>,
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
) -> Response {
    let order = headers.get(ORDER).and_then(|order| order.to_str().ok());
    let Some(order) = order.and_then(|order| order.parse::<Order>().ok()) else {
        return StatusCode::NOT_IMPLEMENTED.into_response();
    };
    // The storm's batches have one item.
    let item = batch.as_ref().ok().and_then(|items| items.iter().next());
    let id = item.map_or(delivery.id(), |item| item.id());
    let running = stage
        .ledger
        .start(event(stage.path, id), &arrival, stage.lease);
    if order.take_ms > 0 {
        tokio::time::sleep(Duration::from_millis(order.take_ms)).await;
    }
    match order.end {
        End::Complete => {
            running.complete();
            (StatusCode::ACCEPTED, Json(json!({ "event": id }))).into_response()
        }
        End::Fail => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        // Unwinds as a panic does, without a message for each of thousands.
        End::Panic => std::panic::resume_unwind(Box::new("as ordered")),
    }
}

/// Stamps requests on their way into the layer and answers on their way out.
async fn stamp(State(ledger): State<Arc<Ledger>>, mut request: Request, next: Next) -> Response {
    let arrival = Ledger::arrive();
    request.extensions_mut().insert(arrival.clone());
    let response = next.run(request).await;
    ledger.answer(&arrival);
    response
}

/// Names an event by its endpoint and id.
pub(crate) fn event(path: &str, id: &str) -> Event {
    Event::from(format!("{path} {id}"))
}

impl Order {
    /// Completes at once.
    pub(crate) const COMPLETE: Self = Self {
        take_ms: 0,
        end: End::Complete,
    };
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.end {
            End::Complete => "complete",
            End::Fail => "fail",
            End::Panic => "panic",
        };
        write!(f, "{} {end}", self.take_ms)
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (take_ms, end) = text.split_once(' ').ok_or(())?;
        Ok(Self {
            take_ms: take_ms.parse().map_err(drop)?,
            end: match end {
                "complete" => End::Complete,
                "fail" => End::Fail,
                "panic" => End::Panic,
                _ => return Err(()),
            },
        })
    }
}
