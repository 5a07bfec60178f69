//! Drives the service with every kind of trouble and judges the outcome.
//!
//! Two sides meet over real HTTP. The *target* (`target.rs`) is the service with its
//! endpoints and layers, but with a handler that does what each request orders: succeed,
//! fail, panic, take its time. The *senders* (`plan.rs`, `sender.rs`, `pool.rs`) repeat,
//! copy, hang up and retry as real ones do, over a bounded number of connections.
//!
//! With a store in memory the target is in this process. With a store on a server it is
//! in several processes (`fleet.rs`, `node.rs`), of which some may be killed on the way
//! (`nodes.rs`), and each request goes to any of them.
//!
//! The *oracle* (`verdict.rs`) never asks the layer. The handler itself records in the
//! *books* (`ledger.rs`, `books.rs`) when each run began and ended, and the senders record
//! what was acknowledged to them. From these two lists alone it follows what was lost and
//! what was processed twice. `planted.rs` breaks the layer and its store in several ways
//! and shows that the oracle notices.

mod books;
mod entry;
mod fleet;
mod ledger;
mod moment;
mod node;
mod nodes;
mod plan;
#[cfg(test)]
mod planted;
mod pool;
mod report;
mod sender;
mod target;
mod verdict;

use crate::{
    endpoints::Settings,
    options::Options,
    say, server,
    store::{Place, Store},
};
use anyhow::Context;
use books::Books;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};
use ledger::Ledger;
use node::Account;
use plan::Errand;
use pool::Pool;
use report::Report;
use sender::Senders;
use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use target::{Ground, Target};
use tokio::sync::oneshot;

/// How many connections `--storm` uses.
const CONNECTIONS: usize = 64;

/// How long handlers may go on after the last sender is content.
const DRAIN: Duration = Duration::from_secs(10);

/// The fixed lease of the endpoint whose handlers outlast it.
const SHORT_LEASE: Duration = Duration::from_millis(300);

/// The service's address for its senders, which some sign.
const PUBLIC_URL: &str = "https://webhooks.example";

/// What a storm in one process needs to know.
pub(crate) struct Storm {
    pub(crate) deliveries: u32,
    pub(crate) seed: u64,
    /// How many connections the senders share.
    pub(crate) connections: usize,
    pub(crate) ground: Ground,
}

/// Runs `--storm` and prints its table. Failure if the oracle found fault.
pub(crate) async fn command(options: &Options, deliveries: u32) -> anyhow::Result<ExitCode> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let good = match &options.store {
        Place::Memory => in_memory(options, deliveries, seed).await?,
        Place::Server(url) => {
            let report = nodes::storm(options, url, deliveries, seed).await?;
            say(&report.table());
            report.is_good()
        }
    };
    Ok(match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Is one of the processes of a storm on a server.
pub(crate) async fn node() -> anyhow::Result<ExitCode> {
    node::follow().await.map(|()| ExitCode::SUCCESS)
}

async fn in_memory(options: &Options, deliveries: u32, seed: u64) -> anyhow::Result<bool> {
    // Starts as small as it can, so that it has to grow under way.
    let store = Store::memory(options.retention())?;
    let set = store.memory_set().context("a store in memory")?;
    let before = set.stats();
    let storm = Storm {
        deliveries,
        seed,
        connections: CONNECTIONS,
        ground: Ground {
            settings: Settings {
                lease: options.lease(),
                allow_short_retention: options.short_retention_is_meant(),
                public_url: PUBLIC_URL.to_owned(),
            },
            short_lease: SHORT_LEASE,
            store: store.claims().clone(),
            tweak: |builder| builder,
        },
    };
    let report = storm.run().await?;
    say(&report.table());
    let after = set.stats();
    say(&format!(
        "  the set: {} ids, grown from {} tables to {}, {} KiB\n",
        after.live,
        before.tables,
        after.tables,
        after.bytes / 1024
    ));
    Ok(report.is_good())
}

impl Storm {
    /// Sends everything, waits for all handlers, and judges.
    pub(crate) async fn run(&self) -> anyhow::Result<Report> {
        let ground = &self.ground;
        let books = Arc::new(Books::default());
        let target = Target::build(ground, &Arc::new(Ledger::of(&books)))?;
        let listener = server::listen("127.0.0.1:0").await?;
        let pool = Pool::new(&[listener.local_addr()?], self.connections);
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let app = target.router();
        let serving = tokio::spawn(server::serve(listener, app, stopped, async {}));

        let public_url = &ground.settings.public_url;
        let senders = Senders::new(pool, public_url, ground.short_lease, &books);
        let senders = Arc::new(senders);
        let plan = plan::plan(self.deliveries, self.seed);
        let took = rage(plan, &senders, self.connections, |_| {}).await?;

        let cut_off = target.drain(DRAIN).await;
        let counters = target.counters();
        let _ = stop.send(());
        senders.pool().close();
        let _ = serving.await;
        let retention = hapax_store::ClaimStore::retention(&ground.store);
        let verdict = books.judge(retention);
        Ok(Report {
            planned: self.deliveries,
            seed: self.seed,
            retention,
            took,
            tally: senders.tally().clone(),
            account: Account {
                called: counters.first,
                cut_off,
                unsettled: counters.lost,
                ..Account::default()
            },
            written: verdict.runs as u64,
            verdict,
            nodes: None,
        })
    }
}

/// Lets the senders carry out the plan, telling how many deliveries are through, and
/// returns how long it took.
async fn rage(
    plan: Vec<Errand>,
    senders: &Arc<Senders>,
    connections: usize,
    through: impl Fn(u32),
) -> anyhow::Result<Duration> {
    let all = plan.iter().map(Errand::deliveries).sum();
    let progress = progress(all);
    let begun = Instant::now();
    stream::iter(plan)
        .map(|errand| {
            let (senders, deliveries) = (Arc::clone(senders), errand.deliveries());
            // On a task each, so that senders run on all threads, too.
            let sending = tokio::spawn(async move { senders.run(errand).await });
            async move { sending.await.map(|()| deliveries) }
        })
        .buffer_unordered(connections)
        .try_for_each(async |deliveries| {
            progress.inc(deliveries.into());
            through(deliveries);
            Ok(())
        })
        .await
        .context("a sender broke")?;
    progress.finish_and_clear();
    Ok(begun.elapsed())
}

/// Shows how far it is, where somebody watches: hidden unless on a terminal.
fn progress(deliveries: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} deliveries, {per_sec}");
    let bar = ProgressBar::new(deliveries.into());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
