//! A storm on several processes that share nothing but a server, and kills among them.
//!
//! Every kill is sure to hit something: an event whose handler is running on the victim.
//! Any other request goes to any node, also to one that was just killed: a sender knows as
//! little of that as a load balancer does in the first second. What a killed node had in
//! flight has to come through elsewhere once its lease is over. What it had completed
//! without having said so runs again, and is counted apart: no store can know of it.
//!
//! Every storm has a part of the server for itself, by a random prefix, and leaves its
//! keys to their retention.

use super::{
    CONNECTIONS, PUBLIC_URL, SHORT_LEASE,
    books::Books,
    fleet::{Fleet, Node},
    moment::Moment,
    node::{Account, Orders},
    plan,
    pool::Pool,
    rage,
    report::{Nodes, Report},
    sender::Senders,
};
use crate::{options::Options, store::Store};
use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::{JoinHandle, block_in_place},
    time::{sleep, timeout},
};

/// How long a killed node stays away.
const AWAY: Duration = Duration::from_millis(300);

/// How long the wait for a handler to begin may be, and how often it is looked for.
const AIM: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Runs the storm on the server at `url`.
pub(crate) async fn storm(
    options: &Options,
    url: &str,
    deliveries: u32,
    seed: u64,
) -> anyhow::Result<Report> {
    ensure!(
        Moment::SHARED,
        "a storm on a server needs a clock that processes share, and this system has none"
    );
    let retention = options.retention();
    let prefix = format!("hapax-storm-{:016x}", fastrand::u64(..));
    // Asked here, so that what is wrong with it is said once.
    let (_, warnings) = Store::server(url, Some(&prefix), retention).await?;
    for warning in warnings {
        eprintln!("warning: {warning}");
    }

    let books = Arc::new(Books::default());
    let orders = Orders {
        url: url.to_owned(),
        prefix: prefix.clone(),
        retention,
        lease: options.lease(),
        short_lease: SHORT_LEASE,
        allow_short_retention: options.short_retention_is_meant(),
        public_url: PUBLIC_URL.to_owned(),
    };
    let fleet = Fleet::new(orders, &books);
    let nodes = try_join_all((0..options.nodes()).map(|_| fleet.start())).await?;
    let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
    let pool = Pool::new(&addresses, CONNECTIONS);
    let senders = Senders::new(pool, PUBLIC_URL, SHORT_LEASE, &books);
    let senders = Arc::new(senders.wait_for_leases(options.lease()));

    let (through, watched) = watch::channel(0);
    let plan = plan::plan(deliveries, seed);
    let raging = rage(plan, &senders, CONNECTIONS, |more| {
        through.send_modify(|through| *through += more);
    });
    let killer = Killer {
        fleet: &fleet,
        senders: &senders,
        books: &books,
    };
    let killing = kill(nodes, marks(deliveries, options.kills()), watched, &killer);
    let (took, nodes) = tokio::try_join!(raging, killing)?;
    senders.pool().close();

    let mut account = Account::default();
    let mut written = 0;
    let count = nodes.len();
    // All at once: each may have handlers to wait for.
    let mut finishing: Vec<_> = nodes.into_iter().map(Node::finish).collect();
    for node in &mut finishing {
        let (its, runs) = block_in_place(|| node.account(&books))?;
        account += its;
        written += runs;
    }
    Ok(Report {
        planned: deliveries,
        seed,
        retention,
        took,
        tally: senders.tally().clone(),
        verdict: books.judge(retention),
        account,
        written,
        nodes: Some(Nodes {
            count,
            kills: options.kills(),
            prefix,
        }),
    })
}

/// Whom a kill concerns.
struct Killer<'a> {
    fleet: &'a Fleet,
    senders: &'a Arc<Senders>,
    books: &'a Books,
}

/// Kills any node as often as there are marks, each time when so many deliveries are
/// through, and starts another in its place. Returns the nodes that run in the end.
async fn kill(
    mut nodes: Vec<Node>,
    marks: impl Iterator<Item = u32>,
    mut through: watch::Receiver<u32>,
    killer: &Killer<'_>,
) -> anyhow::Result<Vec<Node>> {
    let mut hit = Vec::new();
    for mark in marks {
        // All are through in the end, so the wait ends.
        let _ = through.wait_for(|through| *through >= mark).await;
        let door = fastrand::usize(..nodes.len());
        hit.push(killer.aim(door).await);
        let pool = killer.senders.pool();
        pool.goes(door);
        let node = &mut nodes[door];
        block_in_place(|| node.kill(killer.books))?;
        sleep(AWAY).await;
        *node = killer.fleet.start().await.context("a killed node")?;
        pool.is_back(door, node.address());
    }
    try_join_all(hit).await.context("a sender broke")?;
    Ok(nodes)
}

impl Killer<'_> {
    /// Sends an event to the node that is to be killed and waits until its handler runs.
    async fn aim(&self, door: usize) -> JoinHandle<()> {
        let (event, way) = self.senders.doomed(door);
        let way = tokio::spawn(way);
        // A node too busy for it is killed all the same.
        let _ = timeout(AIM, async {
            while !self.books.has_begun(&event) {
                sleep(LOOK).await;
            }
        })
        .await;
        way
    }
}

/// Spreads `kills` evenly over the deliveries, none at either end.
fn marks(deliveries: u32, kills: u16) -> impl Iterator<Item = u32> {
    let part = u64::from(deliveries) / (u64::from(kills) + 1);
    (1..=u64::from(kills)).map(move |n| u32::try_from(n * part).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::marks;

    #[test]
    fn kills_are_spread_over_the_storm() {
        assert_eq!(marks(1000, 0).count(), 0);
        assert!(marks(1000, 1).eq([500]));
        assert!(marks(1000, 3).eq([250, 500, 750]));
        assert!(marks(2, 5).all(|mark| mark == 0));
    }
}
