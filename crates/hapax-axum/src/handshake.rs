//! What providers ask besides deliveries.

use crate::{Ending, Reason, layer::Shared, pointer::Pointer, provider::Handshake, respond};
use axum::response::{IntoResponse, Response};
use http::{
    HeaderName, HeaderValue, Method, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
    request::Parts,
};
use std::sync::LazyLock;

static REQUEST_ORIGIN: HeaderName = HeaderName::from_static("webhook-request-origin");
static REQUEST_RATE: HeaderName = HeaderName::from_static("webhook-request-rate");
static ALLOWED_ORIGIN: HeaderName = HeaderName::from_static("webhook-allowed-origin");
static ALLOWED_RATE: HeaderName = HeaderName::from_static("webhook-allowed-rate");

static TYPE: LazyLock<Pointer> = LazyLock::new(|| pointer("/type"));
static CHALLENGE: LazyLock<Pointer> = LazyLock::new(|| pointer("/challenge"));

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).expect("a constant pointer")
}

/// Answers a handshake that comes with a method of its own.
///
/// CloudEvents: `OPTIONS` with the sender's origin. Consent names the origin; a
/// refusal is 403 without it.
/// <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md>
pub(crate) fn by_method(shared: &Shared, parts: &Parts) -> Option<Response> {
    if shared.rules.handshake != Handshake::WebHookOrigin || parts.method != Method::OPTIONS {
        return None;
    }
    let origin = parts.headers.get(&REQUEST_ORIGIN)?;
    let origins = &shared.rules.origins;
    let agreed = origins.is_empty()
        || origins
            .iter()
            .any(|ours| ours == "*" || ours.as_bytes().eq_ignore_ascii_case(origin.as_bytes()));
    if !agreed {
        return Some(respond::refuse(shared, Reason::OriginRefused));
    }
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    headers.insert(ALLOWED_ORIGIN.clone(), origin.clone());
    headers.insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    if parts.headers.contains_key(&REQUEST_RATE) {
        headers.insert(ALLOWED_RATE.clone(), HeaderValue::from_static("*"));
    }
    Some(answered(shared, response))
}

/// Answers a handshake that looks like a delivery. Runs after the signature check.
///
/// Slack: a JSON body with `"type": "url_verification"`; the challenge goes back as
/// text. <https://docs.slack.dev/reference/events/url_verification>
pub(crate) fn by_body(shared: &Shared, body: &[u8]) -> Option<Response> {
    if shared.rules.handshake != Handshake::UrlVerification
        || TYPE.find(body).ok()? != "url_verification"
    {
        return None;
    }
    let challenge = CHALLENGE.find(body).ok()?.into_owned();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    let response = ([(CONTENT_TYPE, kind)], challenge).into_response();
    Some(answered(shared, response))
}

fn answered(shared: &Shared, response: Response) -> Response {
    shared.counting.handshakes.add(1);
    respond::finish(shared, response, Ending::Handshake)
}
