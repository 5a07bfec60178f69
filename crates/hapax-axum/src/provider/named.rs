//! The presets by name, with what their users should know.

use super::{Provider, presets};

impl Provider {
    /// Returns all presets.
    #[must_use]
    pub fn presets() -> &'static [Self] {
        presets::PRESETS
    }

    /// GitHub: `X-GitHub-Delivery`, HMAC over the body. The id header is not signed;
    /// see [`Builder::bind_body`](crate::Builder::bind_body).
    #[must_use]
    pub fn github() -> Self {
        presets::GITHUB
    }

    /// Stripe: the body's `id`, HMAC over timestamp and body.
    #[must_use]
    pub fn stripe() -> Self {
        presets::STRIPE
    }

    /// Standard Webhooks: `webhook-id`, signed together with timestamp and body.
    /// Secrets are `whsec_` and base64.
    #[must_use]
    pub fn standard_webhooks() -> Self {
        presets::STANDARD_WEBHOOKS
    }

    /// Svix: Standard Webhooks under `svix-` names, or under their own.
    #[must_use]
    pub fn svix() -> Self {
        presets::SVIX_PRESET
    }

    /// Slack's Events API: the body's `event_id`; answers `url_verification`.
    #[must_use]
    pub fn slack() -> Self {
        presets::SLACK
    }

    /// Shopify: `X-Shopify-Webhook-Id`, one delivery of one subscription. To treat one
    /// merchant action as one event over several subscriptions, take
    /// `X-Shopify-Event-Id` with [`Provider::id`].
    #[must_use]
    pub fn shopify() -> Self {
        presets::SHOPIFY
    }

    /// Square: the body's `event_id`; the notification URL is signed, so the builder
    /// needs [`url`](crate::Builder::url).
    #[must_use]
    pub fn square() -> Self {
        presets::SQUARE
    }

    /// Twilio: `I-Twilio-Idempotency-Token`; the URL is signed, so the builder needs
    /// [`url`](crate::Builder::url).
    ///
    /// A duplicate is answered with an empty TwiML document, not with the first answer.
    #[must_use]
    pub fn twilio() -> Self {
        presets::TWILIO
    }

    /// SendGrid's Event Webhook: an array of events, each with its `sg_event_id`.
    /// Secrets are public keys. See [`Items`](crate::Items).
    #[must_use]
    pub fn sendgrid() -> Self {
        presets::SENDGRID
    }

    /// PayPal: the body's `id`; bring a [`Verify`](crate::signature::Verify) for the
    /// certificate and see [`paypal::signed_text`](crate::paypal::signed_text).
    #[must_use]
    pub fn paypal() -> Self {
        presets::PAYPAL
    }

    /// GitLab with a secret token: `Idempotency-Key`, and a token that proves nothing
    /// about the body. Prefer [`gitlab_signed`](Self::gitlab_signed) where GitLab
    /// offers it.
    #[must_use]
    pub fn gitlab() -> Self {
        presets::GITLAB
    }

    /// GitLab with a signing token: Standard Webhooks.
    #[must_use]
    pub fn gitlab_signed() -> Self {
        presets::GITLAB_SIGNED
    }

    /// CloudEvents with a bearer token: `id` and `source` together, from headers, body
    /// or batch; answers the `OPTIONS` handshake.
    #[must_use]
    pub fn cloudevents() -> Self {
        presets::CLOUDEVENTS
    }

    /// CloudEvents without any proof of the sender. Anyone who can reach the endpoint
    /// can make a real event vanish by sending its id first.
    #[must_use]
    pub fn unsigned_cloudevents() -> Self {
        presets::UNSIGNED_CLOUDEVENTS
    }

    /// A JSON body with a string `id`, without any proof of the sender. Anyone who can
    /// reach the endpoint can make a real event vanish by sending its id first.
    #[must_use]
    pub fn unsigned_json() -> Self {
        presets::UNSIGNED_JSON
    }
}
