//! Do signatures made elsewhere pass, and their neighbours not? The table of bad input,
//! for every preset.
//!
//! `tests/vectors/sign.py` computed them; see there.

use crate::rig::{RETENTION, Runs, text};
use axum::{Router, extract::Request, response::Response, routing::any};
use base64::{Engine, engine::general_purpose::STANDARD};
use hapax_axum::{
    Builder, Delivery, Ending, Provider, Reason, WebhookLayer, paypal,
    signature::{SignedRequest, Verify, VerifyError},
};
use hapax_store::MemoryStore;
use http::HeaderName;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};
use tower::ServiceExt;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("../vectors/vectors.json")).expect("vectors are JSON")
}

/// Accepts what PayPal's text was computed to be; the certificate is somebody else's.
struct ByText(String);

impl Verify for ByText {
    async fn verify(&self, request: &SignedRequest) -> Result<(), VerifyError> {
        match paypal::signed_text(request, "1JE4291016473214C") {
            Some(text) if text == self.0 => Ok(()),
            Some(_) => Err(VerifyError::Wrong),
            None => Err(VerifyError::Missing),
        }
    }
}

fn app(vector: &Value, now: u64) -> (Router, WebhookLayer, Runs) {
    app_with(vector, now, |builder| builder)
}

fn app_with(
    vector: &Value,
    now: u64,
    configure: impl FnOnce(Builder) -> Builder,
) -> (Router, WebhookLayer, Runs) {
    let name = vector["preset"].as_str().unwrap();
    let preset = Provider::presets().iter().find(|p| p.name() == name);
    let store = MemoryStore::new(RETENTION);
    let mut builder = WebhookLayer::builder(preset.unwrap().clone(), store)
        .wall_clock(move || UNIX_EPOCH + Duration::from_secs(now));
    if let Some(secret) = vector["secret"].as_str() {
        builder = builder.secret(secret);
    }
    if let Some(url) = vector["url"].as_str() {
        builder = builder.url(url);
    }
    if let Some(text) = vector["signed_text"].as_str() {
        builder = builder.verifier(ByText(text.to_owned()));
    }
    let layer = configure(builder).build().unwrap();
    let runs = Runs::default();
    let handler = {
        let runs = runs.clone();
        move |delivery: Delivery| {
            runs.add();
            async move { delivery.id().to_owned() }
        }
    };
    let app = Router::new().fallback(any(handler)).layer(layer.clone());
    (app, layer, runs)
}

fn request(vector: &Value) -> Request {
    let mut request = Request::post(vector["target"].as_str().unwrap());
    for (name, value) in vector["headers"].as_object().unwrap() {
        request = request.header(name, value.as_str().unwrap());
    }
    let body = STANDARD.decode(vector["body"].as_str().unwrap()).unwrap();
    request.body(body.into()).unwrap()
}

async fn send(app: &Router, request: Request) -> Response {
    app.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn every_preset_has_a_vector() {
    let vectors = vectors();
    for preset in Provider::presets() {
        let has = |v: &Value| v["preset"] == preset.name();
        // The unsigned presets have nothing to sign but an id to be found.
        assert!(
            vectors.iter().any(has) || preset.name() == "unsigned-cloudevents",
            "{}",
            preset.name()
        );
    }
}

#[tokio::test]
async fn signatures_made_elsewhere_pass_and_their_copies_are_duplicates() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let (app, layer, runs) = app(&vector, vector["now"].as_u64().unwrap());
        let ids = vector["ids"].as_array().unwrap();
        let first = send(&app, request(&vector)).await;
        assert_eq!(first.status(), 200, "{name}");
        if ids.is_empty() {
            assert_eq!(first.extensions().get(), Some(&Ending::Handshake), "{name}");
            assert_eq!(text(first).await, "3eZbrw1aBm2rZgRNFdxV2595E9CY");
            assert_eq!((runs.get(), layer.counters().handshakes), (0, 1));
            continue;
        }
        if let [id] = &ids[..] {
            assert_eq!(text(first).await, id.as_str().unwrap(), "{name}");
        }
        let second = send(&app, request(&vector)).await;
        assert_eq!(
            second.extensions().get(),
            Some(&Ending::Duplicate),
            "{name}"
        );
        assert_eq!(second.status(), 200);
        assert_eq!(runs.get(), 1, "{name}");
        assert_eq!(layer.counters().completed, ids.len() as u64, "{name}");
    }
}

#[tokio::test]
async fn one_changed_byte_is_refused() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let preset = vector["preset"].as_str().unwrap();
        // A token vouches for the sender, not for the body.
        if ["gitlab", "cloudevents", "unsigned-json"].contains(&preset) {
            continue;
        }
        let (app, layer, runs) = app(&vector, vector["now"].as_u64().unwrap());
        let mut request = request(&vector);
        let mut body = STANDARD.decode(vector["body"].as_str().unwrap()).unwrap();
        *body.last_mut().unwrap() ^= 1;
        *request.body_mut() = body.into();
        assert_eq!(send(&app, request).await.status(), 401, "{name}");
        assert_eq!((runs.get(), layer.counters().first), (0, 0), "{name}");
    }
}

#[tokio::test]
async fn every_signed_header_is_needed_and_signed() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let unsigned = |header: &str| {
            // Headers that senders leave out of what they sign.
            [
                "content-type",
                "x-github-event",
                "x-github-delivery",
                "x-shopify-topic",
                "x-shopify-webhook-id",
                "i-twilio-idempotency-token",
                "idempotency-key",
                "x-slack-retry-num",
                "ce-id",
                "ce-source",
                "ce-type",
                "ce-specversion",
            ]
            .contains(&header)
        };
        for header in vector["headers"].as_object().unwrap().keys() {
            if unsigned(header) {
                continue;
            }
            let (app, layer, _) = app(&vector, vector["now"].as_u64().unwrap());
            let mut without = request(&vector);
            without
                .headers_mut()
                .remove(header.parse::<HeaderName>().unwrap());
            let status = send(&app, without).await.status();
            assert!(
                [400, 401].contains(&status.as_u16()),
                "{name} without {header}: {status}"
            );
            let mut with_other = request(&vector);
            with_other.headers_mut().insert(
                header.parse::<HeaderName>().unwrap(),
                "1700000001".parse().unwrap(),
            );
            let status = send(&app, with_other).await.status();
            assert_eq!(status, 401, "{name} with another {header}");
            assert_eq!(layer.counters().first, 0);
        }
    }
}

#[tokio::test]
async fn timestamps_are_believed_within_the_tolerance_only() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let preset = vector["preset"].as_str().unwrap();
        let tolerance = match preset {
            "stripe" | "standard-webhooks" | "svix" | "slack" | "gitlab-signed" => Some(300),
            "sendgrid" => Some(48 * 3600),
            _ => None,
        };
        let now = vector["now"].as_u64().unwrap();
        let Some(tolerance) = tolerance else {
            // Nothing is dated: as good after ten years as on the day.
            let (app, _, _) = app(&vector, now + 315_360_000);
            assert_eq!(send(&app, request(&vector)).await.status(), 200, "{name}");
            continue;
        };
        for (now, status) in [
            (now + tolerance + 1, 401),
            (now + tolerance, 200),
            (now - tolerance, 200),
            (now - tolerance - 1, 401),
        ] {
            let (app, _, _) = app(&vector, now);
            assert_eq!(
                send(&app, request(&vector)).await.status(),
                status,
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn signed_deliveries_with_bad_bodies_are_400_and_claim_nothing() {
    let bad: Vec<Value> = serde_json::from_str(include_str!("../vectors/bad.json")).unwrap();
    for vector in bad {
        let name = vector["name"].as_str().unwrap();
        let (app, layer, runs) = app(&vector, vector["now"].as_u64().unwrap());
        let response = send(&app, request(&vector)).await;
        assert_eq!(response.status(), 400, "{name}: {}", text(response).await);
        assert_eq!((runs.get(), layer.counters().first), (0, 0), "{name}");
        assert_eq!(layer.counters().rejected.total(), 1, "{name}");
    }
}

#[tokio::test]
async fn bad_id_headers_are_400_for_every_preset_that_has_one() {
    let mut seen = 0;
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let long = "x".repeat(256);
        for header in [
            "x-github-delivery",
            "x-shopify-webhook-id",
            "i-twilio-idempotency-token",
            "idempotency-key",
            "ce-id",
            "ce-source",
            "webhook-id",
            "svix-id",
        ] {
            if vector["headers"].get(header).is_none() {
                continue;
            }
            seen += 1;
            let signed = ["webhook-id", "svix-id"].contains(&header);
            // Without a value, with two, and with bad ones. A signed id that is changed
            // is a wrong signature before it is a bad id.
            let bad: [(&[&[u8]], u16); 6] = [
                (&[], 400),
                (&[b"a", b"b"], 400),
                (&[b""], if signed { 401 } else { 400 }),
                (&[long.as_bytes()], if signed { 401 } else { 400 }),
                (&[b"a\tb"], if signed { 401 } else { 400 }),
                (&[b"\xff"], if signed { 401 } else { 400 }),
            ];
            for (values, status) in bad {
                let (app, layer, _) = app(&vector, vector["now"].as_u64().unwrap());
                let mut request = request(&vector);
                request.headers_mut().remove(header);
                for value in values {
                    let value = http::HeaderValue::from_bytes(value).unwrap();
                    request.headers_mut().append(header, value);
                }
                let response = send(&app, request).await;
                assert_eq!(response.status(), status, "{name}: {header} {values:?}");
                assert_eq!(layer.counters().first, 0, "{name}");
            }
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[tokio::test]
async fn bodies_over_the_limit_are_413_for_every_preset() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let now = vector["now"].as_u64().unwrap();
        let body = STANDARD.decode(vector["body"].as_str().unwrap()).unwrap();
        let (small, layer, _) = app_with(&vector, now, |b| b.body_limit(body.len() - 1));
        assert_eq!(send(&small, request(&vector)).await.status(), 413, "{name}");
        assert_eq!(layer.counters().first, 0, "{name}");
        let (enough, _, _) = app_with(&vector, now, |b| b.body_limit(body.len()));
        assert_eq!(
            send(&enough, request(&vector)).await.status(),
            200,
            "{name}"
        );
    }
}

#[tokio::test]
async fn two_signature_headers_are_400_for_every_preset() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        for header in [
            "x-hub-signature-256",
            "stripe-signature",
            "webhook-signature",
            "svix-signature",
            "x-slack-signature",
            "x-shopify-hmac-sha256",
            "x-square-hmacsha256-signature",
            "x-twilio-signature",
            "x-twilio-email-event-webhook-signature",
            "x-gitlab-token",
            "authorization",
        ] {
            let mut request = request(&vector);
            let Some(value) = request.headers().get(header).cloned() else {
                continue;
            };
            request.headers_mut().append(header, value);
            let (app, layer, _) = app(&vector, vector["now"].as_u64().unwrap());
            assert_eq!(send(&app, request).await.status(), 400, "{name}");
            assert_eq!(layer.counters().first, 0, "{name}");
        }
    }
}

/// What is no form is vouched for by its hash in the signed URL. Without the hash, a
/// body of one's own could be sent under any signature over the bare URL.
#[tokio::test]
async fn twilio_body_that_is_no_form_needs_its_hash_in_the_url() {
    let vectors = vectors();
    let vector = vectors.iter().find(|v| v["name"] == "twilio json").unwrap();
    let (app, layer, _) = app(vector, 0);
    let mut request = request(vector);
    *request.uri_mut() = "/twilio".parse().unwrap();
    assert_eq!(send(&app, request).await.status(), 401);
    assert_eq!(layer.counters().rejected.get(Reason::SignatureMissing), 1);
}
