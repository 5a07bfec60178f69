//! Where claims are kept: in this process, or on a Redis server that several share.
//!
//! A server that cannot be asked when the service starts ends the service. Most often
//! the address or the password is wrong, and a service that came up all the same would
//! look healthy and answer every delivery 503 until its senders give up. What starts
//! services starts this one again, and meanwhile no delivery is sent to it. A server
//! that goes away *later* ends nothing: deliveries are answered 503 until it is back.
//!
//! The address may hold a password, so nothing here shows it, and mistakes in it are
//! told without it.

use anyhow::Context;
use hapax::DedupSet;
use hapax_redis::RedisStore;
use hapax_store::{AnyStore, FrontCounts, Fronted, MemoryStore};
use std::{convert::Infallible, fmt, str::FromStr, time::Duration};

/// How many done events a process remembers in front of a server, at most. Those beyond
/// cost a question each.
const FRONT_MOST: usize = 1_000_000;

/// What `--store` says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    /// The address of a server.
    Server(String),
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    claims: AnyStore,
    local: Local,
}

#[derive(Debug)]
enum Local {
    All(MemoryStore),
    Front(Fronted<DedupSet, RedisStore>),
}

impl Store {
    /// Keeps everything in this process.
    ///
    /// # Errors
    ///
    /// If the retention is out of its range.
    pub(crate) fn memory(retention: Duration) -> anyhow::Result<Self> {
        let set = DedupSet::builder().retention(retention).build()?;
        let store = MemoryStore::from(set);
        Ok(Self {
            claims: AnyStore::new(store.clone()),
            local: Local::All(store),
        })
    }

    /// Keeps claims on the server at `url`, behind a set of this process that answers
    /// repetitions. Asks the server and returns what it does not promise, as text.
    ///
    /// # Errors
    ///
    /// If a setting is wrong or the server does not answer.
    pub(crate) async fn server(
        url: &str,
        prefix: Option<&str>,
        retention: Duration,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let builder = RedisStore::builder(url).retention(retention);
        let builder = match prefix {
            Some(prefix) => builder.prefix(prefix),
            None => builder,
        };
        let server = builder
            .build()
            .context("--store is neither `memory` nor a good address of a server")?;
        let warnings = server
            .check()
            .await
            .context("the server of --store cannot be asked, so nothing was started")?;
        let front = DedupSet::builder()
            .retention(retention)
            .max_entries(FRONT_MOST)
            .build()?;
        let fronted = Fronted::new(front, server);
        let store = Self {
            claims: AnyStore::new(fronted.clone()),
            local: Local::Front(fronted),
        };
        Ok((store, warnings.iter().map(ToString::to_string).collect()))
    }

    /// Opens the store at `place`; a server's warnings go to standard error.
    ///
    /// # Errors
    ///
    /// As [`memory`](Self::memory) and [`server`](Self::server).
    pub(crate) async fn open(place: &Place, retention: Duration) -> anyhow::Result<Self> {
        match place {
            Place::Memory => Self::memory(retention),
            Place::Server(url) => {
                let (store, warnings) = Self::server(url, None, retention).await?;
                for warning in warnings {
                    eprintln!("warning: {warning}");
                }
                Ok(store)
            }
        }
    }

    /// Returns the store for the layers.
    pub(crate) fn claims(&self) -> &AnyStore {
        &self.claims
    }

    /// Returns the ids remembered now, where that is known: a server is not asked.
    pub(crate) fn live(&self) -> Option<usize> {
        match &self.local {
            Local::All(store) => Some(store.set().len()),
            Local::Front(_) => None,
        }
    }

    /// Returns who answered *duplicate*, where there is a server behind.
    pub(crate) fn front(&self) -> Option<FrontCounts> {
        match &self.local {
            Local::All(_) => None,
            Local::Front(front) => Some(front.counts()),
        }
    }

    /// Returns the set, where it is all there is.
    pub(crate) fn memory_set(&self) -> Option<&DedupSet> {
        match &self.local {
            Local::All(store) => Some(store.set()),
            Local::Front(_) => None,
        }
    }
}

impl FromStr for Place {
    type Err = Infallible;

    /// Takes anything but `memory` for an address. Whether it is one is found out later,
    /// where the answer does not repeat it.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "memory" => Self::Memory,
            url => Self::Server(url.to_owned()),
        })
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "Memory",
            Self::Server(_) => "Server(<hidden>)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    async fn refused(url: &str) -> String {
        let opened = Store::open(&Place::Server(url.to_owned()), DAY).await;
        format!("{:#}", opened.expect_err("no such server"))
    }

    #[tokio::test]
    async fn a_wrong_address_is_told_without_its_password() {
        for url in [
            "Memory",
            "redis:/:hush@localhost",
            "http://:hush@localhost",
            "redis://:hush@localhost:99999",
            "rediss://:hush@localhost",
        ] {
            let told = refused(url).await;
            assert!(told.starts_with("--store is neither"), "{told}");
            assert!(!told.contains("hush"), "{told}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_told_without_its_password() {
        // Nobody listens on port 1.
        let told = refused("redis://:hush@127.0.0.1:1").await;
        assert!(told.starts_with("the server of --store cannot"), "{told}");
        assert!(told.contains("refused"), "{told}");
        assert!(!told.contains("hush"), "{told}");
    }

    #[test]
    fn an_address_is_not_shown() {
        let place: Place = "redis://:hush@localhost".parse().expect("any text");
        assert_eq!(format!("{place:?}"), "Server(<hidden>)");
    }
}
