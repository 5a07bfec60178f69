//! Signs deliveries the way their senders do.
//!
//! The other side of the layer: for the lines to paste into a shell, and for the storm.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use p256::ecdsa::{Signature, SigningKey, signature::Signer};
use serde_json::json;
use sha1::Sha1;
use sha2::Sha256;

/// What is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letter<'a> {
    pub(crate) id: &'a str,
    /// Something for the body to say.
    pub(crate) note: &'a str,
    pub(crate) secret: &'a str,
    /// The endpoint's address as the sender knows it.
    pub(crate) url: &'a str,
    /// The sender's clock, in Unix seconds.
    pub(crate) now_s: u64,
}

/// A delivery, ready to be posted.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// The private half of the demo key for SendGrid, whose secrets are public keys. It is
/// the example key of RFC 6979, appendix A.2.5, and so known to everyone.
const SENDGRID_DEMO: [u8; 32] = [
    0xC9, 0xAF, 0xA9, 0xD8, 0x45, 0xBA, 0x75, 0x16, 0x6B, 0x5C, 0x21, 0x57, 0x67, 0xB1, 0xD6, 0x93,
    0x4E, 0x50, 0xC3, 0xDB, 0x36, 0xE8, 0x9B, 0x12, 0x7B, 0x8A, 0x62, 0x2B, 0x12, 0x0F, 0x67, 0x21,
];

pub(crate) fn github(letter: &Letter<'_>) -> Signed {
    let body = json!({ "zen": letter.note }).to_string();
    let mac = sha256(letter.secret.as_bytes(), &[&body]);
    Signed::json(body)
        .with("x-github-event", "ping")
        .with("x-github-delivery", letter.id)
        .with(
            "x-hub-signature-256",
            format!("sha256={}", hex::encode(mac)),
        )
}

pub(crate) fn stripe(letter: &Letter<'_>) -> Signed {
    let body = json!({ "id": letter.id, "object": "event", "note": letter.note }).to_string();
    let now = letter.now_s.to_string();
    let mac = sha256(letter.secret.as_bytes(), &[&now, ".", &body]);
    let signature = format!("t={now},v1={}", hex::encode(mac));
    Signed::json(body).with("stripe-signature", signature)
}

pub(crate) fn standard(letter: &Letter<'_>) -> Signed {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    standard_under(names, letter)
}

pub(crate) fn svix(letter: &Letter<'_>) -> Signed {
    standard_under(["svix-id", "svix-timestamp", "svix-signature"], letter)
}

fn standard_under([id, timestamp, signature]: [&'static str; 3], letter: &Letter<'_>) -> Signed {
    let body = json!({ "type": "demo.event", "data": letter.note }).to_string();
    let now = letter.now_s.to_string();
    let key = letter.secret.strip_prefix("whsec_");
    // A secret that is not base64 was refused when the layer was built.
    let key = STANDARD.decode(key.unwrap_or(letter.secret));
    let mac = sha256(
        &key.unwrap_or_default(),
        &[letter.id, ".", &now, ".", &body],
    );
    Signed::json(body)
        .with(id, letter.id)
        .with(timestamp, now)
        .with(signature, format!("v1,{}", STANDARD.encode(mac)))
}

/// Unsigned: anyone can send it.
pub(crate) fn webhook(letter: &Letter<'_>) -> Signed {
    let body = json!({ "id": letter.id, "type": "demo.event", "payload": letter.note });
    Signed::json(body.to_string())
}

pub(crate) fn slack(letter: &Letter<'_>) -> Signed {
    let body = json!({
        "type": "event_callback",
        "event_id": letter.id,
        "event": { "type": "app_mention", "text": letter.note },
    })
    .to_string();
    let now = letter.now_s.to_string();
    let mac = sha256(letter.secret.as_bytes(), &["v0:", &now, ":", &body]);
    Signed::json(body)
        .with("x-slack-request-timestamp", now)
        .with("x-slack-signature", format!("v0={}", hex::encode(mac)))
}

pub(crate) fn shopify(letter: &Letter<'_>) -> Signed {
    let body = json!({ "id": 820_982_911, "note": letter.note }).to_string();
    let mac = sha256(letter.secret.as_bytes(), &[&body]);
    Signed::json(body)
        .with("x-shopify-topic", "orders/create")
        .with("x-shopify-webhook-id", letter.id)
        .with("x-shopify-hmac-sha256", STANDARD.encode(mac))
}

pub(crate) fn square(letter: &Letter<'_>) -> Signed {
    let body = json!({ "event_id": letter.id, "type": "demo.event", "data": letter.note });
    let body = body.to_string();
    let mac = sha256(letter.secret.as_bytes(), &[letter.url, &body]);
    Signed::json(body).with("x-square-hmacsha256-signature", STANDARD.encode(mac))
}

pub(crate) fn twilio(letter: &Letter<'_>) -> Signed {
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("Body", letter.note)
        .append_pair("MessageSid", letter.id)
        .finish();
    // The fields in the order of their names.
    let signed = [letter.url, "Body", letter.note, "MessageSid", letter.id];
    let mac = sha1(letter.secret.as_bytes(), &signed);
    Signed::new("application/x-www-form-urlencoded", body)
        .with("i-twilio-idempotency-token", letter.id)
        .with("x-twilio-signature", STANDARD.encode(mac))
}

/// Signs with the demo key, whatever the letter's secret: nobody but SendGrid has the
/// private half of a real one.
pub(crate) fn sendgrid(letter: &Letter<'_>) -> Signed {
    let body = json!([{ "sg_event_id": letter.id, "event": "open", "note": letter.note }]);
    let body = body.to_string();
    let now = letter.now_s.to_string();
    let key = SigningKey::from_slice(&SENDGRID_DEMO).expect("a constant key");
    let signature: Signature = key.sign(format!("{now}{body}").as_bytes());
    let signature = STANDARD.encode(signature.to_der());
    Signed::json(body)
        .with("x-twilio-email-event-webhook-timestamp", now)
        .with("x-twilio-email-event-webhook-signature", signature)
}

pub(crate) fn gitlab(letter: &Letter<'_>) -> Signed {
    let body = json!({ "object_kind": "push", "note": letter.note });
    Signed::json(body.to_string())
        .with("idempotency-key", letter.id)
        .with("x-gitlab-token", letter.secret)
}

pub(crate) fn cloudevents(letter: &Letter<'_>) -> Signed {
    Signed::json(json!({ "note": letter.note }).to_string())
        .with("ce-specversion", "1.0")
        .with("ce-type", "demo.event")
        .with("ce-source", "/demo")
        .with("ce-id", letter.id)
        .with("authorization", format!("Bearer {}", letter.secret))
}

impl Signed {
    fn new(content_type: &str, body: String) -> Self {
        Self {
            headers: vec![("content-type", content_type.to_owned())],
            body,
        }
    }

    fn json(body: String) -> Self {
        Self::new("application/json", body)
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

fn sha256(key: &[u8], parts: &[&str]) -> Vec<u8> {
    mac::<Hmac<Sha256>>(key, parts)
}

fn sha1(key: &[u8], parts: &[&str]) -> Vec<u8> {
    mac::<Hmac<Sha1>>(key, parts)
}

fn mac<M: Mac + KeyInit>(key: &[u8], parts: &[&str]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().to_vec()
}
