//! Who is believed?

use crate::rig::{Held, Rig, Runs, raw};
use axum::extract::Request;
use hapax_axum::{Provider, Reason, signature::*};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderName, HeaderValue};
use sha2::Sha256;
use std::{
    error::Error,
    time::{Duration, UNIX_EPOCH},
};

const NOW: u64 = 1_700_000_000;
const SECRET: &str = "It's a Secret to Everybody";
const PUBLISHED: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

fn rig(provider: Provider, secrets: &[&str]) -> Rig {
    Rig::with(
        provider,
        |builder| {
            builder
                .secrets(secrets)
                .wall_clock(|| UNIX_EPOCH + Duration::from_secs(NOW))
        },
        Runs::default().accepting(),
    )
}

fn request(body: &str, headers: &[(&str, &str)]) -> Request {
    let mut request = raw(body.to_owned());
    for (name, value) in headers {
        request.headers_mut().append(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    request
}

/// GitHub's published example with this signature header.
fn github(signature: &str) -> Request {
    request(
        "Hello, World!",
        &[
            ("x-github-delivery", "1"),
            ("x-hub-signature-256", signature),
        ],
    )
}

fn hex_of(key: &str, message: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(message.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

fn stripe(timestamp: &str) -> Request {
    let body = r#"{"id":"evt_1"}"#;
    let signature = hex_of("s", &format!("{timestamp}.{body}"));
    request(
        body,
        &[("stripe-signature", &format!("t={timestamp},v1={signature}"))],
    )
}

/// Asserts a 401 that tells the log why, tells the caller nothing, and leaves the
/// store alone.
async fn refused(rig: &Rig, request: Request, reason: Reason) {
    let before = rig.counters().rejected.get(reason);
    let response = rig.send(request).await;
    assert_eq!(response.status(), reason.status(), "{reason}");
    if response.status() == 401 {
        assert_eq!(crate::rig::text(response).await, "");
    }
    assert_eq!(rig.counters().rejected.get(reason), before + 1, "{reason}");
    assert!(rig.store.set().is_empty());
    assert_eq!(rig.store.set().stats().first, 0);
}

#[tokio::test]
async fn githubs_published_example_is_believed() {
    let rig = rig(Provider::github(), &[SECRET]);
    let response = rig.send(github(&format!("sha256={PUBLISHED}"))).await;
    assert_eq!(response.status(), 202);
    assert_eq!(rig.held("1").await, Held::Done);
    let upper = PUBLISHED.to_uppercase();
    let response = rig.send(github(&format!("sha256={upper}"))).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn missing_malformed_and_wrong_signatures_are_401() {
    let rig = rig(Provider::github(), &[SECRET]);
    let unsigned = request("Hello, World!", &[("x-github-delivery", "1")]);
    refused(&rig, unsigned, Reason::SignatureMissing).await;
    for malformed in [
        "",
        "sha256=",
        "sha1=757107ea",
        PUBLISHED,
        "sha256=zz",
        "sha256=757",
        &format!("sha256= {PUBLISHED}"),
        &format!("sha256={PUBLISHED}0"),
        &format!("sha256={PUBLISHED}00"),
    ] {
        refused(&rig, github(malformed), Reason::SignatureMalformed).await;
    }
    let flipped = PUBLISHED.replacen('7', "6", 1);
    let short = &PUBLISHED[..62];
    for wrong in [&flipped, short] {
        refused(
            &rig,
            github(&format!("sha256={wrong}")),
            Reason::SignatureWrong,
        )
        .await;
    }
}

#[tokio::test]
async fn another_body_or_secret_is_wrong() {
    let ours = rig(Provider::github(), &["another secret"]);
    refused(
        &ours,
        github(&format!("sha256={PUBLISHED}")),
        Reason::SignatureWrong,
    )
    .await;
    let ours = rig(Provider::github(), &[SECRET]);
    let mut tampered = github(&format!("sha256={PUBLISHED}"));
    *tampered.body_mut() = "Hello, World?".into();
    refused(&ours, tampered, Reason::SignatureWrong).await;
}

#[tokio::test]
async fn signature_header_that_is_not_text_is_401() {
    let rig = rig(Provider::github(), &[SECRET]);
    let mut bad = github("x");
    let value = HeaderValue::from_bytes(b"sha256=\xff").unwrap();
    bad.headers_mut().insert("x-hub-signature-256", value);
    refused(&rig, bad, Reason::SignatureMalformed).await;
}

#[tokio::test]
async fn two_signature_headers_are_400() {
    let rig = rig(Provider::github(), &[SECRET]);
    let mut twice = github(&format!("sha256={PUBLISHED}"));
    let value = HeaderValue::from_str(&format!("sha256={PUBLISHED}")).unwrap();
    twice.headers_mut().append("x-hub-signature-256", value);
    refused(&rig, twice, Reason::SignatureRepeated).await;
}

#[tokio::test]
async fn any_of_several_secrets_is_believed() {
    let rig = rig(Provider::github(), &["new", SECRET]);
    let response = rig.send(github(&format!("sha256={PUBLISHED}"))).await;
    assert_eq!(response.status(), 202);
}

#[tokio::test]
async fn tolerance_holds_on_both_sides_to_the_second() {
    let at = |offset: i64| stripe(&(NOW as i64 + offset).to_string());
    for believed in [0, -300, 300] {
        let rig = rig(Provider::stripe(), &["s"]);
        assert_eq!(rig.send(at(believed)).await.status(), 202, "{believed}");
    }
    let rig = rig(Provider::stripe(), &["s"]);
    refused(&rig, at(-301), Reason::TimestampTooOld).await;
    refused(&rig, at(301), Reason::TimestampTooNew).await;
}

/// Half a second into the second, a timestamp of 300 seconds ago is still 300 seconds
/// ago to a sender that counts in seconds.
#[tokio::test]
async fn fractions_of_a_second_do_not_shrink_the_tolerance() {
    let rig = Rig::with(
        Provider::stripe(),
        |builder| {
            builder
                .secret("s")
                .wall_clock(|| UNIX_EPOCH + Duration::from_millis(NOW * 1000 + 999))
        },
        Runs::default().accepting(),
    );
    assert_eq!(
        rig.send(stripe(&(NOW - 300).to_string())).await.status(),
        202
    );
}

#[tokio::test]
async fn timestamps_at_the_ends_of_64_bits_are_judged_not_wrapped() {
    let rig = rig(Provider::stripe(), &["s"]);
    for (timestamp, reason) in [
        ("9223372036854775807", Reason::TimestampTooNew),
        ("-9223372036854775808", Reason::TimestampTooOld),
        ("9223372036854775808", Reason::TimestampMalformed),
        ("0", Reason::TimestampTooOld),
        ("", Reason::TimestampMalformed),
        ("+1700000000", Reason::TimestampMalformed),
        ("1700000000.0", Reason::TimestampMalformed),
        ("0x6553f100", Reason::TimestampMalformed),
    ] {
        refused(&rig, stripe(timestamp), reason).await;
    }
}

#[tokio::test]
async fn clock_before_1970_refuses_without_panicking() {
    let rig = Rig::with(
        Provider::stripe(),
        |builder| {
            builder
                .secret("s")
                .wall_clock(|| UNIX_EPOCH - Duration::from_secs(1))
        },
        Runs::default().accepting(),
    );
    refused(&rig, stripe("1700000000"), Reason::TimestampTooNew).await;
}

#[tokio::test]
async fn stripe_header_wants_one_timestamp_and_some_v1() {
    let body = r#"{"id":"evt_1"}"#;
    let good = hex_of("s", &format!("{NOW}.{body}"));
    let rig = rig(Provider::stripe(), &["s"]);
    let header = |value: String| request(body, &[("stripe-signature", &value)]);
    for (value, reason) in [
        (format!("v1={good}"), Reason::TimestampMissing),
        (format!("t={NOW}"), Reason::SignatureMissing),
        (format!("t={NOW},v0={good}"), Reason::SignatureMissing),
        (
            format!("t={NOW},t={NOW},v1={good}"),
            Reason::TimestampMalformed,
        ),
        (format!("t={NOW},v1"), Reason::SignatureMalformed),
        (format!("t={},v1={good}", NOW + 1), Reason::SignatureWrong),
    ] {
        refused(&rig, header(value), reason).await;
    }
    let response = rig.send(header(format!("t={NOW}, v1=00, v1={good}"))).await;
    assert_eq!(response.status(), 202);
}

#[tokio::test]
async fn list_of_a_thousand_signatures_is_refused_before_any_hash() {
    let body = r#"{"id":"evt_1"}"#;
    let good = hex_of("s", &format!("{NOW}.{body}"));
    let rig = rig(Provider::stripe(), &["s"]);
    let list = |n: usize, filler: &str| {
        let mut value = format!("t={NOW}");
        for _ in 0..n {
            value += filler;
        }
        request(body, &[("stripe-signature", &format!("{value},v1={good}"))])
    };
    refused(&rig, list(1000, ",v1=00"), Reason::SignaturesTooMany).await;
    refused(
        &rig,
        list(CANDIDATES_MOST, ",v1=00"),
        Reason::SignaturesTooMany,
    )
    .await;
    // Other versions are skipped, within the length of a sane header.
    assert_eq!(rig.send(list(100, ",v0=00")).await.status(), 202);
}

#[tokio::test]
async fn header_longer_than_4096_bytes_is_refused_unread() {
    let rig = rig(Provider::github(), &[SECRET]);
    let long = |bytes: usize| github(&format!("sha256={}", "0".repeat(bytes - 7)));
    refused(&rig, long(4096), Reason::SignatureMalformed).await;
    refused(&rig, long(4097), Reason::SignaturesTooMany).await;
}

#[test]
fn cause_of_a_verifier_that_cannot_answer_is_kept() {
    let down = VerifyError::Unavailable("down".into());
    let cause = down.source().map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("down"));
    assert!(VerifyError::Wrong.source().is_none());
}

#[tokio::test]
async fn stripes_key_is_the_whole_secret_and_the_standards_is_decoded() {
    let key = [7; 32];
    let secret = {
        use base64::Engine;
        format!(
            "whsec_{}",
            base64::engine::general_purpose::STANDARD.encode(key)
        )
    };
    let body = r#"{"id":"evt_1"}"#;
    let signature = hex_of(&secret, &format!("{NOW}.{body}"));
    let rig = rig(Provider::stripe(), &[&secret]);
    let signed = request(
        body,
        &[("stripe-signature", &format!("t={NOW},v1={signature}"))],
    );
    assert_eq!(rig.send(signed).await.status(), 202);
}

/// Svix signs the id header under one of two names. A forger who holds a request
/// signed under one name must not be able to put another id under the other.
#[tokio::test]
async fn id_header_is_the_one_that_was_signed() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let key = "0123456789abcdef0123456789abcdef";
    let rig = rig(Provider::svix(), &[&STANDARD.encode(key)]);
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(format!("real.{NOW}.{{}}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let headers = [
        ("svix-id", "forged"),
        ("webhook-id", "real"),
        ("webhook-timestamp", &NOW.to_string()),
        ("webhook-signature", &signature),
    ];
    assert_eq!(rig.send(request("{}", &headers)).await.status(), 202);
    assert_eq!(rig.held("real").await, Held::Done);
    assert_eq!(rig.held("forged").await, Held::Nothing);
}

#[tokio::test]
async fn signed_headers_must_be_there_once() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let rig = rig(Provider::standard_webhooks(), &[&STANDARD.encode([1; 32])]);
    let now = NOW.to_string();
    let all = [
        ("webhook-id", "a"),
        ("webhook-timestamp", &now),
        ("webhook-signature", "v1,AAAA"),
    ];
    for (left_out, reason) in [
        ("webhook-id", Reason::IdMissing),
        ("webhook-timestamp", Reason::TimestampMissing),
        ("webhook-signature", Reason::SignatureMissing),
    ] {
        let some: Vec<_> = all
            .into_iter()
            .filter(|(name, _)| *name != left_out)
            .collect();
        refused(&rig, request("{}", &some), reason).await;
        let mut more = all.to_vec();
        more.push((left_out, "x"));
        refused(&rig, request("{}", &more), Reason::SignatureRepeated).await;
    }
}

#[tokio::test]
async fn token_is_compared_whole() {
    // One of them twice, as a rotation may leave it.
    let rig = rig(Provider::gitlab(), &["token", "other", "token"]);
    let with = |token: &str| request("{}", &[("x-gitlab-token", token), ("idempotency-key", "1")]);
    for wrong in ["", "toke", "tokenn", "Token", "token,other"] {
        refused(&rig, with(wrong), Reason::SignatureWrong).await;
    }
    assert_eq!(rig.send(with("other")).await.status(), 202);
    assert_eq!(rig.send(with("token")).await.status(), 200);
}

#[tokio::test]
async fn bearer_scheme_has_no_case_and_its_token_has() {
    let rig = rig(Provider::cloudevents(), &["Token"]);
    let with = |value: &str| {
        request(
            "{}",
            &[("authorization", value), ("ce-id", "1"), ("ce-source", "s")],
        )
    };
    refused(&rig, with("Bearer token"), Reason::SignatureWrong).await;
    refused(&rig, with("Basic Token"), Reason::SignatureMalformed).await;
    refused(&rig, with("B"), Reason::SignatureMalformed).await;
    assert_eq!(rig.send(with("bearer Token")).await.status(), 202);
}

#[tokio::test]
async fn custom_scheme_in_milliseconds_with_sha1() {
    let provider = Provider::custom("acme")
        .id(hapax_axum::IdSource::pointer("/id"))
        .tolerance(Duration::from_secs(1))
        .scheme(Scheme::hmac(
            HmacScheme::sha256("x-sig")
                .sha1()
                .base64()
                .timestamp(Timestamp::Header("x-ts".into(), TimeUnit::Millis))
                .signs([
                    BasePart::Timestamp,
                    BasePart::Text(":".into()),
                    BasePart::Body,
                ]),
        ));
    let rig = rig(provider, &["s"]);
    let body = r#"{"id":"a"}"#;
    let at = |ms: u64| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let mut mac = Hmac::<sha1::Sha1>::new_from_slice(b"s").unwrap();
        mac.update(format!("{ms}:{body}").as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        request(body, &[("x-ts", &ms.to_string()), ("x-sig", &signature)])
    };
    refused(&rig, at(NOW * 1000 - 1001), Reason::TimestampTooOld).await;
    assert_eq!(rig.send(at(NOW * 1000 - 1000)).await.status(), 202);
}
