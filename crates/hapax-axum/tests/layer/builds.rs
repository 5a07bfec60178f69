//! Which settings are refused, and do the errors say why?

use crate::rig::{RETENTION, Rig};
use hapax_axum::signature::{SignedRequest, Verify, VerifyError};
use hapax_axum::{BuildError, Builder, IdSource, InFlight, LeasePolicy, Provider, WebhookLayer};
use hapax_store::MemoryStore;
use std::time::Duration;

fn error(provider: Provider, configure: impl FnOnce(Builder) -> Builder) -> BuildError {
    match Rig::try_with(provider, configure, || async {}) {
        Ok(_) => panic!("should not build"),
        Err(error) => error,
    }
}

fn message(provider: Provider, configure: impl FnOnce(Builder) -> Builder) -> String {
    error(provider, configure).to_string()
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn retention_below_the_window_names_both() {
    let build = |retention| {
        WebhookLayer::builder(Provider::stripe(), MemoryStore::new(retention)).secret("s")
    };
    let error = build(HOUR).build().unwrap_err();
    assert_eq!(
        error,
        BuildError::RetentionTooShort {
            provider: "stripe".into(),
            given: HOUR,
            window: 72 * HOUR,
            least: 73 * HOUR,
        }
    );
    let message = error.to_string();
    assert!(
        message.contains("3600s") && message.contains("259200s"),
        "{message}"
    );
    assert!(build(72 * HOUR).build().is_err());
    assert!(build(73 * HOUR).build().is_ok());
    assert!(build(HOUR).allow_short_retention().build().is_ok());
}

#[test]
fn every_preset_builds_with_96_hours() {
    struct No;
    impl Verify for No {
        async fn verify(&self, _: &SignedRequest) -> Result<(), VerifyError> {
            Err(VerifyError::Wrong)
        }
    }
    // A P-256 key, which is good base64 and a good token too.
    let key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==";
    for provider in Provider::presets() {
        let name = provider.name().to_owned();
        assert!(provider.least_retention() >= provider.window(), "{name}");
        let store = MemoryStore::new(RETENTION);
        let mut builder = WebhookLayer::builder(provider.clone(), store).url("https://x.example");
        match &*name {
            "paypal" => builder = builder.verifier(No),
            name if name.starts_with("unsigned") => {}
            _ => builder = builder.secret(key),
        }
        builder
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn secrets_are_wanted_where_they_are_checked_and_nowhere_else() {
    assert_eq!(
        message(Provider::github(), |b| b),
        "github signs its requests and no secret was given"
    );
    assert_eq!(
        message(Provider::github(), |b| b.secrets(["x", ""])),
        "secret 1 for github is empty; at least 1 byte is needed"
    );
    assert_eq!(
        message(Provider::unsigned_json(), |b| b.secret("x")),
        "unsigned-json checks no secret, and one was given"
    );
    assert_eq!(
        message(Provider::standard_webhooks(), |b| b
            .secret("whsec_no base64")),
        "secret 0 for standard-webhooks should be `whsec_` and base64"
    );
    assert!(matches!(
        error(Provider::standard_webhooks(), |b| b.secret("whsec_")),
        BuildError::SecretMalformed { .. }
    ));
    assert!(matches!(
        error(Provider::sendgrid(), |b| b.secret("AAAA")),
        BuildError::SecretMalformed { .. }
    ));
    assert_eq!(
        message(Provider::github(), |b| b.secrets(["x"; 17])),
        "17 secrets were given; at most 16 are tried"
    );
}

/// Such a token was taken, and then no request could ever match it.
#[test]
fn a_token_that_no_header_can_hold_is_refused_without_showing_it() {
    let bearer = Provider::cloudevents;
    let expected = "should be printable ascii that makes a header of at most 4096 bytes";
    for bad in [
        "hush\u{e9}",
        "hush\n",
        "hush\0",
        "\thush",
        &"hush".repeat(1024),
    ] {
        let said = message(bearer(), |b| b.secrets(["good", bad]));
        assert_eq!(said, format!("secret 1 for cloudevents {expected}"));
    }
    // The whole header counts, and gitlab's has nothing before the token.
    let most = "x".repeat(4096);
    let built =
        |provider, token: &str| Rig::try_with(provider, |b| b.secret(token), || async {}).is_ok();
    assert!(built(Provider::gitlab(), &most));
    assert!(!built(Provider::gitlab(), &format!("{most}x")));
    assert!(built(bearer(), &most["Bearer ".len()..]));
    assert!(!built(bearer(), &most["Bearer".len()..]));
    // A keyed hash takes any bytes.
    assert!(built(Provider::github(), "hush\u{e9}\n"));
}

#[test]
fn urls_and_verifiers_are_wanted_where_they_are_used() {
    for provider in [Provider::square(), Provider::twilio()] {
        assert!(matches!(
            error(provider.clone(), |b| b.secret("x")),
            BuildError::UrlMissing { .. }
        ));
        assert!(matches!(
            error(provider, |b| b.secret("x").url("")),
            BuildError::UrlMissing { .. }
        ));
    }
    assert!(matches!(
        error(Provider::paypal(), |b| b),
        BuildError::VerifierMissing { .. }
    ));
}

#[test]
fn ranges_are_checked_and_named() {
    let unsigned = Provider::unsigned_json;
    assert_eq!(
        message(unsigned(), |b| b.store_timeout(Duration::ZERO)),
        "the store timeout of 0ns is not in 1ms to 86400s"
    );
    assert_eq!(
        message(unsigned(), |b| b.handler_limit(Duration::ZERO)),
        "the handler limit of 0ns is not in 1ms to 86400s"
    );
    assert_eq!(
        message(unsigned(), |b| b.body_limit(0)),
        "the body limit of 0 is not in 1 to 1073741824"
    );
    for (name, error) in [
        (
            "limit",
            error(unsigned(), |b| b.handler_limit(Duration::MAX)),
        ),
        (
            "timeout",
            error(unsigned(), |b| b.body_timeout(Duration::ZERO)),
        ),
        ("batch", error(unsigned(), |b| b.batch_limit(0))),
        (
            "tolerance",
            error(unsigned(), |b| b.tolerance(Duration::MAX)),
        ),
        (
            "wait",
            error(unsigned(), |b| b.in_flight(InFlight::Wait(Duration::ZERO))),
        ),
        ("body", error(unsigned(), |b| b.body_limit(usize::MAX))),
    ] {
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(
        error(unsigned(), |b| b.methods([])),
        BuildError::MethodsEmpty
    );
}

#[test]
fn lease_over_the_retention_is_an_error() {
    for lease in [
        LeasePolicy::Fixed(RETENTION + Duration::from_millis(1)),
        LeasePolicy::Renewed(Duration::ZERO),
        LeasePolicy::Renewed(Duration::MAX),
    ] {
        assert!(matches!(
            error(Provider::unsigned_json(), |b| b.lease(lease)),
            BuildError::DurationOutOfRange {
                setting: "the lease",
                ..
            }
        ));
    }
    let margin = LeasePolicy::Budget {
        margin: Duration::MAX,
    };
    assert!(Rig::try_with(Provider::unsigned_json(), |b| b.lease(margin), || async {}).is_ok());
}

#[test]
fn names_and_pointers_are_parsed() {
    let custom = |id| Provider::custom("acme").id(id);
    assert_eq!(
        message(custom(IdSource::header("not a header")), |b| b),
        "\"not a header\" is not a header name"
    );
    for pointer in ["", "id", "/a~2", "/a~"] {
        assert!(matches!(
            error(custom(IdSource::pointer(pointer)), |b| b),
            BuildError::PointerMalformed { .. }
        ));
    }
    assert!(matches!(
        error(Provider::custom("acme"), |b| b),
        BuildError::IdMissing { .. }
    ));
    assert!(matches!(
        error(Provider::unsigned_json(), |b| b.outcome_header("a b")),
        BuildError::HeaderName { .. }
    ));
}
