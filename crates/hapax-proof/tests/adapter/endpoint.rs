//! One endpoint behind the layer: its handler, its senders, its runtime.
//!
//! Senders are shuttle's threads and poll the layer's futures themselves; whatever the
//! layer spawns runs in tokio's runtime, which one more thread turns. So the steps of
//! all of them, down to each atomic operation of the set, are interleaved by shuttle.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    panic::resume_unwind,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    response::Response,
};
use hapax_axum::{
    BuildError, ClaimHandle, Ending, HangUp, IdSource, InFlight, Items, LeasePolicy, Provider,
    Scope, WebhookLayer,
};
use hapax_proof::{history::Settled, record::Moving};
use hapax_store::{ClaimStore, SettleError};
use http::StatusCode;
use shuttle::{future::block_on, thread};
use tokio::{runtime::Runtime, task::yield_now};
use tower::{ServiceExt, service_fn};
use tower_layer::Layer;

use crate::{
    plan::{End, Later, Plan},
    trace::{Ended, Moment, Trace, World, release, token},
};

/// After so many turns without a planned move, time passes by itself.
const IDLE_TURNS: u8 = 40;

pub(crate) const SCOPE: &str = "adapter";

pub(crate) fn id(n: usize) -> String {
    n.to_string()
}

fn number(id: &str) -> usize {
    id.parse().expect("ids are numbers")
}

/// Builds the layer of a plan.
pub(crate) fn layer(plan: &Plan, store: impl ClaimStore) -> Result<WebhookLayer, BuildError> {
    let ms = Duration::from_millis;
    let in_flight = plan
        .wait_ms
        .map_or(InFlight::Unavailable, |wait| InFlight::Wait(ms(wait)));
    let hang_up = if plan.cancels {
        HangUp::Cancel
    } else {
        HangUp::Finish
    };
    let provider = match plan.batches {
        true => Provider::custom("batches").id(IdSource::items("/id")),
        false => Provider::unsigned_json(),
    };
    WebhookLayer::builder(provider, store)
        .scope(Scope::named(SCOPE))
        .lease(LeasePolicy::Fixed(ms(plan.lease_ms)))
        .handler_limit(ms(plan.limit_ms))
        .in_flight(in_flight)
        .hang_up(hang_up)
        .allow_short_retention()
        .build()
}

/// Sends one request and waits for its answer, or hangs up.
pub(crate) fn send(
    layer: &WebhookLayer,
    world: &Arc<World>,
    trace: &Arc<Trace>,
) -> Option<(Ending, Moment)> {
    let handler = {
        let (world, trace) = (Arc::clone(world), Arc::clone(trace));
        service_fn(move |request| handle(Arc::clone(&world), Arc::clone(&trace), request))
    };
    let items: Vec<_> = trace
        .sent
        .ids
        .iter()
        .map(|&n| format!(r#"{{"id":"{}"}}"#, id(n)))
        .collect();
    let body = match world.plan.batches {
        true => format!("[{}]", items.join(",")),
        false => items.concat(),
    };
    let request = Request::post("/")
        .body(Body::from(body))
        .expect("a good request");
    let mut patience = trace.sent.patience;
    let response = block_on(async {
        let mut answer = pin!(layer.layer(handler).oneshot(request));
        poll_fn(|cx| match (answer.as_mut().poll(cx), &mut patience) {
            (Poll::Ready(Ok(response)), _) => Poll::Ready(Some(response)),
            (Poll::Ready(Err(never)), _) => match never {},
            (Poll::Pending, Some(0)) => Poll::Ready(None),
            (Poll::Pending, patience) => {
                *patience = patience.map(|left| left - 1);
                Poll::Pending
            }
        })
        .await
    })?;
    let ending = *response
        .extensions()
        .get()
        .expect("every answer tells its ending");
    Some((ending, world.now()))
}

/// Tells when the handler's future is dropped.
struct Running(Arc<World>, Arc<Trace>);

impl Drop for Running {
    fn drop(&mut self) {
        self.1.end(|| self.0.now(), Ended::Dropped);
    }
}

async fn handle(
    world: Arc<World>,
    trace: Arc<Trace>,
    request: Request,
) -> Result<Response, Infallible> {
    let mut parts = request.into_parts().0;
    let items = match world.plan.batches {
        true => Some(
            Items::from_request_parts(&mut parts, &())
                .await
                .expect("items"),
        ),
        false => None,
    };
    let with = match &items {
        Some(items) => items.iter().map(|item| number(item.id())).collect(),
        None => trace.sent.ids.to_vec(),
    };
    trace.start(world.now(), with);
    let running = Running(Arc::clone(&world), Arc::clone(&trace));
    for _ in 0..trace.sent.pauses {
        yield_now().await;
    }
    let end = trace.sent.end;
    match end {
        End::Accepts | End::Fails | End::Panics => {}
        End::Never => std::future::pending().await,
        End::FailsOne => items
            .iter()
            .flat_map(Items::iter)
            .take(1)
            .for_each(|item| item.fail()),
        End::HandsOver(later) => {
            let claim = ClaimHandle::from_request_parts(&mut parts, &()).await;
            let claim = claim.expect("the claim is there");
            tokio::spawn(settle_later(
                Arc::clone(&world),
                Arc::clone(&trace),
                claim,
                later,
            ));
        }
    }
    trace.end(|| world.now(), Ended::As(end));
    drop(running);
    let status = match end {
        End::Fails => StatusCode::INTERNAL_SERVER_ERROR,
        // Unwinds without a report.
        End::Panics => resume_unwind(Box::new("a handler's panic")),
        _ => StatusCode::ACCEPTED,
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    Ok(response)
}

/// Settles a claim that was handed over.
async fn settle_later(world: Arc<World>, trace: Arc<Trace>, mut claim: ClaimHandle, later: Later) {
    let (id, thread) = (trace.sent.ids[0], trace.name);
    let name = token(thread, id);
    yield_now().await;
    if later == Later::ExtendsAndCompletes {
        let from = world.now();
        let extended = claim
            .extend(Duration::from_millis(world.plan.lease_ms))
            .await;
        let event = world.extend(name, settled(extended));
        world.note(id, thread, from, world.now(), event);
        yield_now().await;
    }
    let from = world.now();
    let event = match later {
        Later::Completes | Later::ExtendsAndCompletes => {
            let done = settled(claim.complete().await);
            world.complete(name, Some(done))
        }
        Later::Releases => {
            claim.release().await.expect("memory answers");
            release(name)
        }
        Later::Drops => {
            drop(claim);
            release(name)
        }
    };
    world.note(id, thread, from, world.now(), event);
}

fn settled(done: Result<(), SettleError>) -> Settled {
    match done {
        Ok(()) => Settled::Done,
        Err(SettleError::Lost) => Settled::Lost,
        Err(error) => panic!("memory answers, and not so: {error}"),
    }
}

/// Turns the runtime and moves both clocks, until all is over.
pub(crate) fn turn(runtime: &Runtime, world: &World, is_over: &AtomicBool) {
    let mut moves = world.plan.moves.iter();
    let mut next = moves.next();
    let mut turns = 0;
    // Relaxed: one thread at a time runs.
    while !is_over.load(Ordering::Relaxed) {
        runtime.block_on(yield_now());
        thread::yield_now();
        turns += 1;
        let (due, by_ms) = next.map_or((IDLE_TURNS, world.plan.limit_ms), |m| (m.turns, m.by_ms));
        if turns > due {
            turns = 0;
            next = moves.next();
            world.clock.move_on(by_ms);
            runtime.block_on(tokio::time::advance(Duration::from_millis(by_ms)));
        }
    }
}
