//! What happens to an array of events?

use crate::rig::{Gate, Held, PATH, Rig, Runs, raw, text};
use axum::{Json, extract::Request, http::HeaderMap};
use hapax_axum::{
    Builder, Delivery, DeliveryOutcome, Ending, IdSource, Items, MissingId, Provider, Reason,
};
use hapax_store::Key;
use http::StatusCode;
use serde_json::Value;
use tower::ServiceExt;

fn provider() -> Provider {
    Provider::custom("acme").id(IdSource::items("/id"))
}

/// Answers with the body it got.
fn echo(configure: impl FnOnce(Builder) -> Builder) -> Rig {
    Rig::with(provider(), configure, |body: String| async { body })
}

/// Fails the items it is told to, and answers `status`.
fn failing(status: StatusCode, failed: &'static [&'static str]) -> Rig {
    Rig::with(
        provider(),
        |b| b,
        move |items: Items| async move {
            for item in items.iter() {
                if failed.contains(&item.id()) {
                    item.fail();
                }
            }
            status
        },
    )
}

fn batch(ids: &[&str]) -> Request {
    let items: Vec<_> = ids.iter().map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    raw(format!("[{}]", items.join(",")))
}

#[tokio::test]
async fn whole_batch_of_new_items_arrives_byte_for_byte() {
    let rig = echo(|b| b);
    let body = "[ {\"id\": \"a\", \"n\": 1.50},\n\t{\"id\":\"b\"} ]\n";
    let first = rig.send(raw(body)).await;
    assert_eq!(first.extensions().get(), Some(&Ending::Completed));
    assert_eq!(text(first).await, body);
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.held("b").await, Held::Done);
    assert_eq!(rig.counters().completed, 2);
}

#[tokio::test]
async fn handler_sees_only_the_items_that_are_new() {
    let rig = Rig::with(
        provider(),
        |b| b,
        |headers: HeaderMap, body: String| async move {
            // The length header tells the truth about the shorter body.
            let length = headers
                .get("content-length")
                .map(|v| v.to_str().unwrap().to_owned());
            assert!(length.is_none_or(|length| length == body.len().to_string()));
            body
        },
    );
    rig.send(batch(&["b"])).await;
    let mut request = raw(r#"[{"id":"a","x": 1.0},{"id":"b"},{"id":"c"}]"#);
    request
        .headers_mut()
        .insert("content-length", "43".parse().unwrap());
    let second = rig.send(request).await;
    assert_eq!(second.status(), 200);
    assert_eq!(text(second).await, r#"[{"id":"a","x": 1.0},{"id":"c"}]"#);
    let counters = rig.counters();
    assert_eq!((counters.first, counters.duplicate), (3, 1));
}

#[tokio::test]
async fn batch_without_a_new_item_is_a_duplicate() {
    let rig = echo(|b| b);
    rig.send(batch(&["a", "b"])).await;
    let again = rig.send(batch(&["b", "a"])).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.extensions().get(), Some(&Ending::Duplicate));
}

/// An empty array was answered 200 and stood in no counter.
#[tokio::test]
async fn batch_without_an_item_is_answered_and_counted_as_empty() {
    let rig = echo(|b| b);
    let response = rig.send(raw("[]")).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.extensions().get(), Some(&Ending::Empty));
    assert_eq!(text(response).await, "");
    let counters = rig.counters();
    assert_eq!((counters.empty, counters.duplicate), (1, 0));
}

#[tokio::test]
async fn a_judge_that_panics_over_a_batch_releases_what_no_item_said() {
    let rig = Rig::with(
        provider(),
        |b| b.success(|_| panic!("the judge")),
        |items: Items| async move {
            items.iter().next().expect("an item").complete();
            StatusCode::OK
        },
    );
    assert_eq!(rig.send(batch(&["a", "b"])).await.status(), 500);
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.held("b").await, Held::Nothing);
    assert_eq!(rig.counters().panicked, 1);
}

#[tokio::test]
async fn failed_item_is_released_alone_and_the_batch_asked_for_again() {
    let rig = failing(StatusCode::ACCEPTED, &["b"]);
    let response = rig.send(batch(&["a", "b", "c"])).await;
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.held("b").await, Held::Nothing);
    assert_eq!(rig.held("c").await, Held::Done);
    let counters = rig.counters();
    assert_eq!((counters.completed, counters.released), (2, 1));
}

#[tokio::test]
async fn failing_handler_releases_all_but_what_it_completed() {
    let rig = Rig::with(
        provider(),
        |b| b,
        |items: Items| async move {
            assert_eq!(items.len(), 3);
            items.iter().next().unwrap().complete();
            StatusCode::BAD_GATEWAY
        },
    );
    assert_eq!(rig.send(batch(&["a", "b", "c"])).await.status(), 502);
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.held("b").await, Held::Nothing);
    assert_eq!(rig.held("c").await, Held::Nothing);
}

#[tokio::test]
async fn panicking_handler_releases_all() {
    let rig = Rig::with(
        provider(),
        |b| b,
        |_: Items| async {
            if true {
                panic!("boom");
            }
        },
    );
    assert_eq!(rig.send(batch(&["a", "b"])).await.status(), 500);
    assert_eq!(rig.held("a").await, Held::Nothing);
    assert_eq!(rig.held("b").await, Held::Nothing);
    assert_eq!(rig.counters().released, 2);
}

/// A 2xx for a batch with an item in flight would make the sender stop, and if the
/// other run then failed, that item would be lost.
#[tokio::test]
async fn item_in_flight_elsewhere_makes_the_answer_503() {
    let (gate, runs) = (Gate::default(), Runs::default());
    let rig = Rig::with(provider(), |b| b, {
        let gate = gate.clone();
        move || {
            let (gate, run) = (gate.clone(), runs.add());
            async move {
                if run == 1 {
                    gate.pass().await;
                }
                StatusCode::ACCEPTED
            }
        }
    });
    let first = tokio::spawn(rig.app.clone().oneshot(batch(&["a", "b"])));
    gate.entered().await;
    let overlapping = rig.send(batch(&["b", "c"])).await;
    assert_eq!(overlapping.status(), 503);
    assert_eq!(overlapping.extensions().get(), Some(&Ending::InFlight));
    assert_eq!(rig.held("c").await, Held::Done);
    let copy = rig.send(batch(&["a", "b"])).await;
    assert_eq!(copy.status(), 503);
    // The lease of 65 s and the clock's resolution, rounded up.
    assert_eq!(copy.headers()["retry-after"], "66");
    gate.open();
    assert_eq!(first.await.unwrap().unwrap().status(), 202);
    assert_eq!(rig.send(batch(&["b", "c"])).await.status(), 200);
}

#[tokio::test]
async fn id_that_stands_twice_in_one_batch_is_seen_once() {
    let rig = echo(|b| b);
    let response = rig.send(batch(&["a", "a", "b"])).await;
    assert_eq!(response.status(), 200);
    assert_eq!(text(response).await, r#"[{"id":"a"},{"id":"b"}]"#);
    let counters = rig.counters();
    assert_eq!((counters.first, counters.duplicate), (2, 1));
}

#[tokio::test]
async fn bad_batches_are_refused_whole_and_claim_nothing() {
    let rig = echo(|b| b.batch_limit(3));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for (body, status, reason) in [
        ("", 400, Reason::NotJson),
        ("[", 400, Reason::NotJson),
        (r#"[{"id":"a"}] x"#, 400, Reason::NotJson),
        (r#"[{"id":"a"},{"id":}]"#, 400, Reason::NotJson),
        (r#"{"id":"a"}"#, 400, Reason::NotArray),
        ("null", 400, Reason::NotArray),
        (r#"[{"id":"a"},{}]"#, 400, Reason::IdMissing),
        (r#"[{"id":"a"},{"id":7}]"#, 400, Reason::IdNotText),
        (r#"[{"id":"a"},{"id":""}]"#, 400, Reason::IdEmpty),
        (
            r#"[{"id":"a"},{"id":"b","id":"c"}]"#,
            400,
            Reason::IdRepeated,
        ),
        (r#"[{"id":"a"},7]"#, 400, Reason::IdMissing),
        (&deep, 400, Reason::IdMissing),
        (
            r#"[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]"#,
            413,
            Reason::BatchTooLarge,
        ),
    ] {
        let response = rig.send(raw(body.to_owned())).await;
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(
            response.extensions().get(),
            Some(&Ending::Rejected(reason)),
            "{body}"
        );
    }
    let not_utf8 = rig.send(raw(&b"[{\"id\":\"\xff\"}]"[..])).await;
    assert_eq!(not_utf8.status(), 400);
    assert!(rig.store.set().is_empty());
}

#[tokio::test]
async fn items_without_an_id_may_pass_or_be_hashed() {
    let rig = echo(|b| b.missing_id(MissingId::PassThrough));
    for _ in 0..2 {
        let response = rig.send(raw(r#"[{"id":"a"},{"x":1}]"#)).await;
        let body = text(response).await;
        assert!(body.contains(r#"{"x":1}"#), "{body}");
    }
    assert_eq!(rig.counters().unchecked, 2);

    let rig = echo(|b| b.missing_id(MissingId::BodyHash));
    assert_eq!(rig.send(raw(r#"[{"x":1},{"x":2}]"#)).await.status(), 200);
    let again = rig.send(raw(r#"[{"x":2}, {"x":1}]"#)).await;
    assert_eq!(again.extensions().get(), Some(&Ending::Duplicate));
}

#[tokio::test]
async fn delivery_of_a_batch_says_so() {
    let rig = Rig::with(
        provider(),
        |b| b,
        |delivery: Delivery, items: Items, Json(body): Json<Vec<Value>>| async move {
            assert_eq!(delivery.outcome(), DeliveryOutcome::Batch);
            assert_eq!(items.len(), body.len());
            for (item, value) in items.iter().zip(&body) {
                assert_eq!(item.id(), value["id"]);
                assert_eq!(
                    serde_json::from_slice::<Value>(item.body()).unwrap(),
                    *value
                );
            }
        },
    );
    let mut request = batch(&["a", "b"]);
    request
        .headers_mut()
        .insert("content-type", "application/json".parse().unwrap());
    assert_eq!(rig.send(request).await.status(), 200);
}

#[tokio::test]
async fn cloud_events_are_told_apart_by_id_and_source_in_every_mode() {
    let rig = Rig::with(
        Provider::unsigned_cloudevents(),
        |b| b,
        |body: String| async { body },
    );
    let send = async |kind: &str, body: &str, headers: &[(&'static str, &str)]| {
        let mut request = raw(body.to_owned());
        request
            .headers_mut()
            .insert("content-type", kind.parse().unwrap());
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        rig.send(request).await
    };
    let binary = send(
        "text/plain",
        "x",
        &[("ce-id", "1"), ("ce-source", "/a%20b")],
    )
    .await;
    assert_eq!(binary.extensions().get(), Some(&Ending::Completed));
    // The same event in another mode is the same event.
    let structured = r#"{"id":"1","source":"/a b"}"#;
    let same = send("application/cloudevents+json", structured, &[]).await;
    assert_eq!(same.extensions().get(), Some(&Ending::Duplicate));
    let batch = r#"[{"id":"1","source":"/a b"},{"id":"1","source":"/c"}]"#;
    let some = send(
        "Application/CloudEvents-Batch+JSON; charset=UTF-8",
        batch,
        &[],
    )
    .await;
    assert_eq!(text(some).await, r#"[{"id":"1","source":"/c"}]"#);
    let key = Key::from_parts(PATH, &["1", "/c"]);
    assert_eq!(rig.held_key(&key).await, Held::Done);
    let missing = send("text/plain", "x", &[("ce-id", "1")]).await;
    assert_eq!(missing.status(), 400);
}
