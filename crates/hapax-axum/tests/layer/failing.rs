//! What does a handler leave behind that does not succeed?

use crate::rig::{Held, Rig, Runs, json};
use axum::{Extension, response::IntoResponse};
use hapax_axum::{Ending, Provider, Verdict, WebhookLayer};
use http::StatusCode;
use std::convert::Infallible;
use tower::{Layer, ServiceExt, service_fn};

/// A handler that answers `status` at its first run and 202 later.
fn failing_once(status: u16) -> Rig {
    let runs = Runs::default();
    Rig::new(move || {
        let run = runs.add();
        async move {
            match run {
                1 => StatusCode::from_u16(status).unwrap(),
                _ => StatusCode::ACCEPTED,
            }
        }
    })
}

#[tokio::test]
async fn every_2xx_completes() {
    for status in [200, 201, 202, 204, 299] {
        let rig = failing_once(status);
        assert_eq!(rig.post("a").await, status);
        assert_eq!(rig.held("a").await, Held::Done, "{status}");
        assert_eq!(rig.post("a").await, 200);
    }
}

#[tokio::test]
async fn anything_else_releases_and_the_retry_runs() {
    for status in [301, 304, 400, 404, 409, 422, 429, 500, 502, 503] {
        let rig = failing_once(status);
        let response = rig.send(json("a")).await;
        assert_eq!(response.status(), status);
        assert_eq!(response.extensions().get(), Some(&Ending::Released));
        assert_eq!(rig.held("a").await, Held::Nothing, "{status}");
        assert_eq!(rig.post("a").await, 202);
        assert_eq!(rig.held("a").await, Held::Done);
        let counters = rig.counters();
        assert_eq!((counters.released, counters.completed), (1, 1));
    }
}

#[tokio::test]
async fn verdict_in_the_response_wins() {
    let rig = Rig::with(
        Provider::unsigned_json(),
        // A classifier that says the opposite, to be overruled.
        |builder| builder.success(|_| Verdict::Release),
        || async {
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                Extension(Verdict::Complete),
            )
        },
    );
    assert_eq!(rig.post("a").await, 422);
    assert_eq!(rig.held("a").await, Held::Done);

    let rig = Rig::new(|| async { (StatusCode::OK, Extension(Verdict::Release)).into_response() });
    assert_eq!(rig.post("a").await, 200);
    assert_eq!(rig.held("a").await, Held::Nothing);
}

#[tokio::test]
async fn classifier_is_replaceable() {
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| {
            builder.success(|parts| match parts.status {
                StatusCode::UNPROCESSABLE_ENTITY => Verdict::Complete,
                status => Verdict::by_status(status),
            })
        },
        || async { StatusCode::UNPROCESSABLE_ENTITY },
    );
    assert_eq!(rig.post("a").await, 422);
    assert_eq!(rig.post("a").await, 200);
}

#[tokio::test]
async fn error_of_the_inner_service_is_passed_on_and_releases() {
    let rig = Rig::new(|| async {});
    let service = rig
        .layer
        .layer(service_fn(|_: axum::extract::Request| async {
            Err::<axum::response::Response, &str>("no")
        }));
    assert_eq!(service.oneshot(json("a")).await.unwrap_err(), "no");
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.counters().released, 1);
}

#[tokio::test]
async fn error_type_is_the_inner_services() {
    fn same<S, T>(_: &T)
    where
        S: tower::Service<axum::extract::Request>,
        T: tower::Service<axum::extract::Request, Error = S::Error>,
    {
    }
    async fn inner(_: axum::extract::Request) -> Result<axum::response::Response, Infallible> {
        Ok(().into_response())
    }
    let rig = Rig::new(|| async {});
    fn check<S>(layer: &WebhookLayer, inner: S)
    where
        S: tower::Service<axum::extract::Request, Response = axum::response::Response>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        S::Error: Send,
    {
        same::<S, _>(&layer.layer(inner));
    }
    check(&rig.layer, service_fn(inner));
}
