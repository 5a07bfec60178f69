//! What do logs show, and what do they not?

use crate::rig::{Rig, Runs, json, raw};
use hapax_axum::{Builder, Provider};
use http::StatusCode;
use std::{cell::RefCell, fmt::Write, sync::Once};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

const ID: &str = "evt_very_private";
/// `printf %s evt_very_private | sha256sum | cut -c1-16`
const HASHED: &str = "a9bb6243872b682e";

thread_local! {
    /// What the events of this thread said. A test and its runtime are one thread.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Writes every event of this crate as one line: level, then fields.
///
/// One for the whole process: `tracing` caches who is interested in an event, and
/// subscribers that come and go on several threads make that cache a race.
struct Lines;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("hapax")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Fields(&mut line));
        LINES.with_borrow_mut(|lines| lines.push(line));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Runs requests and returns the lines they caused.
async fn lines(
    provider: Provider,
    configure: impl FnOnce(Builder) -> Builder,
    status: StatusCode,
    requests: impl IntoIterator<Item = axum::extract::Request>,
) -> Vec<String> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| tracing::subscriber::set_global_default(Lines).expect("the first"));
    LINES.take();
    let rig = Rig::with(provider, configure, move || async move { status });
    for request in requests {
        rig.send(request).await;
    }
    LINES.take()
}

#[tokio::test]
async fn events_tell_provider_outcome_and_hashed_id() {
    let lines = lines(
        Provider::unsigned_json(),
        |b| b,
        StatusCode::OK,
        [json(ID), json(ID)],
    )
    .await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, outcome) in lines.iter().zip(["completed", "duplicate"]) {
        assert!(line.starts_with("DEBUG"), "{line}");
        assert!(line.contains(r#"provider="unsigned-json""#), "{line}");
        assert!(line.contains(&format!("outcome={outcome:?}")), "{line}");
        assert!(line.contains(&format!("id={HASHED}")), "{line}");
    }
}

#[tokio::test]
async fn refusals_tell_the_reason() {
    let signed = raw("{}");
    let lines = lines(
        Provider::github(),
        |b| b.secret("hush"),
        StatusCode::OK,
        [signed],
    )
    .await;
    assert_eq!(
        lines,
        [r#"INFO message=refused provider="github" reason="signature missing""#]
    );
}

#[tokio::test]
async fn sender_that_goes_away_is_no_error() {
    use http_body_util::channel::Channel;
    let (sender, body) = Channel::<bytes::Bytes, std::io::Error>::new(1);
    sender.abort(std::io::ErrorKind::ConnectionReset.into());
    let broken = raw(axum::body::Body::new(body));
    let lines = lines(Provider::unsigned_json(), |b| b, StatusCode::OK, [broken]).await;
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("DEBUG"), "{lines:?}");
}

#[tokio::test]
async fn neither_ids_nor_secrets_appear_at_any_level() {
    let all = [
        lines(
            Provider::unsigned_json(),
            |b| b,
            StatusCode::OK,
            [json(ID), json(ID)],
        )
        .await,
        lines(
            Provider::unsigned_json(),
            |b| b,
            StatusCode::BAD_GATEWAY,
            [json(ID)],
        )
        .await,
        lines(
            Provider::stripe(),
            |b| b.secret("hush"),
            StatusCode::OK,
            [json(ID)],
        )
        .await,
    ]
    .concat();
    assert!(all.len() >= 4);
    for line in &all {
        assert!(!line.contains(ID) && !line.contains("hush"), "{line}");
    }
    let layer = Rig::with(
        Provider::github(),
        |b| b.secret("hush"),
        Runs::default().accepting(),
    );
    assert!(!format!("{:?}", layer.layer).contains("hush"));
}
