//! A complete webhook service: signed deliveries in, every duplicate dropped, no event
//! lost, and a storm to prove it.
//!
//! ```text
//! cargo run --release -p hapax-axum --example webhooks
//! cargo run --release -p hapax-axum --example webhooks -- --storm 20000
//! cargo run --release -p hapax-axum --example webhooks -- --store redis://127.0.0.1:6379
//! ```
//!
//! Where to read what: `handler.rs` is the work itself and knows nothing of duplicates;
//! `endpoints.rs` puts the layer in front of it, once per sender; `server.rs` accepts,
//! stops, and lets what runs finish; `store.rs` chooses where claims are kept. `storm/` is the other side: senders with every
//! kind of trouble, and an oracle that judges the outcome without asking the layer.

mod curl;
mod endpoints;
mod handler;
mod live;
mod options;
mod page;
mod prometheus;
mod server;
mod sign;
mod signals;
mod status;
mod store;
mod storm;

use anyhow::Context;
use axum::{
    Router,
    routing::{get, post},
};
use endpoints::{Open, Settings};
use futures_util::future::join_all;
use live::Live;
use options::Options;
use prometheus::Metrics;
use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    sync::Arc,
};
use store::{Place, Store};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// What the routes share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) open: Vec<Open>,
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// The service's address for somebody on this machine.
    pub(crate) base: String,
    pub(crate) live: Arc<Live>,
    pub(crate) metrics: Metrics,
    /// Ends the streams of the page, which never end by themselves.
    pub(crate) stopping: CancellationToken,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::read();
    let ran = match options.storm {
        _ if options.storm_node => storm::node().await,
        Some(deliveries) => storm::command(&options, deliveries).await,
        None => serve(&options).await.map(|()| ExitCode::SUCCESS),
    };
    ran.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        if let Some(hint) = hint(&error) {
            eprintln!("hint: {hint}");
        }
        ExitCode::FAILURE
    })
}

/// Serves until asked to stop, then lets the running handlers finish.
async fn serve(options: &Options) -> anyhow::Result<()> {
    let (retention, lease) = (options.retention(), options.lease());
    // Before the log, which would tell a server's warnings a second time.
    let store = Store::open(&options.store, retention).await?;
    let live = Arc::new(Live::new());
    log(&live)?;
    let listener = server::listen(&options.listen).await.with_context(|| {
        let listen = &options.listen;
        format!("cannot listen on {listen} (choose another address with --listen)")
    })?;
    let mut local = listener.local_addr()?;
    let exposed = !local.ip().is_loopback();
    if local.ip().is_unspecified() {
        local.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let base = format!("http://{local}");
    let public_url = options.public_url.as_deref().unwrap_or(&base);
    let settings = Settings {
        lease,
        allow_short_retention: options.short_retention_is_meant(),
        public_url: public_url.trim_end_matches('/').to_owned(),
    };
    let open = endpoints::open_all(store.claims(), &settings, |name| std::env::var(name).ok())?;
    let service = Arc::new(Service {
        open,
        store,
        settings,
        base,
        live,
        metrics: Metrics::install()?,
        stopping: CancellationToken::new(),
    });
    tokio::spawn(page::tick(Arc::clone(&service)));

    say(&format!(
        "ready on {} (claims {}, retention {}, lease {}); Ctrl-C stops\n{}",
        service.base,
        match options.store {
            Place::Memory => "in memory",
            Place::Server(_) => "on a server",
        },
        humantime::format_duration(retention),
        humantime::format_duration(lease),
        curl::at_start(&service.open, &service.base, &service.settings.public_url),
    ));
    if exposed && service.open.iter().any(|open| open.secrets.demo) {
        tracing::warn!("reachable from elsewhere with demo secrets that everyone knows");
    }

    let stop = async {
        let signal = signals::stop_asked().await;
        let running: u64 = service
            .open
            .iter()
            .map(|o| o.layer.counters().running)
            .sum();
        let wait = humantime::format_duration(options.drain);
        say(&format!(
            "\n{signal}: stopping; {running} handlers are running and have {wait}\n"
        ));
        service.stopping.cancel();
    };
    let drain = async {
        let drains = service.open.iter().map(|o| o.layer.drain(options.drain));
        let drained = join_all(drains).await;
        drained.iter().map(|drained| drained.stopped).sum()
    };
    let app = router(&service);
    let stopped: usize = tokio::select! {
        stopped = server::serve(listener, app, stop, drain) => stopped,
        // Whoever asks a second time does not want to wait.
        () = asked_twice() => anyhow::bail!("stopped at once; claims were not settled"),
    };
    say(&format!(
        "stopped; every claim is settled, {stopped} handlers had to be cut off\n{}\n",
        status::totals(&service)
    ));
    Ok(())
}

/// All routes.
fn router(service: &Arc<Service>) -> Router {
    let mut app = Router::new()
        .route("/", get(page::page))
        .route("/events", get(page::events))
        .route("/stats", get(status::stats))
        .route("/healthz", get(status::healthz))
        .route("/try", get(status::lines))
        .route("/metrics", get(prometheus::metrics))
        .with_state(Arc::clone(service));
    for open in &service.open {
        let handler = post(handler::receive).layer(open.layer.clone());
        app = app.route(open.endpoint.path, handler);
    }
    app
}

/// Logs to standard error, and feeds the live page.
fn log(live: &Arc<Live>) -> anyhow::Result<()> {
    let level = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    let level: Targets = level.parse().context("RUST_LOG cannot be read")?;
    let terminal = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(terminal)
        .with_filter(level);
    tracing_subscriber::registry()
        .with(lines)
        .with(live::feed(live))
        .try_init()?;
    Ok(())
}

async fn asked_twice() {
    signals::stop_asked().await;
    signals::stop_asked().await;
}

/// What might help, for mistakes that are easy to make.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    use hapax_axum::BuildError::RetentionTooShort;
    use hapax_redis::BuildError::TlsNotBuilt;
    if let Some(RetentionTooShort { .. }) = error.downcast_ref() {
        return Some("--allow-short-retention starts all the same, for a demonstration");
    }
    if let Some(TlsNotBuilt) = error.downcast_ref() {
        return Some(
            "cargo run --release -p hapax-axum -p hapax-redis --features hapax-redis/tls \
             --example webhooks (needs a C compiler)",
        );
    }
    None
}

/// Prints; that nobody reads it is no reason to stop.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
