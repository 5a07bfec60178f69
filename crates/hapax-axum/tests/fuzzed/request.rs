//! Arbitrary requests through the layer, for every preset: no panic, no touch of the
//! store without a valid signature, a documented answer, and books that balance.

use super::{
    draw::Draw,
    reference::{Plain, Sender, accepts},
    sender::{NOW_S, spoil, time},
    signature::real,
};
use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use hapax_axum::{
    BODY_LIMIT, ClaimHandle, Ending, HangUp, InFlight, MissingId, Provider, WebhookLayer,
    signature::{SignedRequest, Verify, VerifyError},
};
use hapax_store::{ClaimStore, Key, MemoryLease, MemoryStore, Outcome, StoreError};
use http::{Method, StatusCode};
use hyper::body::Frame;
use std::{
    cell::RefCell,
    collections::VecDeque,
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, UNIX_EPOCH},
};
use tokio::runtime::Runtime;
use tower::{Layer, Service, ServiceExt, service_fn};

thread_local! {
    static RUNTIME: RefCell<Runtime> = RefCell::new(
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
    );
}

/// Runs a future to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with_borrow(|runtime| runtime.block_on(future))
}

/// A store that counts how often it is asked.
#[derive(Clone)]
struct Counted {
    inner: MemoryStore,
    touches: Arc<AtomicU64>,
}

impl ClaimStore for Counted {
    type Lease = MemoryLease;

    fn retention(&self) -> Duration {
        self.inner.retention()
    }

    async fn claim(&self, key: &Key, l: Duration) -> Result<Outcome<MemoryLease>, StoreError> {
        // Relaxed: no partner; one thread.
        self.touches.fetch_add(1, Ordering::Relaxed);
        self.inner.claim(key, l).await
    }

    async fn forget(&self, key: &Key) -> Result<bool, StoreError> {
        self.inner.forget(key).await
    }
}

/// Believes a header, in place of a certificate.
struct ByHeader;

impl Verify for ByHeader {
    async fn verify(&self, request: &SignedRequest) -> Result<(), VerifyError> {
        tokio::task::yield_now().await;
        match request.headers.get("x-believe") {
            Some(value) if value == "yes" => Ok(()),
            Some(value) if value == "later" => Err(VerifyError::Unavailable("busy".into())),
            Some(_) => Err(VerifyError::Wrong),
            None => Err(VerifyError::Missing),
        }
    }
}

/// What a handler does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Accept,
    Fail,
    Panic,
    Wait,
    TakeAndComplete,
    TakeAndDrop,
    Error,
}

/// A body in pieces, some of them late, perhaps cut off.
struct Pieces(VecDeque<Option<Result<Frame<Bytes>, io::Error>>>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.0.pop_front() {
            Some(Some(piece)) => Poll::Ready(Some(piece)),
            Some(None) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }
}

/// Sends a few requests through one layer and looks at everything it says.
///
/// # Panics
///
/// If something is not as documented.
pub(crate) fn request(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let draw = &mut draw;
    let preset = &Provider::presets()[draw.below(Provider::presets().len())];
    let sender = Sender::of(preset.name());
    let known = sender.unwrap_or(Sender::GitHub).known(draw);
    let store = Counted {
        inner: MemoryStore::new(Duration::from_secs(96 * 3600)),
        touches: Arc::default(),
    };
    let mut builder = WebhookLayer::builder(preset.clone(), store.clone())
        .url(known.url.clone())
        .wall_clock(|| UNIX_EPOCH + Duration::from_secs(NOW_S as u64))
        .missing_id(draw.pick(&[
            MissingId::Reject,
            MissingId::PassThrough,
            MissingId::BodyHash,
        ]))
        .hang_up(draw.pick(&[HangUp::Finish, HangUp::Cancel]))
        .body_limit(draw.pick(&[BODY_LIMIT, 64]))
        .batch_limit(draw.pick(&[10, 2]));
    if draw.once_in(4) {
        builder = builder.bind_body();
    }
    if draw.once_in(4) {
        builder = builder.in_flight(InFlight::Conflict);
    }
    if sender.is_some() {
        builder = builder.secrets(&known.secrets);
    } else if preset.name() == "paypal" {
        builder = builder.verifier(ByHeader);
    }
    let layer = builder.build().expect("a good configuration");

    let acts = Arc::new(Mutex::new(Act::Accept));
    let handler = {
        let acts = Arc::clone(&acts);
        move |request: Request| act(*acts.lock().expect("one thread"), request)
    };
    let mut service = layer.layer(service_fn(handler));
    let mut sent = 0;
    for _ in 0..=draw.below(4) {
        *acts.lock().expect("one thread") = draw.pick(&[
            Act::Accept,
            Act::Wait,
            Act::Fail,
            Act::Panic,
            Act::TakeAndComplete,
            Act::TakeAndDrop,
            Act::Error,
        ]);
        let plain = compose(sender, &known, draw);
        let Some(request) = real(&plain) else {
            continue;
        };
        let (request, whole) = dress(request, &plain, draw);
        let valid = whole
            && match sender {
                Some(sender) => accepts(sender, &plain, &known),
                None if preset.name() == "paypal" => {
                    let said = plain.headers.iter().find(|(name, _)| name == "x-believe");
                    said.is_some_and(|(_, value)| value == b"yes")
                }
                None => preset.name().starts_with("unsigned"),
            };
        // Relaxed: no partner; one thread.
        let before = store.touches.load(Ordering::Relaxed);
        sent += 1;
        let posted = request.method() == Method::POST;
        if !posted {
            // Passed on without a look, panics and all.
            *acts.lock().expect("one thread") = Act::Accept;
        }
        let answer = run(async {
            ServiceExt::<Request>::ready(&mut service)
                .await?
                .call(request)
                .await
        });
        // Relaxed: as above.
        let touched = store.touches.load(Ordering::Relaxed) - before;
        assert!(touched == 0 || (valid && posted), "{preset:?} {plain:?}");
        look(&answer, valid, posted);
    }
    let counted = layer.counters();
    let ended = counted.completed + counted.released + counted.lost;
    assert_eq!(
        (counted.first, counted.running, counted.lost),
        (ended, 0, 0)
    );
    assert_eq!(store.inner.set().len() as u64, counted.completed);
    if !matches!(
        preset.name(),
        "sendgrid" | "cloudevents" | "unsigned-cloudevents"
    ) {
        let told = counted.first + counted.duplicate + counted.in_flight + counted.unchecked;
        let others = counted.handshakes + counted.passed + counted.rejected.total();
        assert_eq!(told + others, sent, "{counted:?}");
    }
}

/// Checks one answer against the documentation.
fn look(answer: &Result<Response, &'static str>, valid: bool, posted: bool) {
    let Ok(answer) = answer else { return };
    let status = answer.status().as_u16();
    match answer.extensions().get::<Ending>() {
        None => assert!(!posted, "an answer to a delivery tells its ending"),
        Some(Ending::Completed) => assert!(valid && status == 200),
        Some(Ending::Released) => assert!(valid && matches!(status, 500 | 503)),
        Some(Ending::HandedOver) => assert!(valid && status == 200),
        Some(Ending::Unchecked) => assert!(valid && matches!(status, 200 | 500)),
        Some(Ending::Duplicate) => assert!(valid && status == 200),
        Some(Ending::Empty) => assert!(valid && status == 200),
        Some(Ending::InFlight) => assert!(valid && matches!(status, 409 | 429 | 503)),
        Some(Ending::Handshake) => assert_eq!(status, 200),
        Some(Ending::Rejected(reason)) => {
            assert_eq!(answer.status(), reason.status());
            assert!(matches!(status, 400 | 401 | 403 | 413 | 503), "{status}");
            assert_eq!(answer.headers().contains_key("retry-after"), status == 503);
        }
        Some(other) => panic!("{other:?} should not happen"),
    }
}

async fn act(act: Act, request: Request) -> Result<Response, &'static str> {
    let (mut parts, _body) = request.into_parts();
    match act {
        Act::Accept => Ok(StatusCode::OK.into_response()),
        Act::Fail => Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        // As `panic!`, without the message that a fuzzer takes for a crash.
        Act::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        Act::Wait => {
            tokio::task::yield_now().await;
            Ok(StatusCode::OK.into_response())
        }
        Act::TakeAndComplete | Act::TakeAndDrop => {
            let claim = Option::<ClaimHandle>::from_request_parts(&mut parts, &()).await;
            if let (Ok(Some(claim)), Act::TakeAndComplete) = (claim, act) {
                claim.complete().await.map_err(|_| "lost")?;
            }
            Ok(StatusCode::OK.into_response())
        }
        Act::Error => Err("on purpose"),
    }
}

const IDS: &[&str] = &["evt_1", "evt_2", "", " ", "\u{e9}", "a\u{7}"];

/// Composes a delivery, signs it, and spoils it now and then.
fn compose(sender: Option<Sender>, known: &super::reference::Known, draw: &mut Draw<'_>) -> Plain {
    let id = draw.pick(IDS);
    let key = draw.pick(&["id", "event_id", "sg_event_id"]);
    let json = serde_json::json!({ key: id, "source": "s" }).to_string();
    let mut plain = Plain {
        target: draw.pick(&["/hook", "/hook?a=1", "/other", "*"]).into(),
        body: match draw.below(12) {
            0..=2 => json.into(),
            3 => format!(r#"[{json},{json},{{"sg_event_id":"x","id":"y","source":"z"}}]"#).into(),
            4 => b"[]".into(),
            5 => b"".into(),
            6 => b"a=1".into(),
            7 => format!("{json}{json}").into(),
            8 => br#"{"type":"url_verification","challenge":"c"}"#.into(),
            9 => format!(r#"{{"{key}":{}1{}}}"#, "[".repeat(3000), "]".repeat(3000)).into(),
            10 => format!(r#"{{"{key}":7,"a":{json}}}"#).into(),
            _ => draw.bytes().into(),
        },
        headers: Vec::new(),
    };
    let headers = &mut plain.headers;
    for name in [
        "x-github-delivery",
        "x-shopify-webhook-id",
        "i-twilio-idempotency-token",
        "idempotency-key",
        "ce-id",
        "ce-source",
    ] {
        if !draw.once_in(8) {
            headers.push((name.into(), id.as_bytes().into()));
        }
    }
    match draw.below(5) {
        0 | 1 => {}
        2 => headers.push((
            "content-type".into(),
            b"application/cloudevents+json".into(),
        )),
        3 => headers.push((
            "content-type".into(),
            b"application/cloudevents-batch+json".into(),
        )),
        _ => headers.push((
            "content-type".into(),
            b"application/x-www-form-urlencoded".into(),
        )),
    }
    if draw.once_in(3) {
        let said = draw.pick(&["no", "later"]);
        headers.push(("x-believe".into(), said.into()));
    } else {
        headers.push(("x-believe".into(), b"yes".into()));
    }
    let (secret, time) = (draw.below(8), time(draw));
    if let Some(sender) = sender {
        let wrong = b"d3Jvbmc=".to_vec();
        let key = known.secrets.get(secret % 3).unwrap_or(&wrong);
        sender.sign(&mut plain, known, key, &time, id);
    }
    for _ in 0..draw.below(8).saturating_sub(5) {
        spoil(&mut plain, draw);
    }
    plain
}

/// Chooses the method and cuts the body into pieces. Tells whether all of it arrives.
fn dress(mut request: Request, plain: &Plain, draw: &mut Draw<'_>) -> (Request, bool) {
    let methods = [Method::POST, Method::OPTIONS, Method::GET, Method::PUT];
    let method = match draw.below(12) {
        0..=8 => 0,
        other => other - 8,
    };
    *request.method_mut() = methods[method].clone();
    if draw.once_in(3) {
        let origin = http::HeaderValue::from_static("eventemitter.example.com");
        request
            .headers_mut()
            .insert("webhook-request-origin", origin);
    }
    let size = match draw.below(4) {
        0 => return (request, true),
        1 => 1,
        2 => 7,
        _ => 1000,
    };
    let mut pieces = VecDeque::new();
    for piece in plain.body.chunks(size) {
        pieces.push_back(Some(Ok(Frame::data(Bytes::copy_from_slice(piece)))));
    }
    let at = draw.below(pieces.len() + 1);
    let mut whole = true;
    match draw.below(4) {
        0 => {}
        1 => pieces.insert(at, None),
        2 => pieces.insert(at, Some(Ok(Frame::data(Bytes::new())))),
        _ => {
            pieces.insert(at, Some(Err(io::ErrorKind::ConnectionReset.into())));
            whole = false;
        }
    }
    *request.body_mut() = Body::new(Pieces(pieces));
    (request, whole)
}
