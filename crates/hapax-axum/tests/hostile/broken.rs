//! Requests that are broken, or that different servers read in different ways.

use crate::server::{BODY, delivery, delivery_with, serve, serve_as, sign};
use hapax_axum::{Counters, IdSource, Provider, Reason};

/// Sends one request to a fresh server; returns the last status before the server
/// closes, and the books.
async fn send(request: impl AsRef<[u8]>) -> (Option<u16>, Counters) {
    let server = serve().await;
    let mut sender = server.connect().await;
    sender.write(request).await;
    // Nothing more will come.
    tokio::io::AsyncWriteExt::shutdown(&mut sender.socket)
        .await
        .ok();
    let status = sender.closed().await;
    // Whatever it was, the next delivery is served.
    let next = server.connect().await.send(delivery("next")).await;
    assert_eq!(next, Some(202));
    (status, server.balance().await)
}

#[tokio::test]
async fn malformed_chunks_claim_nothing() {
    let chunked = "transfer-encoding: chunked";
    for body in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "-1\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "3;x=\r\n\r\nabc",
        "3\r\nabc\r\n",
        "",
    ] {
        let request = delivery_with("chunks", &sign("abc"), chunked, body);
        let (status, counters) = send(request).await;
        assert!(matches!(status, None | Some(400)), "{body:?}: {status:?}");
        assert_eq!(counters.first, 1, "{body:?}");
    }
    let good = delivery_with(
        "chunks",
        &sign("abc"),
        chunked,
        "1\r\na\r\n2;x=y\r\nbc\r\n0\r\nt: 1\r\n\r\n",
    );
    let (status, counters) = send(good).await;
    assert_eq!((status, counters.first), (Some(202), 2));
}

/// A front that believes the other length would see another request behind this one.
#[tokio::test]
async fn two_lengths_never_hide_a_second_delivery() {
    let hidden = delivery("hidden");
    for headers in [
        format!(
            "content-length: {}\r\ntransfer-encoding: chunked",
            hidden.len() + 5
        ),
        "transfer-encoding: chunked\r\ncontent-length: 0".to_owned(),
        "content-length: 0\r\ncontent-length: 36".to_owned(),
        "transfer-encoding: identity, chunked, identity".to_owned(),
        "content-length: +36".to_owned(),
    ] {
        let request = delivery_with(
            "smuggling",
            &sign(""),
            &headers,
            &format!("0\r\n\r\n{hidden}"),
        );
        let (status, counters) = send(request).await;
        // Refused; or read as chunked, and then the connection is over.
        assert!(
            matches!(status, None | Some(202 | 400 | 401)),
            "{headers}: {status:?}"
        );
        assert!(counters.completed <= 2, "{headers}: {counters:?}");
    }
}

#[tokio::test]
async fn nonsense_in_place_of_a_request_claims_nothing() {
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"POST /github\r\n\r\n",
        b"POST /github HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense after the preface",
    ] {
        let (_, counters) = send(nonsense).await;
        assert_eq!((counters.first, counters.rejected.total()), (1, 0));
    }
}

#[tokio::test]
async fn header_values_that_are_not_utf_8_are_refused() {
    let length = format!("content-length: {}", BODY.len());
    let mut id = delivery_with("ID", &sign(BODY), &length, BODY).into_bytes();
    let at = id.windows(2).position(|two| two == b"ID").unwrap();
    id[at] = 0xff;
    let (status, counters) = send(id).await;
    assert_eq!(status, Some(400));
    assert_eq!(counters.rejected.get(Reason::IdUnprintable), 1);
    let mut signature = delivery_with("id", &sign(BODY), &length, BODY).into_bytes();
    let at = signature
        .windows(7)
        .position(|seven| seven == b"sha256=")
        .unwrap();
    signature[at + 8] = 0xff;
    let (status, counters) = send(signature).await;
    assert_eq!(status, Some(401));
    assert_eq!(counters.rejected.get(Reason::SignatureMalformed), 1);
}

#[tokio::test]
async fn deep_json_and_no_body_are_400_where_the_id_is_in_the_body() {
    let server = serve().await;
    // GitHub's id is in a header: any body will do, none too.
    let mut sender = server.connect().await;
    for body in ["", &"[".repeat(10_000)] {
        let length = format!("content-length: {}", body.len());
        let id = format!("deep-{}", body.len());
        let status = sender
            .send(delivery_with(&id, &sign(body), &length, body))
            .await;
        assert_eq!(status, Some(202));
    }
    assert_eq!(server.balance().await.completed, 2);

    let provider = Provider::github().id(IdSource::pointer("/a/id"));
    let server = serve_as(provider).await;
    let mut sender = server.connect().await;
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let deeper = format!(r#"{{"a":{{"id":{}"#, r#"{"a":"#.repeat(10_000));
    for body in ["", &deep, &deeper] {
        let length = format!("content-length: {}", body.len());
        let status = sender
            .send(delivery_with("x", &sign(body), &length, body))
            .await;
        assert_eq!(status, Some(400));
    }
    let beside = format!(
        r#"{{"b":{}{},"a":{{"id":"x"}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let length = format!("content-length: {}", beside.len());
    let status = sender
        .send(delivery_with("x", &sign(&beside), &length, &beside))
        .await;
    assert_eq!(status, Some(202));
    let counters = server.balance().await;
    assert_eq!((counters.rejected.total(), counters.completed), (3, 1));
}

#[tokio::test]
async fn timestamps_at_the_ends_of_their_range_are_401() {
    let server = serve_as(Provider::stripe()).await;
    let mut sender = server.connect().await;
    let body = r#"{"id":"evt_1"}"#;
    let times = [
        i64::MIN.to_string(),
        i64::MAX.to_string(),
        "9".repeat(30),
        "-0".into(),
    ];
    for time in &times {
        let mac = sign(&format!("{time}.{body}"));
        let mac = mac.trim_start_matches("sha256=");
        let headers = format!(
            "stripe-signature: t={time},v1={mac}\r\ncontent-length: {}",
            body.len()
        );
        let status = sender.send(delivery_with("x", "x", &headers, body)).await;
        assert_eq!(status, Some(401), "{time}");
    }
    assert_eq!(server.balance().await.rejected.total(), times.len() as u64);
}

#[tokio::test]
async fn sender_that_expects_100_continue_gets_it_and_then_its_answer() {
    let server = serve().await;
    let mut sender = server.connect().await;
    let headers = format!("expect: 100-continue\r\ncontent-length: {}", BODY.len());
    let head = delivery_with("expecting", &sign(BODY), &headers, "");
    assert_eq!(sender.send(head).await, Some(100));
    assert_eq!(sender.send(BODY).await, Some(202));
    assert_eq!(server.balance().await.completed, 1);
}
