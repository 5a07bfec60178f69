//! What happens to the second copy of a delivery that is done?

use crate::rig::{Held, RETENTION, Rig, Runs, json, raw, store, text};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::IntoResponse,
    routing::{get, post},
};
use hapax::ManualClock;
use hapax_axum::{Ending, Provider, Scope, WebhookLayer};
use http::{Method, StatusCode};
use std::time::Duration;
use tower::ServiceExt;

#[tokio::test]
async fn second_delivery_is_answered_200_and_not_run() {
    let runs = Runs::default();
    let rig = Rig::new(runs.accepting());
    assert_eq!(rig.post("a").await, 202);
    let second = rig.send(json("a")).await;
    assert_eq!(second.status(), 200);
    assert_eq!(second.extensions().get(), Some(&Ending::Duplicate));
    assert_eq!(text(second).await, "");
    assert_eq!(runs.get(), 1);
    assert_eq!(rig.held("a").await, Held::Done);
    let counters = rig.counters();
    assert_eq!(
        (counters.first, counters.duplicate, counters.completed),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn first_answer_is_passed_on_untouched() {
    let rig =
        Rig::new(
            |body: Bytes| async move { ([("set-cookie", "a=1"), ("set-cookie", "b=2")], body) },
        );
    let body = "{ \"id\" : \"a\",\n \"é\": [1, 2.50, 1e3] }\n";
    let first = rig.send(raw(body)).await;
    assert_eq!(first.extensions().get(), Some(&Ending::Completed));
    assert_eq!(text(first).await, body);
}

#[tokio::test]
async fn repeated_response_headers_are_kept() {
    let rig = Rig::new(|| async {
        let headers = axum::response::AppendHeaders([("set-cookie", "a=1"), ("set-cookie", "b=2")]);
        (headers, "x").into_response()
    });
    let first = rig.send(json("a")).await;
    assert_eq!(first.headers().get_all("set-cookie").iter().count(), 2);
}

#[tokio::test]
async fn duplicate_is_known_to_the_last_moment_of_the_retention_and_not_after() {
    let runs = Runs::default();
    let rig = Rig::new(runs.accepting());
    rig.post("a").await;
    rig.clock.advance(RETENTION - Duration::from_millis(1));
    assert_eq!(rig.post("a").await, 200);
    rig.clock.advance(Duration::from_millis(10));
    assert_eq!(rig.post("a").await, 202);
    assert_eq!(runs.get(), 2);
}

#[tokio::test]
async fn a_hundred_copies_at_once_run_once() {
    let runs = Runs::default();
    let rig = Rig::new(runs.accepting());
    let copies = (0..100).map(|_| rig.app.clone().oneshot(json("a")));
    let mut statuses = Vec::new();
    for copy in copies.map(tokio::spawn).collect::<Vec<_>>() {
        statuses.push(copy.await.unwrap().unwrap().status());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1);
    assert!(
        statuses
            .iter()
            .all(|s| [202, 200, 503].contains(&s.as_u16()))
    );
    assert_eq!(runs.get(), 1);
}

#[tokio::test]
async fn equal_ids_of_two_endpoints_never_meet() {
    let runs = Runs::default();
    let store = store(&ManualClock::new());
    let layer = || {
        WebhookLayer::builder(Provider::unsigned_json(), store.clone())
            .build()
            .unwrap()
    };
    let app = Router::new()
        .route("/a", post(runs.accepting()).layer(layer()))
        .route("/b", post(runs.accepting()).layer(layer()));
    for (path, status) in [("/a", 202), ("/b", 202), ("/a", 200), ("/b", 200)] {
        let request = Request::post(path)
            .body(Body::from(r#"{"id":"x"}"#))
            .unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), status);
    }
}

/// A nested router shortens the path, and two of them then look alike: with the
/// shortened path as scope, `/b/hook` would lose what `/a/hook` had seen.
#[tokio::test]
async fn equal_ids_under_two_nested_routers_never_meet() {
    let runs = Runs::default();
    let store = store(&ManualClock::new());
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .build()
        .unwrap();
    let inner = Router::new().route("/hook", post(runs.accepting()).layer(layer));
    let app = Router::new().nest("/a", inner.clone()).nest("/b", inner);
    for (path, status) in [("/a/hook", 202), ("/b/hook", 202), ("/a/hook", 200)] {
        let request = Request::post(path)
            .body(Body::from(r#"{"id":"x"}"#))
            .unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn query_is_not_part_of_the_key() {
    let rig = Rig::new(Runs::default().accepting());
    let request = Request::post("/hook?simulate=x").body(Body::from(r#"{"id":"a"}"#));
    assert_eq!(rig.send(request.unwrap()).await.status(), 202);
    assert_eq!(rig.post("a").await, 200);
}

#[tokio::test]
async fn named_scope_joins_endpoints_and_function_scope_parts_tenants() {
    let runs = Runs::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| {
            builder.scope(Scope::function(|parts| {
                let tenant = parts.headers.get("x-tenant");
                tenant
                    .and_then(|t| t.to_str().ok())
                    .unwrap_or("none")
                    .to_owned()
            }))
        },
        runs.accepting(),
    );
    let tenant = |tenant: &str| {
        let mut request = json("a");
        request
            .headers_mut()
            .insert("x-tenant", tenant.parse().unwrap());
        request
    };
    assert_eq!(rig.send(tenant("one")).await.status(), 202);
    assert_eq!(rig.send(tenant("two")).await.status(), 202);
    assert_eq!(rig.send(tenant("one")).await.status(), 200);
    assert_eq!(rig.held_under("two", "a").await, Held::Done);

    let store = store(&ManualClock::new());
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .scope(Scope::named("orders"))
        .build()
        .unwrap();
    let app = Router::new()
        .route("/a", post(runs.accepting()).layer(layer.clone()))
        .route("/b", post(runs.accepting()).layer(layer));
    for (path, status) in [("/a", 202), ("/b", 200)] {
        let request = Request::post(path)
            .body(Body::from(r#"{"id":"x"}"#))
            .unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), status);
    }
}

#[tokio::test]
async fn answer_to_a_duplicate_can_be_replaced() {
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| {
            builder
                .on_duplicate(|delivery| (StatusCode::OK, delivery.id().to_owned()).into_response())
                .outcome_header("x-outcome")
        },
        Runs::default().accepting(),
    );
    let first = rig.send(json("a")).await;
    assert_eq!(first.headers()["x-outcome"], "completed");
    let second = rig.send(json("a")).await;
    assert_eq!(second.headers()["x-outcome"], "duplicate");
    assert_eq!(text(second).await, "a");
}

#[tokio::test]
async fn other_methods_pass_to_the_handler_undeduplicated() {
    let runs = Runs::default();
    let store = store(&ManualClock::new());
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store.clone())
        .methods([Method::POST, Method::PUT])
        .build()
        .unwrap();
    let app = Router::new().route(
        "/hook",
        get(runs.accepting())
            .put(runs.accepting())
            .layer(layer.clone()),
    );
    let request = |method| {
        let request = Request::builder().method(method).uri("/hook");
        request.body(Body::from(r#"{"id":"x"}"#)).unwrap()
    };
    for (method, status) in [
        (Method::GET, 202),
        (Method::GET, 202),
        (Method::PUT, 202),
        (Method::PUT, 200),
    ] {
        let response = app.clone().oneshot(request(method)).await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(layer.counters().passed, 2);
    assert_eq!(store.set().len(), 1);
}
