//! Which ids are taken, and from where?

use crate::rig::{Held, PATH, Rig, Runs, json, raw};
use axum::extract::Request;
use hapax_axum::{Builder, IdPart, IdSource, MissingId, Provider, Reason};
use hapax_store::Key;
use http::HeaderValue;
use sha2::{Digest, Sha256};

fn rig(id: IdSource) -> Rig {
    Rig::with(
        Provider::custom("acme").id(id),
        |builder| builder,
        Runs::default().accepting(),
    )
}

fn with_header(values: &[&[u8]]) -> Request {
    let mut request = raw("{}");
    for value in values {
        let value = HeaderValue::from_bytes(value).expect("a header value");
        request.headers_mut().append("x-id", value);
    }
    request
}

/// Sends and returns the reason, if it was refused with 400.
async fn refusal(rig: &Rig, request: Request) -> Option<Reason> {
    let before = rig.counters().rejected;
    let status = rig.send(request).await.status();
    let after = rig.counters().rejected;
    let reason = before
        .iter()
        .zip(after.iter())
        .find(|(before, after)| before != after)
        .map(|(_, (reason, _))| reason);
    assert_eq!(status, if reason.is_some() { 400 } else { 202 });
    reason
}

#[tokio::test]
async fn bad_header_ids_are_400_and_claim_nothing() {
    let rig = rig(IdSource::header("x-id"));
    let long = [b'x'; 256];
    for (values, reason) in [
        (&[][..], Reason::IdMissing),
        (&[b"".as_slice()], Reason::IdEmpty),
        (&[b"  ".as_slice()], Reason::IdEmpty),
        (&[long.as_slice()], Reason::IdTooLong),
        (&[b"a\tb".as_slice()], Reason::IdUnprintable),
        (&[b"\xff\xfe".as_slice()], Reason::IdUnprintable),
        (&[b"a".as_slice(), b"b"], Reason::IdRepeated),
        (&[b"a".as_slice(), b"a"], Reason::IdRepeated),
    ] {
        assert_eq!(refusal(&rig, with_header(values)).await, Some(reason));
    }
    assert!(rig.store.set().is_empty());
}

#[tokio::test]
async fn ids_of_one_and_of_255_bytes_are_taken_as_they_are() {
    let rig = rig(IdSource::header("x-id"));
    let long = "x".repeat(255);
    for id in ["a", &long, "\"quoted\"", "with space", "æ"] {
        assert_eq!(refusal(&rig, with_header(&[id.as_bytes()])).await, None);
        assert_eq!(rig.held(id).await, Held::Done);
    }
}

#[tokio::test]
async fn bad_body_ids_are_400_and_claim_nothing() {
    let rig = Rig::new(Runs::default().accepting());
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(256));
    for (body, reason) in [
        ("", Reason::NotJson),
        ("not json", Reason::NotJson),
        (r#"{"id":"a"} trailing"#, Reason::NotJson),
        (r#"{"id":"a""#, Reason::NotJson),
        (r#"{"id":"a",}"#, Reason::NotJson),
        (r#"{"id":"a","x":01}"#, Reason::NotJson),
        ("{\"id\":\"\u{1}\"}", Reason::NotJson),
        ("{}", Reason::IdMissing),
        ("[]", Reason::IdMissing),
        ("7", Reason::IdMissing),
        (r#""id""#, Reason::IdMissing),
        (r#"{"ID":"a"}"#, Reason::IdMissing),
        (r#"{"x":{"id":"a"}}"#, Reason::IdMissing),
        (r#"{"id":null}"#, Reason::IdNotText),
        (r#"{"id":7}"#, Reason::IdNotText),
        (r#"{"id":-7}"#, Reason::IdNotText),
        (r#"{"id":1e400}"#, Reason::NotJson),
        (r#"{"id":true}"#, Reason::IdNotText),
        (r#"{"id":["a"]}"#, Reason::IdNotText),
        (r#"{"id":{"a":"b"}}"#, Reason::IdNotText),
        (r#"{"id":""}"#, Reason::IdEmpty),
        (r#"{"id":" "}"#, Reason::IdEmpty),
        (r#"{"id":"a\u0000b"}"#, Reason::IdUnprintable),
        (r#"{"id":"a\nb"}"#, Reason::IdUnprintable),
        (r#"{"id":"a","id":"a"}"#, Reason::IdRepeated),
        (r#"{"id":"a","x":1,"id":"b"}"#, Reason::IdRepeated),
        (r#"{"id":"a","\u0069d":"b"}"#, Reason::IdRepeated),
        (&long, Reason::IdTooLong),
    ] {
        assert_eq!(
            refusal(&rig, raw(body.to_owned())).await,
            Some(reason),
            "{body}"
        );
    }
    assert_eq!(
        refusal(&rig, raw(&b"{\"id\":\"\xff\"}"[..])).await,
        Some(Reason::NotJson)
    );
    assert!(rig.store.set().is_empty());
}

#[tokio::test]
async fn escaped_and_plain_spelling_are_one_id() {
    let rig = Rig::new(Runs::default().accepting());
    assert_eq!(rig.send(raw(r#"{"id":"\u0061/b"}"#)).await.status(), 202);
    assert_eq!(rig.send(raw(r#"{"id":"a\/b"}"#)).await.status(), 200);
    assert_eq!(rig.send(raw(r#"{"\u0069d":"a/b"}"#)).await.status(), 200);
}

#[tokio::test]
async fn pointers_walk_objects_arrays_and_escapes() {
    let rig = rig(IdSource::pointer("/a~1b/1/m~0n/"));
    let body = |index: &str| format!(r#"{{"a/b":[{{}},{index}{{"m~n":{{"":"deep"}}}}]}}"#);
    assert_eq!(refusal(&rig, raw(body(""))).await, None);
    assert_eq!(rig.held("deep").await, Held::Done);
    assert_eq!(
        refusal(&rig, raw(body("0,"))).await,
        Some(Reason::IdMissing)
    );
}

#[tokio::test]
async fn duplicate_keys_off_the_path_are_the_handlers_business() {
    let rig = Rig::new(Runs::default().accepting());
    let body = r#"{"x":1,"x":2,"id":"a","y":{"id":"b","id":"c"}}"#;
    assert_eq!(rig.send(raw(body)).await.status(), 202);
}

#[tokio::test]
async fn composed_ids_differ_if_any_part_or_its_border_differs() {
    let rig = rig(IdSource::parts([
        IdPart::Pointer("/id".into()),
        IdPart::Pointer("/source".into()),
    ]));
    let body = |id: &str, source: &str| raw(format!(r#"{{"source":"{source}","id":"{id}"}}"#));
    assert_eq!(rig.send(body("1", "a")).await.status(), 202);
    assert_eq!(rig.send(body("1", "b")).await.status(), 202);
    assert_eq!(rig.send(body("1a", "b")).await.status(), 202);
    assert_eq!(rig.send(body("1", "ab")).await.status(), 202);
    assert_eq!(rig.send(body("1", "a")).await.status(), 200);
    assert_eq!(rig.send(raw(r#"{"id":"1"}"#)).await.status(), 400);
}

/// GitHub's id header is not signed. Bound to the body, the id of one event cannot be
/// used up with the body of another.
#[tokio::test]
async fn bound_id_is_another_id_with_another_body() {
    let provider = Provider::custom("acme").id(IdSource::header("x-id"));
    let rig = Rig::with(provider, Builder::bind_body, Runs::default().accepting());
    let request = |body: &'static str| {
        let mut request = raw(body);
        request
            .headers_mut()
            .insert("x-id", HeaderValue::from_static("1"));
        request
    };
    assert_eq!(rig.send(request("{}")).await.status(), 202);
    assert_eq!(rig.send(request("{ }")).await.status(), 202);
    assert_eq!(rig.send(request("{}")).await.status(), 200);
}

#[tokio::test]
async fn function_finds_ids_and_refuses_with_its_reason() {
    let rig = rig(IdSource::function(|parts, body| {
        let kind = parts.headers.get("x-kind").ok_or(Reason::IdMissing)?;
        let kind = kind.to_str().map_err(|_| Reason::IdUnprintable)?;
        Ok(format!("{kind}:{}", body.len()))
    }));
    assert_eq!(refusal(&rig, raw("{}")).await, Some(Reason::IdMissing));
    let mut request = raw("{}");
    request
        .headers_mut()
        .insert("x-kind", HeaderValue::from_static("k"));
    assert_eq!(refusal(&rig, request).await, None);
    assert_eq!(rig.held("k:2").await, Held::Done);
}

#[tokio::test]
async fn missing_id_may_pass_unchecked() {
    let runs = Runs::default();
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| builder.missing_id(MissingId::PassThrough),
        runs.accepting(),
    );
    assert_eq!(rig.send(raw("{}")).await.status(), 202);
    assert_eq!(rig.send(raw("{}")).await.status(), 202);
    assert_eq!(rig.counters().unchecked, 2);
    assert!(rig.store.set().is_empty());
    // An id that is there and bad is refused all the same.
    assert_eq!(rig.send(raw(r#"{"id":7}"#)).await.status(), 400);
}

#[tokio::test]
async fn missing_id_may_be_the_bodys_hash_and_meets_no_real_id() {
    let rig = Rig::with(
        Provider::unsigned_json(),
        |builder| builder.missing_id(MissingId::BodyHash),
        Runs::default().accepting(),
    );
    assert_eq!(rig.send(raw("{}")).await.status(), 202);
    assert_eq!(rig.send(raw("{}")).await.status(), 200);
    assert_eq!(rig.send(raw("{ }")).await.status(), 202);
    let hash = hex::encode(Sha256::digest(b"{}"));
    assert_eq!(
        rig.held_key(&Key::new(PATH, hash.as_bytes())).await,
        Held::Nothing
    );
    assert_eq!(rig.send(json(&hash)).await.status(), 202);
}
