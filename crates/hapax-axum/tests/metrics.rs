//! What is counted through the `metrics` facade?
#![cfg(feature = "metrics")]

use axum::{Router, body::Body, extract::Request, routing::post};
use hapax_axum::{Builder, IdSource, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use http::StatusCode;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{collections::BTreeMap, time::Duration};
use tower::ServiceExt;

/// Runs requests under a recorder of their own and returns every series as text.
fn recorded(bodies: &[&'static str]) -> BTreeMap<String, String> {
    recorded_of(Provider::unsigned_json(), |builder| builder, bodies)
}

fn recorded_of(
    provider: Provider,
    configure: fn(Builder) -> Builder,
    bodies: &[&'static str],
) -> BTreeMap<String, String> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    metrics::with_local_recorder(&recorder, || {
        runtime.expect("a runtime").block_on(async {
            let store = MemoryStore::new(Duration::from_secs(96 * 3600));
            let layer = configure(WebhookLayer::builder(provider, store))
                .build()
                .expect("a good configuration");
            let handler = |body: String| async move {
                if body.contains("fail") {
                    StatusCode::BAD_GATEWAY
                } else {
                    StatusCode::ACCEPTED
                }
            };
            let app = Router::new().route("/", post(handler).layer(layer));
            for body in bodies {
                let request = Request::post("/")
                    .body(Body::from(*body))
                    .expect("a request");
                app.clone().oneshot(request).await.expect("infallible");
            }
        });
    });
    let series = snapshotter.snapshot().into_vec().into_iter();
    series
        .map(|(key, _, _, value)| {
            let labels = key
                .key()
                .labels()
                .map(|l| format!("{}={}", l.key(), l.value()));
            let labels = labels.collect::<Vec<_>>().join(",");
            let value = match value {
                DebugValue::Counter(n) => n.to_string(),
                DebugValue::Gauge(x) => x.to_string(),
                DebugValue::Histogram(xs) => format!("{} times", xs.len()),
            };
            (format!("{}{{{labels}}}", key.key().name()), value)
        })
        .collect()
}

#[test]
fn deliveries_are_counted_by_provider_outcome_and_reason() {
    let series = recorded(&[
        r#"{"id":"a"}"#,
        r#"{"id":"a"}"#,
        r#"{"id":"b","x":"fail"}"#,
        "no json",
    ]);
    let total = |outcome: &str, reason: &str| {
        let name = "hapax_deliveries_total";
        let labels = format!("provider=unsigned-json,outcome={outcome},reason={reason}");
        series
            .get(&format!("{name}{{{labels}}}"))
            .map(String::as_str)
    };
    assert_eq!(total("completed", ""), Some("1"));
    assert_eq!(total("duplicate", ""), Some("1"));
    assert_eq!(total("released", ""), Some("1"));
    assert_eq!(total("rejected", "body is not JSON"), Some("1"));
}

#[test]
fn every_ending_is_counted() {
    let name = |provider, outcome, reason| {
        format!("hapax_deliveries_total{{provider={provider},outcome={outcome},reason={reason}}}")
    };
    let acme = Provider::custom("acme").id(IdSource::items("/id"));
    let series = recorded_of(acme, |builder| builder, &["[]"]);
    assert_eq!(series[&name("acme", "empty", "")], "1");

    let acme = || Provider::custom("acme").id(IdSource::pointer("/id"));
    let judged = |builder: Builder| builder.success(|_| panic!("the judge"));
    let series = recorded_of(acme(), judged, &[r#"{"id":"a"}"#]);
    assert_eq!(series[&name("acme", "released", "")], "1");

    let fallen = Provider::custom("acme").id(IdSource::function(|_, _| panic!("the id")));
    let series = recorded_of(fallen, |builder| builder, &["{}"]);
    assert_eq!(series[&name("acme", "rejected", "a check panicked")], "1");
}

#[test]
fn handlers_are_timed_and_the_gauge_comes_back_to_zero() {
    let series = recorded(&[r#"{"id":"a"}"#, r#"{"id":"a"}"#, r#"{"id":"b"}"#]);
    let of = |name: &str| &*series[&format!("{name}{{provider=unsigned-json}}")];
    assert_eq!(of("hapax_handlers_running"), "0");
    assert_eq!(of("hapax_handler_seconds"), "2 times");
}
