//! The rows. Facts were checked against the named pages on the named day; where old
//! and new pages disagree, the longer window stands.
//!
//! The least retention is the retry window and a margin of an hour or more: a retry
//! that starts within the window may arrive after it.

use super::{Handshake, Provider};
use crate::{
    InFlight,
    key::{IdPart, IdSource},
    signature::{
        BasePart, Digest, EcdsaScheme, Encoding, HmacScheme, KeyForm, Scheme, SignatureForm,
        TimeUnit, Timestamp, TokenScheme,
    },
};
use std::{borrow::Cow::Borrowed, time::Duration};

const CHECKED: &str = "2026-11";

const fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

const fn hours(h: u64) -> Duration {
    Duration::from_secs(h * 3600)
}

/// What most rows share; a row names what differs.
const PLAIN: Provider = Provider {
    name: Borrowed(""),
    id: None,
    scheme: Scheme::Unsigned,
    tolerance: None,
    retry_window: Duration::ZERO,
    least_retention: Duration::ZERO,
    in_flight: InFlight::Unavailable,
    handshake: Handshake::None,
    attempt: None,
    duplicate: None,
    source: "",
    checked: CHECKED,
};

/// HMAC-SHA256 in hexadecimal over the body.
const HEX: HmacScheme = HmacScheme {
    header: Borrowed(""),
    digest: Digest::Sha256,
    encoding: Encoding::Hex,
    form: SignatureForm::Plain(Borrowed("")),
    base: Borrowed(&[BasePart::Body]),
    timestamp: Timestamp::None,
    id_header: None,
    key: KeyForm::Raw,
};

/// The three headers of Standard Webhooks, under their two names.
const STANDARD: HmacScheme = HmacScheme {
    header: Borrowed("webhook-signature"),
    encoding: Encoding::Base64,
    form: SignatureForm::List(Borrowed("v1")),
    base: Borrowed(ID_TIME_BODY),
    timestamp: Timestamp::Header(Borrowed("webhook-timestamp"), TimeUnit::Seconds),
    id_header: Some(Borrowed("webhook-id")),
    key: KeyForm::Whsec,
    ..HEX
};

const SVIX: HmacScheme = HmacScheme {
    header: Borrowed("svix-signature"),
    timestamp: Timestamp::Header(Borrowed("svix-timestamp"), TimeUnit::Seconds),
    id_header: Some(Borrowed("svix-id")),
    ..STANDARD
};

const ID_TIME_BODY: &[BasePart] = &[
    BasePart::Id,
    BasePart::Text(Borrowed(".")),
    BasePart::Timestamp,
    BasePart::Text(Borrowed(".")),
    BasePart::Body,
];

pub(super) const GITHUB: Provider = Provider {
    name: Borrowed("github"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Header(Borrowed(
        "x-github-delivery",
    ))]))),
    scheme: Scheme::Hmac(Borrowed(&[HmacScheme {
        header: Borrowed("x-hub-signature-256"),
        form: SignatureForm::Plain(Borrowed("sha256=")),
        ..HEX
    }])),
    // No automatic retry; by hand or API for three days, with the same id.
    retry_window: hours(72),
    least_retention: hours(73),
    source: "https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks",
    ..PLAIN
};

pub(super) const STRIPE: Provider = Provider {
    name: Borrowed("stripe"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Pointer(Borrowed(
        "/id",
    ))]))),
    scheme: Scheme::Hmac(Borrowed(&[HmacScheme {
        header: Borrowed("stripe-signature"),
        form: SignatureForm::Fields(Borrowed("v1")),
        base: Borrowed(&[
            BasePart::Timestamp,
            BasePart::Text(Borrowed(".")),
            BasePart::Body,
        ]),
        timestamp: Timestamp::Field(Borrowed("t"), TimeUnit::Seconds),
        ..HEX
    }])),
    tolerance: Some(secs(300)),
    retry_window: hours(72),
    least_retention: hours(73),
    source: "https://docs.stripe.com/webhooks",
    ..PLAIN
};

pub(super) const STANDARD_WEBHOOKS: Provider = Provider {
    name: Borrowed("standard-webhooks"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::SignedHeader]))),
    scheme: Scheme::Hmac(Borrowed(&[STANDARD])),
    tolerance: Some(secs(300)),
    // The example schedule ends 75 h 35 m 05 s after the first attempt.
    retry_window: secs(75 * 3600 + 35 * 60 + 5),
    least_retention: hours(77),
    source: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    ..PLAIN
};

pub(super) const SVIX_PRESET: Provider = Provider {
    name: Borrowed("svix"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::SignedHeader]))),
    scheme: Scheme::Hmac(Borrowed(&[SVIX, STANDARD])),
    tolerance: Some(secs(300)),
    retry_window: secs(27 * 3600 + 35 * 60 + 5),
    least_retention: hours(29),
    source: "https://docs.svix.com/retries",
    ..PLAIN
};

pub(super) const SLACK: Provider = Provider {
    name: Borrowed("slack"),
    // Unique over all workspaces.
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Pointer(Borrowed(
        "/event_id",
    ))]))),
    scheme: Scheme::Hmac(Borrowed(&[HmacScheme {
        header: Borrowed("x-slack-signature"),
        form: SignatureForm::Plain(Borrowed("v0=")),
        base: Borrowed(&[
            BasePart::Text(Borrowed("v0:")),
            BasePart::Timestamp,
            BasePart::Text(Borrowed(":")),
            BasePart::Body,
        ]),
        timestamp: Timestamp::Header(Borrowed("x-slack-request-timestamp"), TimeUnit::Seconds),
        ..HEX
    }])),
    tolerance: Some(secs(300)),
    // At once, after a minute, after five; an app may opt in to hourly retries for a day.
    retry_window: hours(24),
    least_retention: hours(25),
    handshake: Handshake::UrlVerification,
    attempt: Some(Borrowed("x-slack-retry-num")),
    source: "https://docs.slack.dev/apis/events-api/",
    ..PLAIN
};

pub(super) const SHOPIFY: Provider = Provider {
    name: Borrowed("shopify"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Header(Borrowed(
        "x-shopify-webhook-id",
    ))]))),
    scheme: Scheme::Hmac(Borrowed(&[HmacScheme {
        header: Borrowed("x-shopify-hmac-sha256"),
        encoding: Encoding::Base64,
        ..HEX
    }])),
    // Eight tries over four hours; until September 2024 nineteen over two days.
    retry_window: hours(4),
    least_retention: hours(5),
    source: "https://shopify.dev/changelog/updates-to-webhook-retry-mechanism",
    ..PLAIN
};

pub(super) const SQUARE: Provider = Provider {
    name: Borrowed("square"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Pointer(Borrowed(
        "/event_id",
    ))]))),
    scheme: Scheme::Hmac(Borrowed(&[HmacScheme {
        header: Borrowed("x-square-hmacsha256-signature"),
        encoding: Encoding::Base64,
        base: Borrowed(&[BasePart::Url, BasePart::Body]),
        ..HEX
    }])),
    // Newer pages say 24 h, older ones 72 h.
    retry_window: hours(72),
    least_retention: hours(73),
    attempt: Some(Borrowed("square-retry-number")),
    source: "https://developer.squareup.com/docs/webhooks/overview",
    ..PLAIN
};

pub(super) const TWILIO: Provider = Provider {
    name: Borrowed("twilio"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Header(Borrowed(
        "i-twilio-idempotency-token",
    ))]))),
    scheme: Scheme::Twilio,
    // Calls and messages are retried within 15 s, event streams for four hours.
    retry_window: hours(4),
    least_retention: hours(5),
    // Twilio wants TwiML; this is the document that does nothing.
    duplicate: Some(("text/xml", "<Response/>")),
    source: "https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides",
    ..PLAIN
};

pub(super) const SENDGRID: Provider = Provider {
    name: Borrowed("sendgrid"),
    id: Some(IdSource::Items(Borrowed(&[IdPart::Pointer(Borrowed(
        "/sg_event_id",
    ))]))),
    scheme: Scheme::Ecdsa(EcdsaScheme {
        header: Borrowed("x-twilio-email-event-webhook-signature"),
        timestamp_header: Borrowed("x-twilio-email-event-webhook-timestamp"),
    }),
    // Nobody says that a retry gets a new timestamp, so one as old as the last retry must
    // pass. A replay within the retention is a duplicate anyway: the ids are signed.
    tolerance: Some(hours(48)),
    // Documented as 24 h; a user counted 46 copies over 29 h (sendgrid/docs#2933).
    retry_window: hours(29),
    least_retention: hours(48),
    source: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    ..PLAIN
};

pub(super) const PAYPAL: Provider = Provider {
    name: Borrowed("paypal"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Pointer(Borrowed(
        "/id",
    ))]))),
    scheme: Scheme::External,
    // 25 tries over three days.
    retry_window: hours(72),
    least_retention: hours(73),
    source: "https://developer.paypal.com/api/rest/webhooks/rest/",
    ..PLAIN
};

pub(super) const GITLAB: Provider = Provider {
    name: Borrowed("gitlab"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Header(Borrowed(
        "idempotency-key",
    ))]))),
    scheme: Scheme::Token(TokenScheme {
        header: Borrowed("x-gitlab-token"),
        prefix: Borrowed(""),
    }),
    // No automatic retry of a single event; by hand from the log of the last two days.
    retry_window: hours(48),
    least_retention: hours(49),
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    ..PLAIN
};

pub(super) const GITLAB_SIGNED: Provider = Provider {
    name: Borrowed("gitlab-signed"),
    // `webhook-id` has the value of `Idempotency-Key`.
    id: Some(IdSource::Parts(Borrowed(&[IdPart::SignedHeader]))),
    scheme: Scheme::Hmac(Borrowed(&[STANDARD])),
    tolerance: Some(secs(300)),
    source: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944",
    ..GITLAB
};

pub(super) const CLOUDEVENTS: Provider = Provider {
    name: Borrowed("cloudevents"),
    id: Some(IdSource::CloudEvents),
    scheme: Scheme::Token(TokenScheme {
        header: Borrowed("authorization"),
        prefix: Borrowed("Bearer "),
    }),
    // The sender's choice; the specification names no window.
    retry_window: Duration::ZERO,
    least_retention: Duration::ZERO,
    // The one status for which the specification makes senders obey `Retry-After`.
    in_flight: InFlight::TooManyRequests,
    handshake: Handshake::WebHookOrigin,
    source: "https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md",
    ..PLAIN
};

pub(super) const UNSIGNED_CLOUDEVENTS: Provider = Provider {
    name: Borrowed("unsigned-cloudevents"),
    scheme: Scheme::Unsigned,
    ..CLOUDEVENTS
};

pub(super) const UNSIGNED_JSON: Provider = Provider {
    name: Borrowed("unsigned-json"),
    id: Some(IdSource::Parts(Borrowed(&[IdPart::Pointer(Borrowed(
        "/id",
    ))]))),
    checked: "",
    ..PLAIN
};

/// All rows, in the order of the documentation's table.
pub(super) static PRESETS: &[Provider] = &[
    GITHUB,
    STRIPE,
    STANDARD_WEBHOOKS,
    SVIX_PRESET,
    SLACK,
    SHOPIFY,
    SQUARE,
    TWILIO,
    SENDGRID,
    PAYPAL,
    GITLAB,
    GITLAB_SIGNED,
    CLOUDEVENTS,
    UNSIGNED_CLOUDEVENTS,
    UNSIGNED_JSON,
];
