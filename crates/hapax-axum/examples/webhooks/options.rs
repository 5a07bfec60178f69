//! What the command line may say.

use crate::store::Place;
use clap::{CommandFactory, Parser, error::ErrorKind};
use std::time::Duration;

/// How long a done event is remembered.
const RETENTION: Duration = Duration::from_secs(96 * 3600);

/// How long it is in a storm on a server, which is left with the storm's keys.
const RETENTION_ON_SERVER: Duration = Duration::from_secs(600);

/// How long a claim is held without word from its handler.
const LEASE: Duration = Duration::from_secs(30);

/// How long it is in a storm on several nodes: what died with a node waits for so long.
const LEASE_OF_NODES: Duration = Duration::from_secs(2);

/// How many processes a storm on a server has.
const NODES: u16 = 2;

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

    /// Where claims are kept: `memory`, or a server's address as `redis://host:6379`,
    /// `rediss://…` (TLS, if built with it) or `unix:///path`. All processes with the same
    /// server share their events. An address with a password is better kept in the
    /// environment, where other users do not see it.
    #[arg(
        long,
        value_name = "STORE",
        default_value = "memory",
        hide_default_value = true,
        env = "HAPAX_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Place,

    /// How long a done event is remembered, such as `96h`; senders retry for up to 3 days.
    /// Default: 96h; 10m for a storm on a server.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    retention: Option<Duration>,

    /// Accept a retention shorter than the senders' retry windows.
    #[arg(long)]
    pub(crate) allow_short_retention: bool,

    /// How long a claim is held without word from its handler; extended while it runs.
    /// Default: 30s; 2s for a storm on a server.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    lease: Option<Duration>,

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

    /// Storm this many processes that share the store's server. Default: 2 with a server,
    /// and 1 with `memory`, which several cannot share.
    #[arg(long, value_name = "K", requires = "storm", value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: Option<u16>,

    /// Kill a process in the middle of the storm and start it again, once or so many
    /// times. Needs a server, which still knows what the process had claimed.
    #[arg(long, value_name = "TIMES", requires = "storm", num_args = 0..=1, default_missing_value = "1", value_parser = clap::value_parser!(u16).range(..=100))]
    kill_node: Option<u16>,

    /// One of a storm's processes; told what to do on standard input.
    #[arg(long, hide = true)]
    pub(crate) storm_node: bool,
}

impl Options {
    /// Reads the command line, or ends the process with what is wrong with it.
    pub(crate) fn read() -> Self {
        let options = Self::parse();
        if let Err(fault) = options.check() {
            Self::command()
                .error(ErrorKind::ArgumentConflict, fault)
                .exit();
        }
        options
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.store != Place::Memory {
            return Ok(());
        }
        if self.nodes.is_some_and(|nodes| nodes > 1) {
            return Err(
                "more than one of --nodes needs a server with --store redis://…: \
                        what is in one process's memory, no other process can ask",
            );
        }
        if self.kill_node.is_some() {
            return Err("--kill-node needs a server with --store redis://…: \
                        a process's memory dies with it");
        }
        Ok(())
    }

    fn storms_server(&self) -> bool {
        self.storm.is_some() && self.store != Place::Memory
    }

    pub(crate) fn retention(&self) -> Duration {
        self.retention.unwrap_or(match self.storms_server() {
            true => RETENTION_ON_SERVER,
            false => RETENTION,
        })
    }

    /// Whether a retention shorter than the senders' retry windows is meant.
    pub(crate) fn short_retention_is_meant(&self) -> bool {
        self.allow_short_retention || (self.storms_server() && self.retention.is_none())
    }

    pub(crate) fn lease(&self) -> Duration {
        self.lease.unwrap_or(match self.storms_server() {
            true => LEASE_OF_NODES,
            false => LEASE,
        })
    }

    pub(crate) fn nodes(&self) -> u16 {
        self.nodes.unwrap_or(NODES)
    }

    pub(crate) fn kills(&self) -> u16 {
        self.kill_node.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        let words = ["webhooks"].into_iter().chain(words.split_whitespace());
        Options::try_parse_from(words).expect("good words")
    }

    #[test]
    fn several_nodes_need_a_server() {
        let fault = options("--storm 10 --nodes 2").check();
        assert!(
            fault
                .expect_err("memory")
                .contains("--nodes needs a server")
        );
        let fault = options("--storm 10 --kill-node").check();
        assert!(
            fault
                .expect_err("memory")
                .contains("--kill-node needs a server")
        );
        for good in [
            "--storm 10 --nodes 1",
            "--storm 10 --nodes 3 --kill-node 2 --store redis://localhost",
            "--store unix:///run/redis",
        ] {
            assert_eq!(options(good).check(), Ok(()), "{good}");
        }
    }

    #[test]
    fn only_a_storm_on_a_server_forgets_soon() {
        let serving = options("--store redis://localhost");
        assert_eq!((serving.retention(), serving.lease()), (RETENTION, LEASE));
        assert!(!serving.short_retention_is_meant());
        let storm = options("--storm 10 --store redis://localhost");
        assert_eq!(storm.retention(), RETENTION_ON_SERVER);
        assert_eq!(storm.lease(), LEASE_OF_NODES);
        assert!(storm.short_retention_is_meant());
    }
}
