//! Does the Redis store pass the contract, alone and behind a local front?

mod server;

use hapax::{DedupSet, ManualClock, Seeds};
use hapax_redis::RedisStore;
use hapax_store::{
    ClaimStore, Fronted,
    contract::{Subject, Times},
};
use server::{LEASE, RETENTION, Server, free_port};
use std::time::Duration;

/// A server and what stands between it and the test.
struct Redis<W> {
    server: Server,
    wrap: W,
}

impl<W> Redis<W> {
    fn start(wrap: W) -> Self {
        let server = Server::start(&[]);
        Self { server, wrap }
    }
}

impl<S, W> Subject for Redis<W>
where
    S: ClaimStore,
    W: Fn(RedisStore) -> S + Send + Sync,
{
    type Store = S;

    async fn node(&self) -> S {
        (self.wrap)(self.server.store())
    }

    /// Time passes by pulling every expiry nearer.
    async fn pass(&self, by: Duration) {
        self.server.pass(by);
    }

    fn times(&self) -> Times {
        Times {
            retention: RETENTION,
            lease: LEASE,
            // The server's clock runs by itself too.
            early: Duration::from_secs(5),
            late: Duration::from_millis(1),
        }
    }

    /// Nobody listens there.
    async fn failing(&self) -> Option<S> {
        let url = format!("redis://127.0.0.1:{}", free_port());
        let store = RedisStore::builder(&url).retention(RETENTION).build();
        Some((self.wrap)(store.expect("good settings")))
    }
}

mod redis_store {
    use super::*;
    hapax_store::contract!(Redis::start(|store| store)
    , #[ignore = "needs redis-server"]);
}

/// Every node has a front of its own, whose clock the test moves with the server's.
mod fronted_store {
    use super::*;

    struct FrontedRedis {
        clock: ManualClock,
        redis: Redis<fn(RedisStore) -> RedisStore>,
    }

    impl FrontedRedis {
        fn start() -> Self {
            let (clock, redis) = (ManualClock::new(), Redis::start((|store| store) as _));
            Self { clock, redis }
        }

        fn front(&self, store: RedisStore) -> Fronted<DedupSet<Seeds, ManualClock>, RedisStore> {
            let set = DedupSet::builder()
                .retention(RETENTION)
                .max_entries(10_000)
                .clock(self.clock.clone());
            Fronted::new(set.build().expect("a good set"), store)
        }
    }

    impl Subject for FrontedRedis {
        type Store = Fronted<DedupSet<Seeds, ManualClock>, RedisStore>;

        async fn node(&self) -> Self::Store {
            self.front(self.redis.node().await)
        }

        async fn pass(&self, by: Duration) {
            self.clock.advance(by);
            self.redis.pass(by).await;
        }

        fn times(&self) -> Times {
            self.redis.times()
        }

        async fn failing(&self) -> Option<Self::Store> {
            self.redis.failing().await.map(|store| self.front(store))
        }
    }

    hapax_store::contract!(FrontedRedis::start(), #[ignore = "needs redis-server"]);
}
