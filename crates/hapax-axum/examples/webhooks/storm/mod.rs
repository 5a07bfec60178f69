//! Drives the service with every kind of trouble and judges the outcome.
//!
//! Two sides meet over real HTTP. The *target* (`target.rs`) is the service with its
//! endpoints and layers, but with a handler that does what each request orders: succeed,
//! fail, panic, take its time. The *senders* (`plan.rs`, `sender.rs`, `pool.rs`) repeat,
//! copy, hang up and retry as real ones do, over a bounded number of connections.
//!
//! The *oracle* (`verdict.rs`) never asks the layer. The handler itself records in the
//! *ledger* (`ledger.rs`) when each run began and ended, and the senders record what was
//! acknowledged to them. From these two lists alone it follows what was lost and what
//! was processed twice. `planted.rs` breaks the layer and its store in several ways and
//! shows that the oracle notices.

mod ledger;
mod plan;
#[cfg(test)]
mod planted;
mod pool;
mod report;
mod sender;
mod target;
mod verdict;

use crate::{endpoints::Settings, options::Options, say, server};
use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use hapax::DedupSet;
use hapax_axum::Builder;
use hapax_store::{AnyStore, MemoryStore};
use indicatif::{ProgressBar, ProgressStyle};
use ledger::Ledger;
use report::Report;
use sender::Senders;
use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use target::Target;
use tokio::sync::oneshot;

/// How many connections `--storm` uses.
const CONNECTIONS: usize = 64;

/// How long handlers may go on after the last sender is content.
const DRAIN: Duration = Duration::from_secs(10);

/// What a storm needs to know.
pub(crate) struct Storm {
    pub(crate) deliveries: u32,
    pub(crate) seed: u64,
    /// How many connections the senders share.
    pub(crate) connections: usize,
    pub(crate) settings: Settings,
    /// The fixed lease of the endpoint whose handlers outlast it.
    pub(crate) short_lease: Duration,
    pub(crate) store: AnyStore,
    /// Changes the layers before they are built; a test plants its bugs here.
    pub(crate) tweak: fn(Builder) -> Builder,
}

/// Runs `--storm` and prints its table. Failure if the oracle found fault.
pub(crate) async fn command(options: &Options, deliveries: u32) -> anyhow::Result<ExitCode> {
    // Starts as small as it can, so that it has to grow under way.
    let set = DedupSet::builder().retention(options.retention).build()?;
    let store = MemoryStore::from(set);
    let before = store.set().stats();
    let storm = Storm {
        deliveries,
        seed: options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000)),
        connections: CONNECTIONS,
        settings: Settings {
            lease: options.lease,
            allow_short_retention: options.allow_short_retention,
            public_url: "https://webhooks.example".to_owned(),
        },
        short_lease: Duration::from_millis(300),
        store: AnyStore::new(store.clone()),
        tweak: |builder| builder,
    };
    let report = storm.run().await?;
    say(&report.table());
    let after = store.set().stats();
    say(&format!(
        "  the set: {} ids, grown from {} tables to {}, {} KiB\n",
        after.live,
        before.tables,
        after.tables,
        after.bytes / 1024
    ));
    Ok(if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Storm {
    /// Sends everything, waits for all handlers, and judges.
    pub(crate) async fn run(&self) -> anyhow::Result<Report> {
        let ledger = Arc::new(Ledger::new());
        let target = Target::build(self, &ledger)?;
        let listener = server::listen("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let app = target.router();
        let serving = tokio::spawn(server::serve(listener, app, stopped, async {}));

        let plan = plan::plan(self.deliveries, self.seed);
        let senders = Arc::new(Senders::new(address, self, &ledger));
        let progress = progress(self.deliveries);
        let begun = Instant::now();
        stream::iter(plan)
            .map(|errand| {
                let (senders, deliveries) = (Arc::clone(&senders), errand.deliveries());
                // On a task each, so that senders run on all threads, too.
                let sending = tokio::spawn(async move { senders.run(errand).await });
                async move { sending.await.map(|()| deliveries) }
            })
            .buffer_unordered(self.connections)
            .try_for_each(async |deliveries| {
                progress.inc(deliveries.into());
                Ok(())
            })
            .await
            .context("a sender broke")?;
        let took = begun.elapsed();
        progress.finish_and_clear();

        let cut_off = target.drain(DRAIN).await;
        let called = target.counters().first;
        let _ = stop.send(());
        senders.close();
        let _ = serving.await;
        Ok(Report {
            planned: self.deliveries,
            seed: self.seed,
            retention: self.store_retention(),
            took,
            tally: senders.tally().clone(),
            verdict: ledger.judge(self.store_retention()),
            called,
            cut_off,
        })
    }

    fn store_retention(&self) -> Duration {
        hapax_store::ClaimStore::retention(&self.store)
    }
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
