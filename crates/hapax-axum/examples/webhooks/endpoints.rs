//! The endpoints, one row each, and the layer in front of every one of them.

use crate::sign::{self, Letter, Signed};
use anyhow::{Context, bail};
use hapax_axum::{Builder, LeasePolicy, Provider, WebhookLayer};
use hapax_store::ClaimStore;
use std::time::Duration;

/// One route and the sender it is for.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) path: &'static str,
    preset: fn() -> Provider,
    /// The environment variable with the secrets; empty where nothing is signed.
    pub(crate) variable: &'static str,
    pub(crate) demo_secret: &'static str,
    pub(crate) sign: fn(&Letter<'_>) -> Signed,
    /// Whether a body is an array of events.
    pub(crate) batch: bool,
}

const PLAIN: Endpoint = Endpoint {
    path: "",
    preset: Provider::unsigned_json,
    variable: "",
    demo_secret: "",
    sign: sign::webhook,
    batch: false,
};

/// All endpoints, in the order of the printed lines.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/github",
        preset: Provider::github,
        variable: "HAPAX_SECRET_GITHUB",
        demo_secret: "demo-github",
        sign: sign::github,
        ..PLAIN
    },
    Endpoint {
        path: "/stripe",
        preset: Provider::stripe,
        variable: "HAPAX_SECRET_STRIPE",
        demo_secret: "whsec_demo-stripe",
        sign: sign::stripe,
        ..PLAIN
    },
    Endpoint {
        path: "/standard",
        preset: Provider::standard_webhooks,
        variable: "HAPAX_SECRET_STANDARD",
        demo_secret: "whsec_ZGVtby1zdGFuZGFyZC13ZWJob29rcw==",
        sign: sign::standard,
        ..PLAIN
    },
    Endpoint {
        path: "/webhook",
        ..PLAIN
    },
    Endpoint {
        path: "/slack",
        preset: Provider::slack,
        variable: "HAPAX_SECRET_SLACK",
        demo_secret: "demo-slack",
        sign: sign::slack,
        ..PLAIN
    },
    Endpoint {
        path: "/shopify",
        preset: Provider::shopify,
        variable: "HAPAX_SECRET_SHOPIFY",
        demo_secret: "demo-shopify",
        sign: sign::shopify,
        ..PLAIN
    },
    Endpoint {
        path: "/svix",
        preset: Provider::svix,
        variable: "HAPAX_SECRET_SVIX",
        demo_secret: "whsec_ZGVtby1zdml4LXNlY3JldA==",
        sign: sign::svix,
        ..PLAIN
    },
    Endpoint {
        path: "/square",
        preset: Provider::square,
        variable: "HAPAX_SECRET_SQUARE",
        demo_secret: "demo-square",
        sign: sign::square,
        ..PLAIN
    },
    Endpoint {
        path: "/twilio",
        preset: Provider::twilio,
        variable: "HAPAX_SECRET_TWILIO",
        demo_secret: "demo-twilio",
        sign: sign::twilio,
        ..PLAIN
    },
    Endpoint {
        path: "/sendgrid",
        preset: Provider::sendgrid,
        variable: "HAPAX_SECRET_SENDGRID",
        // The public key to the private one in `sign.rs`.
        demo_secret: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==",
        sign: sign::sendgrid,
        batch: true,
    },
    Endpoint {
        path: "/gitlab",
        preset: Provider::gitlab,
        variable: "HAPAX_SECRET_GITLAB",
        demo_secret: "demo-gitlab",
        sign: sign::gitlab,
        ..PLAIN
    },
    Endpoint {
        path: "/cloudevents",
        preset: Provider::cloudevents,
        variable: "HAPAX_SECRET_CLOUDEVENTS",
        demo_secret: "demo-cloudevents",
        sign: sign::cloudevents,
        ..PLAIN
    },
];

/// What all layers have in common.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) lease: Duration,
    pub(crate) allow_short_retention: bool,
    /// The service's address as senders know it, without a slash at the end.
    pub(crate) public_url: String,
}

/// An endpoint's secrets, and whether they are the demo's.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    pub(crate) values: Vec<String>,
    pub(crate) demo: bool,
}

/// An endpoint that is set up.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) endpoint: &'static Endpoint,
    pub(crate) secrets: Secrets,
    pub(crate) layer: WebhookLayer,
}

/// Sets up all endpoints on one store.
///
/// # Errors
///
/// If a variable is set but holds no secret, or the layer refuses a setting.
pub(crate) fn open_all(
    store: &(impl ClaimStore + Clone),
    settings: &Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Vec<Open>> {
    let open = |endpoint: &'static Endpoint| {
        let secrets = endpoint.secrets(&variable)?;
        let layer = endpoint
            .builder(&secrets, store.clone(), settings)
            .build()
            .with_context(|| format!("cannot set up {}", endpoint.path))?;
        Ok(Open {
            endpoint,
            secrets,
            layer,
        })
    };
    ENDPOINTS.iter().map(open).collect()
}

impl Endpoint {
    /// Reads the secrets from the environment.
    ///
    /// # Errors
    ///
    /// If the variable is set but holds no secret: an empty variable is a mistake, and
    /// falling back to a secret that everyone knows would hide it.
    pub(crate) fn secrets(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Secrets> {
        let Some(list) = variable(self.variable).filter(|_| !self.variable.is_empty()) else {
            return Ok(self.demo_secrets());
        };
        let values: Vec<String> = list.split(',').map(|s| s.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            bail!("{} has an empty secret in its list", self.variable);
        }
        Ok(Secrets {
            values,
            demo: false,
        })
    }

    pub(crate) fn demo_secrets(&self) -> Secrets {
        let unsigned = self.variable.is_empty();
        Secrets {
            values: (!unsigned)
                .then(|| self.demo_secret.to_owned())
                .into_iter()
                .collect(),
            demo: true,
        }
    }

    /// Starts the layer for this endpoint.
    pub(crate) fn builder(
        &self,
        secrets: &Secrets,
        store: impl ClaimStore,
        settings: &Settings,
    ) -> Builder {
        let builder = WebhookLayer::builder((self.preset)(), store)
            .secrets(&secrets.values)
            .lease(LeasePolicy::Renewed(settings.lease))
            .url(self.url(&settings.public_url));
        if settings.allow_short_retention {
            builder.allow_short_retention()
        } else {
            builder
        }
    }

    /// Returns the address the sender calls.
    pub(crate) fn url(&self, public_url: &str) -> String {
        format!("{public_url}{}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{handler, sign::Signed};
    use axum::{Router, body::Body, extract::Request, http::StatusCode, routing::post};
    use hapax_store::MemoryStore;
    use std::time::{SystemTime, UNIX_EPOCH};
    use tower::ServiceExt;

    fn open(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Vec<Open>> {
        let store = MemoryStore::new(Duration::from_secs(96 * 3600));
        let settings = Settings {
            lease: Duration::from_secs(30),
            allow_short_retention: false,
            public_url: "https://webhooks.example".to_owned(),
        };
        open_all(&store, &settings, variable)
    }

    async fn post_to(app: &Router, path: &str, signed: &Signed) -> StatusCode {
        let mut request = Request::post(path);
        for (name, value) in &signed.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(signed.body.clone()));
        let Ok(response) = app.clone().oneshot(request.expect("a request")).await;
        response.status()
    }

    fn letter<'a>(secret: &'a str, url: &'a str) -> Letter<'a> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Letter {
            id: "evt_1",
            note: "Said only once.",
            secret,
            url,
            now_s: now.expect("a clock after 1970").as_secs(),
        }
    }

    #[tokio::test]
    async fn every_endpoint_takes_its_first_and_drops_its_second() {
        for open in open(|_| None).expect("demo secrets") {
            let path = open.endpoint.path;
            let app = Router::new().route(path, post(handler::receive).layer(open.layer));
            let url = open.endpoint.url("https://webhooks.example");
            let signed = (open.endpoint.sign)(&letter(open.endpoint.demo_secret, &url));
            assert_eq!(post_to(&app, path, &signed).await, 202, "{path}");
            assert_eq!(post_to(&app, path, &signed).await, 200, "{path}");
        }
    }

    #[tokio::test]
    async fn a_forgery_is_refused_at_every_signed_endpoint() {
        // Another key of a form that every signer takes.
        let forger = "whsec_Zm9yZ2Vy";
        for open in open(|_| None).expect("demo secrets") {
            let (path, endpoint) = (open.endpoint.path, open.endpoint);
            if endpoint.variable.is_empty() {
                continue;
            }
            let app = Router::new().route(path, post(handler::receive).layer(open.layer));
            let url = endpoint.url("https://webhooks.example");
            let mut signed = (endpoint.sign)(&letter(forger, &url));
            if endpoint.batch {
                // Signed with a key of its own; so what was signed is changed.
                signed.body.push(' ');
            }
            assert_eq!(post_to(&app, path, &signed).await, 401, "{path}");
        }
    }

    #[tokio::test]
    async fn both_secrets_are_taken_while_they_rotate() {
        let list = |name: &str| (name == "HAPAX_SECRET_GITHUB").then(|| "new, old".to_owned());
        let open = open(list).expect("two secrets").swap_remove(0);
        assert!(!open.secrets.demo);
        let app = Router::new().route("/github", post(handler::receive).layer(open.layer));
        let old = sign::github(&letter("old", ""));
        assert_eq!(post_to(&app, "/github", &old).await, 202);
        let new = sign::github(&letter("new", ""));
        assert_eq!(post_to(&app, "/github", &new).await, 200);
    }

    #[test]
    fn an_empty_secret_is_a_mistake() {
        for list in ["", "a,,b", "a,"] {
            let empty = |name: &str| (name == "HAPAX_SECRET_SLACK").then(|| list.to_owned());
            let error = open(empty).expect_err("an empty secret");
            assert_eq!(
                error.to_string(),
                "HAPAX_SECRET_SLACK has an empty secret in its list"
            );
        }
    }
}
