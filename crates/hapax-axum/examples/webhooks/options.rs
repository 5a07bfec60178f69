//! What the command line may say.

use clap::Parser;
use std::time::Duration;

/// A webhook service that drops duplicate deliveries and loses none.
///
/// Secrets come from the environment (HAPAX_SECRET_GITHUB, HAPAX_SECRET_STRIPE, …;
/// several, separated by commas, while they rotate). Where there is none, a demo secret
/// is used and printed. RUST_LOG sets the log level (default: info).
#[derive(Debug, Clone, Parser)]
#[command(name = "webhooks")]
pub(crate) struct Options {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,

    /// How long a done event is remembered, such as `96h`; senders retry for up to 3 days.
    #[arg(long, value_name = "TIME", default_value = "96h", value_parser = humantime::parse_duration)]
    pub(crate) retention: Duration,

    /// Accept a retention shorter than the senders' retry windows.
    #[arg(long)]
    pub(crate) allow_short_retention: bool,

    /// How long a claim is held without word from its handler; extended while it runs.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) lease: Duration,

    /// How long running handlers may take to finish at shutdown.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) drain: Duration,

    /// The address as senders know it, for those that sign it (Square, Twilio).
    /// Default: `http://` and the address listened on.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// Do not serve: start on a free port, send N deliveries with every kind of trouble
    /// over HTTP, and check that none was lost and none processed twice.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) storm: Option<u32>,

    /// Plan the storm by this number instead of a random one.
    #[arg(long, value_name = "SEED", requires = "storm")]
    pub(crate) seed: Option<u64>,
}
