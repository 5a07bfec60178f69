//! One process of a storm on several nodes, and what it says to the one that started it.
//!
//! It is told what to do in one line on standard input, and writes lines to standard
//! output: where it listens, an [`Entry`] for all that its handlers do, and at the end
//! its counters. The end is when standard input ends. That is also when the process that
//! holds the other side of it dies, whatever it dies of: no node is left behind.

use super::{Target, entry::Entry, ledger::Ledger, target::Ground};
use crate::{endpoints::Settings, server, store::Store};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    io::{self, BufRead, Read},
    net::SocketAddr,
    ops::AddAssign,
    str::FromStr,
    sync::Arc,
    time::Duration,
};
use tokio::sync::oneshot;

/// What all nodes of a storm are told. The address may hold a password; a pipe keeps it
/// out of the list of processes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) url: String,
    /// The storm's own part of the server.
    pub(crate) prefix: String,
    pub(crate) retention: Duration,
    pub(crate) lease: Duration,
    pub(crate) short_lease: Duration,
    pub(crate) allow_short_retention: bool,
    pub(crate) public_url: String,
}

/// A line of a node.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// It listens.
    Ready(SocketAddr),
    Entry(Entry),
    /// It is done.
    Done(Account),
}

/// What a node's layers have counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Handlers that the layers say they called.
    pub(crate) called: u64,
    /// Handlers that did not end by themselves.
    pub(crate) cut_off: usize,
    /// Claims that could not be settled: the lease was over, or the server did not answer.
    pub(crate) unsettled: u64,
    /// Duplicates that the node knew without asking the server.
    pub(crate) answered_here: u64,
    pub(crate) answered_by_server: u64,
}

/// Follows the orders on standard input until it ends.
pub(crate) async fn follow() -> anyhow::Result<()> {
    let orders = read_orders()?;
    let (store, _) = Store::server(&orders.url, Some(&orders.prefix), orders.retention).await?;
    let ledger = Arc::new(Ledger::piped());
    let ground = Ground {
        settings: Settings {
            lease: orders.lease,
            allow_short_retention: orders.allow_short_retention,
            public_url: orders.public_url,
        },
        short_lease: orders.short_lease,
        store: store.claims().clone(),
        tweak: |builder| builder,
    };
    let target = Target::build(&ground, &ledger)?;
    let listener = server::listen("127.0.0.1:0").await?;
    say(&Line::Ready(listener.local_addr()?));

    let stop = end_of_input();
    let drain = target.drain(super::DRAIN);
    let cut_off = server::serve(listener, target.router(), stop, drain).await;
    let counters = target.counters();
    let front = store.front().unwrap_or_default();
    say(&Line::Done(Account {
        called: counters.first,
        cut_off,
        unsettled: counters.lost,
        answered_here: front.answered_here,
        answered_by_server: front.answered_there,
    }));
    Ok(())
}

fn read_orders() -> anyhow::Result<Orders> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("a storm's node is started by the storm alone")
}

/// Waits until nobody holds the other side of standard input.
async fn end_of_input() {
    let (ended, end) = oneshot::channel::<()>();
    // A thread of its own: a runtime would wait for a read that never ends.
    std::thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        drop(ended);
    });
    drop(end.await);
}

fn say(line: &Line) {
    crate::say(&format!("{line}\n"));
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        self.called += other.called;
        self.cut_off += other.cut_off;
        self.unsettled += other.unsettled;
        self.answered_here += other.answered_here;
        self.answered_by_server += other.answered_by_server;
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(address) => write!(f, "ready {address}"),
            Self::Entry(entry) => entry.fmt(f),
            Self::Done(account) => {
                let Account {
                    called,
                    cut_off,
                    unsettled,
                    answered_here,
                    answered_by_server,
                } = account;
                write!(
                    f,
                    "done {called} {cut_off} {unsettled} {answered_here} {answered_by_server}"
                )
            }
        }
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        if let Some(address) = line.strip_prefix("ready ") {
            return address.parse().map(Self::Ready).map_err(drop);
        }
        let Some(numbers) = line.strip_prefix("done ") else {
            return line.parse().map(Self::Entry);
        };
        let numbers: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
        let [
            called,
            cut_off,
            unsettled,
            answered_here,
            answered_by_server,
        ] = numbers.map_err(drop)?[..]
        else {
            return Err(());
        };
        Ok(Self::Done(Account {
            called,
            cut_off: usize::try_from(cut_off).map_err(drop)?,
            unsettled,
            answered_here,
            answered_by_server,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storm::moment::Moment;

    #[test]
    fn a_line_is_read_as_it_was_meant() {
        for line in [
            Line::Ready(SocketAddr::from(([127, 0, 0, 1], 8080))),
            Line::Entry(Entry::Answered {
                run: 1,
                at: Moment::from_nanos(2),
            }),
            Line::Done(Account {
                called: 1,
                cut_off: 2,
                unsettled: 3,
                answered_here: 4,
                answered_by_server: 5,
            }),
        ] {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
        assert_eq!("done 1 2".parse::<Line>(), Err(()));
    }
}
