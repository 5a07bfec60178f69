//! What did an adversary get through once?

use crate::rig::{Gate, Held, PATH, RETENTION, Rig, Runs, json, raw, settle};
use axum::{Router, body::Body, extract::Request, routing::post};
use base64::{Engine, engine::general_purpose::STANDARD};
use hapax_axum::{
    BuildError, ClaimHandle, HangUp, IdPart, IdSource, Provider, Reason, WebhookLayer,
    signature::{BasePart, HmacScheme, Scheme, SignatureForm, TimeUnit, Timestamp, TokenScheme},
};
use hapax_store::{ClaimStore, ErrorKind, Key, Outcome, SettleError, StoreError, StoreLease};
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use http_body_util::channel::Channel;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::{Service, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

fn twilio(url: &str, signed: &str, target: &str, kind: &str, body: String) -> (Rig, Request) {
    let rig = Rig::with(
        Provider::twilio(),
        |builder| builder.secret("s").url(url),
        Runs::default().accepting(),
    );
    let mut mac = Hmac::<Sha1>::new_from_slice(b"s").unwrap();
    mac.update(signed.as_bytes());
    let request = Request::post(target)
        .header("content-type", kind)
        .header("i-twilio-idempotency-token", "a")
        .header(
            "x-twilio-signature",
            STANDARD.encode(mac.finalize().into_bytes()),
        )
        .body(Body::from(body))
        .unwrap();
    (rig, request)
}

/// Equal pairs count once in Twilio's signature. One pair repeated filled the list of
/// looked-at fields without filling the set, and what came behind was in no signature.
#[tokio::test]
async fn twilio_fields_behind_the_limit_are_not_taken_for_signed() {
    let form = "application/x-www-form-urlencoded";
    for (times, status) in [(1, 202), (1000, 202), (1001, 401)] {
        let body = vec!["a=1"; times].join("&");
        let (rig, request) = twilio("https://x/hook", "https://x/hooka1", PATH, form, body);
        assert_eq!(rig.send(request).await.status(), status, "{times}");
    }
    let body = format!("{}&Amount=999", vec!["a=1"; 1001].join("&"));
    let (rig, request) = twilio("https://x/hook", "https://x/hooka1", PATH, form, body);
    assert_eq!(rig.send(request).await.status(), 401);
    assert!(rig.store.set().is_empty());
}

/// Where the configured URL has a query, that one is signed. The body's hash was read
/// from the request's own query, which nobody vouches for.
#[tokio::test]
async fn twilio_body_hash_outside_the_signed_url_proves_nothing() {
    let url = "https://x/hook?tenant=1";
    let body = r#"{"forged":true}"#;
    let target = format!("{PATH}?bodySHA256={}", hex::encode(Sha256::digest(body)));
    let (rig, request) = twilio(url, url, &target, "application/json", body.into());
    assert_eq!(rig.send(request).await.status(), 401);
    assert!(rig.store.set().is_empty());
}

/// The handle's first extension came a third of a lease after it was handed over, which
/// may be after the lease's end.
#[tokio::test(start_paused = true)]
async fn work_that_is_handed_over_late_keeps_its_claim() {
    let (before, after) = (Gate::default(), Gate::default());
    let rig = Rig::with(Provider::unsigned_json(), |builder| builder, {
        let (before, after) = (before.clone(), after.clone());
        move |claim: ClaimHandle| {
            let (before, after) = (before.clone(), after.clone());
            async move {
                before.pass().await;
                tokio::spawn(claim.complete_after(async move {
                    after.pass().await;
                    Ok::<_, Infallible>(())
                }));
                StatusCode::ACCEPTED
            }
        }
    });
    let answer = tokio::spawn(rig.app.clone().oneshot(json("a")));
    before.entered().await;
    // The lease is 65 s.
    let pass = async |seconds: u32| {
        rig.clock.advance(seconds * SECOND);
        tokio::time::advance(seconds * SECOND).await;
        settle().await;
    };
    pass(50).await;
    before.open();
    assert_eq!(answer.await.unwrap().unwrap().status(), 202);
    after.entered().await;
    settle().await;
    for _ in 0..10 {
        pass(20).await;
        assert_eq!(rig.held("a").await, Held::InFlight);
    }
    after.open();
    settle().await;
    assert_eq!(rig.held("a").await, Held::Done);
    assert_eq!(rig.counters().lost, 0);
}

/// A sender that left during the upload was in no counter.
#[tokio::test]
async fn sender_that_leaves_before_the_claim_is_counted() {
    let rig = Rig::new(Runs::default().accepting());
    let (sender, body) = Channel::<bytes::Bytes, Infallible>::new(1);
    let mut app = rig.app.clone();
    let mut answer = Box::pin(app.call(raw(Body::new(body))));
    assert!(futures_poll(&mut answer).await.is_none());
    drop(answer);
    drop(sender);
    let counters = rig.counters();
    assert_eq!(counters.rejected.get(Reason::BodyBroken), 1);
    assert_eq!(counters.rejected.total(), 1);
}

/// Polls once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

/// Says what it was told to say, claim after claim.
#[derive(Clone, Default)]
struct Scripted {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    gate: Option<Gate>,
}

enum Answer {
    First,
    Duplicate,
    InFlight(Duration),
    Away,
}

/// A lease of a store that does not answer any more.
struct Stuck;

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            gate: None,
        }
    }
}

impl ClaimStore for Scripted {
    type Lease = Stuck;

    fn retention(&self) -> Duration {
        RETENTION
    }

    async fn claim(&self, _: &Key, _: Duration) -> Result<Outcome<Stuck>, StoreError> {
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.expect("an answer for each claim") {
            Answer::First => Ok(Outcome::First(Stuck)),
            Answer::Duplicate => Ok(Outcome::Duplicate { remaining: None }),
            Answer::InFlight(remaining) => Ok(Outcome::InFlight { remaining }),
            Answer::Away => Err(StoreError::new(ErrorKind::Unavailable)),
        }
    }

    async fn forget(&self, _: &Key) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl StoreLease for Stuck {
    async fn complete(self) -> Result<(), SettleError> {
        pending().await
    }

    async fn release(self) -> Result<(), SettleError> {
        Ok(())
    }

    async fn extend(&mut self, _: Duration) -> Result<(), SettleError> {
        Ok(())
    }
}

/// The items that had been told before the store went away were forgotten.
#[tokio::test]
async fn batch_that_is_refused_half_way_is_counted_all_the_same() {
    let provider = Provider::custom("acme").id(IdSource::items("/id"));
    let store = Scripted::new([
        Answer::Duplicate,
        Answer::InFlight(SECOND),
        Answer::First,
        Answer::Away,
    ]);
    let layer = WebhookLayer::builder(provider, store).build().unwrap();
    let app = Router::new().route(PATH, post(Runs::default().accepting()).layer(layer.clone()));
    let body = r#"[{"id":"a"},{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]"#;
    assert_eq!(app.oneshot(raw(body)).await.unwrap().status(), 503);
    let counters = layer.counters();
    assert_eq!((counters.duplicate, counters.in_flight), (2, 1));
    assert_eq!((counters.first, counters.released), (1, 1));
    assert_eq!(counters.rejected.get(Reason::StoreUnavailable), 1);
}

/// A completion that was cut off is unknown: neither completed nor released, and it was
/// in no counter at all.
#[tokio::test]
async fn completion_that_is_cut_off_counts_as_lost() {
    let layer = WebhookLayer::builder(Provider::unsigned_json(), Scripted::new([Answer::First]))
        .build()
        .unwrap();
    let handler = |claim: ClaimHandle| async move {
        let mut completing = Box::pin(claim.complete());
        assert!(futures_poll(&mut completing).await.is_none());
        StatusCode::ACCEPTED
    };
    let app = Router::new().route(PATH, post(handler).layer(layer.clone()));
    app.oneshot(json("a")).await.unwrap();
    let counters = layer.counters();
    assert_eq!(
        (counters.completed, counters.released, counters.lost),
        (0, 0, 1)
    );
}

/// The handler was started, and ran to its first await, for a sender that had left while
/// the store was still thinking.
#[tokio::test]
async fn handler_is_not_started_for_a_sender_that_has_gone() {
    let gate = Gate::default();
    let store = Scripted {
        gate: Some(gate.clone()),
        ..Scripted::new([Answer::First])
    };
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .hang_up(HangUp::Cancel)
        .build()
        .unwrap();
    let runs = Runs::default();
    let app = Router::new().route(PATH, post(runs.accepting()).layer(layer.clone()));
    let answer = tokio::spawn(app.oneshot(json("a")));
    gate.entered().await;
    answer.abort();
    assert!(answer.await.is_err());
    gate.open();
    layer.drain(SECOND).await;
    assert_eq!(runs.get(), 0);
    let counters = layer.counters();
    assert_eq!(
        (counters.first, counters.cancelled, counters.released),
        (1, 1, 1)
    );
}

/// The seconds were rounded up beyond their type.
#[tokio::test]
async fn longest_remaining_time_does_not_overflow_retry_after() {
    let store = Scripted::new([Answer::InFlight(Duration::MAX)]);
    let layer = WebhookLayer::builder(Provider::unsigned_json(), store)
        .build()
        .unwrap();
    let app = Router::new().route(PATH, post(Runs::default().accepting()).layer(layer));
    let answer = app.oneshot(json("a")).await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], u64::MAX.to_string());
}

/// A timestamp that nobody signed can be made fresh by anybody; an id header that
/// nobody signed is no signed id.
#[tokio::test]
async fn scheme_that_does_not_sign_what_it_reads_is_refused() {
    let hmac = || HmacScheme::sha256("x-signature");
    let field = Timestamp::Field("t".into(), TimeUnit::Seconds);
    let signing = |parts: &[BasePart]| hmac().signs(parts.to_vec());
    use BasePart::{Body, Id, Timestamp as Time};
    for (scheme, fault) in [
        (signing(&[Time]), "the body is not signed"),
        (hmac().timestamp_header("t"), "the timestamp is not signed"),
        (signing(&[Time, Body]), "there is no timestamp to sign"),
        (hmac().id_header("x-id"), "the id header is not signed"),
        (signing(&[Id, Body]), "there is no id header to sign"),
        (
            signing(&[Time, Body]).timestamp(field),
            "a timestamp field needs signature fields",
        ),
    ] {
        let provider = Provider::custom("acme")
            .id(IdSource::pointer("/id"))
            .scheme(Scheme::hmac(scheme));
        refused(provider, fault);
    }
    for scheme in [
        Scheme::Token(TokenScheme::bearer()),
        Scheme::hmac(HmacScheme::sha256("x-signature")),
    ] {
        let provider = Provider::custom("acme")
            .id(IdSource::part(IdPart::SignedHeader))
            .scheme(scheme);
        refused(
            provider,
            "the id should be in a signed header and none is signed",
        );
    }
    // What the faults above are next to.
    let good = signing(&[Time, Body]).fields("v1", "t").signs([Time, Body]);
    let form = SignatureForm::Fields("v1".into());
    assert!(format!("{good:?}").contains(&format!("{form:?}")));
    let provider = Provider::custom("acme")
        .id(IdSource::pointer("/id"))
        .scheme(Scheme::hmac(good));
    let store = Scripted::default();
    assert!(
        WebhookLayer::builder(provider, store)
            .secret("s")
            .build()
            .is_ok()
    );
}

fn refused(provider: Provider, expected: &str) {
    let built = WebhookLayer::builder(provider, Scripted::default())
        .secret("s")
        .build();
    match built {
        Err(BuildError::SchemeIncomplete { provider, fault }) => {
            assert_eq!((&*provider, fault), ("acme", expected));
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{expected}: built"),
    }
}

/// A verifier that printed what it was asked printed the sender's token and body.
#[tokio::test]
async fn request_shown_to_a_verifier_does_not_print_secrets() {
    use hapax_axum::signature::{SignedRequest, Verify, VerifyError};
    #[derive(Clone, Default)]
    struct Printing(Arc<Mutex<String>>);
    impl Verify for Printing {
        async fn verify(&self, request: &SignedRequest) -> Result<(), VerifyError> {
            *self.0.lock().unwrap() = format!("{request:?}");
            Ok(())
        }
    }
    let printing = Printing::default();
    let rig = Rig::with(
        Provider::paypal(),
        |builder| builder.verifier(printing.clone()),
        Runs::default().accepting(),
    );
    let mut request = json("very_private");
    let headers = request.headers_mut();
    headers.insert("authorization", "Bearer hush".parse().unwrap());
    assert_eq!(rig.send(request).await.status(), 202);
    let printed = printing.0.lock().unwrap().clone();
    assert!(printed.contains("authorization"), "{printed}");
    assert!(
        !printed.contains("hush") && !printed.contains("very_private"),
        "{printed}"
    );
}
