//! What stands on the server, and when does it go away by itself?

mod server;

use hapax_redis::RedisStore;
use hapax_store::{ClaimStore, Key, Outcome, SettleError, StoreLease};
use server::{LEASE, RETENTION, Server, first, key, soon};
use std::{
    process::{Command, ExitStatus},
    time::{Duration, Instant, UNIX_EPOCH},
};

#[tokio::test]
#[ignore = "needs redis-server"]
async fn names_hide_the_id_and_every_value_has_an_end() {
    let server = Server::start(&[]);
    let store = server.builder().prefix("shop").build().unwrap();
    let _held = store
        .claim(&Key::new("a-scope", b"a-held-id"), LEASE)
        .await
        .unwrap();
    let done = Key::new("a-scope", b"a-done-id");
    let lease = store.claim(&done, LEASE).await.unwrap().first().unwrap();
    lease.complete().await.unwrap();

    let names: Vec<String> = server.run(&["KEYS", "*"]);
    assert_eq!(names.len(), 2);
    for name in &names {
        assert!(name.starts_with("shop:") && name.len() == 5 + 32, "{name}");
        let value: String = server.run(&["GET", name]);
        assert_eq!(value.len(), 33);
        for secret in ["held", "done", "scope"] {
            assert!(!name.contains(secret) && !value.contains(secret));
        }
        let left_ms: u64 = server.run(&["PTTL", name]);
        let most = if value.starts_with('f') {
            LEASE
        } else {
            RETENTION
        };
        assert!(left_ms > 0 && left_ms <= most.as_millis() as u64);
        let bytes: u64 = server.run(&["MEMORY", "USAGE", name]);
        println!("seen: {bytes} bytes for one event");
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn leases_and_retentions_end_by_themselves() {
    let server = Server::start(&[]);
    let (short, long) = (Duration::from_millis(100), Duration::from_millis(300));
    let store = server.builder().retention(long).build().unwrap();
    let started = Instant::now();
    let held = store.claim(&key("held"), short).await.unwrap();
    let held = held.first().unwrap();
    let lease = store.claim(&key("done"), LEASE).await.unwrap();
    lease.first().unwrap().complete().await.unwrap();
    for (id, length) in [("held", short), ("done", long)] {
        let _again = soon(async || store.claim(&key(id), short).await.ok()?.first()).await;
        let took = started.elapsed();
        println!("seen: {id} for {length:?} was free after {took:?}");
        assert!(took >= length, "{id} ended early, after {took:?}");
        assert!(took < length + Duration::from_millis(500), "{id}: {took:?}");
    }
    assert!(matches!(held.complete().await, Err(SettleError::Lost)));
}

/// A lease whose process is gone, without a goodbye, runs out.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn lease_of_a_crashed_process_runs_out() {
    let server = Server::start(&[]);
    let status = node(&server, "crash", &[]);
    assert!(!status.success(), "the node aborts");
    let store = server.store();
    let outcome = store.claim(&key("node"), LEASE).await.unwrap();
    assert!(outcome.is_in_flight(), "nobody released it");
    server.pass(LEASE);
    drop(first(&store, "node").await);
}

/// Only durations are sent, so a node may believe what it likes about the time.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn node_whose_clock_is_an_hour_off_changes_nothing() {
    let server = Server::start(&[]);
    let store = server.store();
    for offset in ["-1h", "+1h"] {
        let _: () = server.run(&["FLUSHALL"]);
        let faked = [("LD_PRELOAD", faketime()), ("FAKETIME", offset.to_owned())];
        assert!(node(&server, "finish", &faked).success(), "clock {offset}");
        let Outcome::Duplicate {
            remaining: Some(remaining),
        } = store.claim(&key("node"), LEASE).await.unwrap()
        else {
            panic!("should be done");
        };
        assert!(remaining <= RETENTION);
        assert!(
            remaining > RETENTION - Duration::from_secs(30),
            "{remaining:?}"
        );
        // And the other way round: the faked node sees a lease of this one.
        let lease = first(&store, "held").await;
        assert!(node(&server, "look", &faked).success(), "clock {offset}");
        lease.complete().await.unwrap();
    }
}

/// Runs `act_as_a_node` in a process of its own.
fn node(server: &Server, part: &str, variables: &[(&str, String)]) -> ExitStatus {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "act_as_a_node",
            "--include-ignored",
            "--nocapture",
        ])
        .env("HAPAX_TEST_NODE", format!("{part} {}", server.url()))
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .output()
        .expect("this test runs again");
    let said = String::from_utf8_lossy(&output.stderr);
    println!("node for {part}: {}, {said}", output.status);
    output.status
}

/// Not a test by itself: the body of the processes that the tests above start.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn act_as_a_node() {
    let Ok(order) = std::env::var("HAPAX_TEST_NODE") else {
        return;
    };
    let (part, url) = order.split_once(' ').expect("part and url");
    if let Ok(offset) = std::env::var("FAKETIME") {
        // The clock is off indeed, or the test would prove nothing. The server's is not.
        let server: (u64, u64) = redis::Client::open(url)
            .and_then(|client| client.get_connection())
            .and_then(|mut connection| redis::cmd("TIME").query(&mut connection))
            .expect("the server tells the time");
        let own = UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
        assert!(
            own.abs_diff(server.0) > 3000,
            "clock is not off by {offset}"
        );
    }
    let store = RedisStore::builder(url)
        .retention(RETENTION)
        .build()
        .unwrap();
    match part {
        "crash" => {
            let _lease = first(&store, "node").await;
            std::process::abort();
        }
        "finish" => {
            let mut lease = first(&store, "node").await;
            lease.extend(LEASE).await.unwrap();
            lease.complete().await.unwrap();
        }
        "look" => {
            let Outcome::InFlight { remaining } = store.claim(&key("held"), LEASE).await.unwrap()
            else {
                panic!("should be in flight");
            };
            assert!(remaining <= LEASE && remaining > LEASE - Duration::from_secs(20));
        }
        other => panic!("no part {other}"),
    }
}

fn faketime() -> String {
    let found = ["x86_64", "aarch64"]
        .map(|machine| format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1"))
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    found.expect("libfaketime should be installed; see ci/redis.sh")
}
