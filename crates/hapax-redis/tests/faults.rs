//! What happens to claims when the server misbehaves, and does the store recover by
//! itself?

mod proxy;
mod server;

use hapax_redis::{RedisStore, Warning};
use hapax_store::{ClaimStore, ErrorKind, Key, Outcome, SettleError, StoreLease};
use proxy::Proxy;
use server::{LEASE, PATIENCE, Server, claim, fails, first, free_port, key, recovery, shown, soon};
use std::{
    error::Error,
    time::{Duration, Instant},
};

/// The default, on which the expectations below stand.
const TIMEOUT: Duration = Duration::from_millis(250);
/// What two shared cores may add to any bound.
const SLACK: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn server_that_comes_later_is_found() {
    let port = free_port();
    let url = format!("redis://127.0.0.1:{port}");
    let store = RedisStore::builder(&url).build().unwrap();
    let started = Instant::now();
    let error = fails(&store, "a").await;
    let took = started.elapsed();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(shown(&error).contains("refused"), "{}", shown(&error));
    assert!(took < TIMEOUT + SLACK, "{took:?}");

    let _server = Server::start_at(Some(port), &[]);
    let back = recovery(&store).await;
    println!("seen: failed after {took:?} with {error}; back {back:?} after the server");
    drop(first(&store, "a").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn killed_server_is_found_again_and_a_lease_held_meanwhile_completes() {
    let mut server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let store = server.store();
    let lease = first(&store, "held").await;
    first(&store, "done").await.complete().await.unwrap();
    server.kill();
    let error = fails(&store, "new").await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // The completion starts while nobody is there and goes on until somebody is.
    let completing = tokio::spawn(lease.complete());
    server.restart();
    completing.await.unwrap().expect("within `settle_within`");
    assert!(claim(&store, "held").await.is_duplicate());
    assert!(claim(&store, "done").await.is_duplicate());
    let back = recovery(&store).await;
    println!("seen: {}; back after {back:?}", shown(&error));
}

/// A stopped server still accepts connections and data: the kernel does that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn stopped_server_costs_each_call_its_timeout_and_no_more() {
    let server = Server::start(&[]);
    let store = server.store();
    let lease = first(&store, "held").await;
    server.signal("STOP");

    let started = Instant::now();
    let error = fails(&store, "asked").await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{}", shown(&error));
    assert!(error.source().is_some());
    assert!(started.elapsed() < TIMEOUT + SLACK);
    // Later ones are not sent at all: nothing has answered on the new connection.
    let mut unsent = 0;
    for n in 0..4 {
        let started = Instant::now();
        let error = fails(&store, &format!("later {n}")).await;
        unsent += usize::from(error.kind() == ErrorKind::Unavailable);
        assert!(started.elapsed() < TIMEOUT + SLACK);
    }
    assert_eq!(unsent, 4);

    let started = Instant::now();
    let completing = tokio::spawn(lease.complete());
    tokio::task::yield_now().await;
    server.signal("CONT");
    completing.await.unwrap().expect("within `settle_within`");
    let completed = started.elapsed();
    let back = recovery(&store).await;
    assert!(claim(&store, "held").await.is_duplicate());
    for n in 0..4 {
        drop(first(&store, &format!("later {n}")).await);
    }
    // The one that was sent may have been carried out when the server woke. Then it
    // is released in the background, or its lease runs out: never done.
    let late = store.claim(&key("asked"), LEASE).await.unwrap();
    assert!(!late.is_duplicate());
    println!(
        "seen: completed {completed:?} after the wake-up began, back after {back:?}, \
         timed-out claim is then {:?}",
        late.map(|_| ())
    );
}

/// The work was done, so a completion that failed leaves the key to its lease: a
/// release would have the work done again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn completion_that_could_not_be_sent_does_not_release() {
    let server = Server::start(&[]);
    let store = server.builder().settle_within(Duration::ZERO).build();
    let store = store.unwrap();
    let lease = first(&store, "held").await;
    server.signal("STOP");
    assert_eq!(fails(&store, "asked").await.kind(), ErrorKind::Timeout);
    match lease.complete().await {
        Err(SettleError::Store(error)) => assert_eq!(error.kind(), ErrorKind::Unavailable),
        other => panic!("should not be sent, is {other:?}"),
    }
    server.signal("CONT");
    recovery(&store).await;
    // For longer than a release in the background would be tried.
    let until = Instant::now() + TIMEOUT * 2;
    while Instant::now() < until {
        assert!(claim(&store, "held").await.is_in_flight());
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn slow_server_times_out_and_nothing_is_claimed_afterwards() {
    let server = Server::start(&[]);
    let store = server.store();
    first(&store, "done").await.complete().await.unwrap();
    let _: () = server.run(&["CLIENT", "PAUSE", "700", "WRITE"]);
    let started = Instant::now();
    let error = fails(&store, "asked").await;
    let took = started.elapsed();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{}", shown(&error));
    assert!(took < TIMEOUT + SLACK);
    let (_, back) = soon(async || store.claim(&key("done"), LEASE).await.ok()).await;
    let freed = soon(async || store.claim(&key("asked"), LEASE).await.ok()?.first()).await;
    println!(
        "seen: failed after {took:?}, back after {back:?}, free after {:?}",
        freed.1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn server_without_memory_refuses_new_ids_and_still_completes() {
    let server = Server::start(&[]);
    let store = server.store();
    first(&store, "done").await.complete().await.unwrap();
    let (held, other) = (first(&store, "held").await, first(&store, "other").await);
    let mut extended = first(&store, "extended").await;
    let _: () = server.run(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let _: () = server.run(&["CONFIG", "SET", "maxmemory", "1"]);

    let error = fails(&store, "new").await;
    assert_eq!(error.kind(), ErrorKind::Full, "{}", shown(&error));
    assert!(shown(&error).contains("OOM"));
    let many = store.claim_many(&[key("new"), key("done")], LEASE).await;
    assert_eq!(many[0].as_ref().unwrap_err().kind(), ErrorKind::Full);
    assert!(many[1].as_ref().unwrap().is_duplicate());
    assert!(claim(&store, "done").await.is_duplicate());
    assert!(claim(&store, "held").await.is_in_flight());
    extended.extend(LEASE * 2).await.expect("takes no memory");
    held.complete().await.expect("takes no memory");
    other.release().await.expect("gives memory back");
    assert!(claim(&store, "held").await.is_duplicate());

    let _: () = server.run(&["CONFIG", "SET", "maxmemory", "0"]);
    drop(first(&store, "new").await);
    println!("seen: {}", shown(&error));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn wrong_password_is_told_at_once_and_a_right_one_needs_no_restart() {
    let server = Server::start(&["--requirepass", "another-secret"]);
    let url = server.url().replace("//", "//:pass-phrase@");
    let store = RedisStore::builder(&url).build().unwrap();
    let started = Instant::now();
    let error = fails(&store, "a").await;
    let took = started.elapsed();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let text = shown(&error);
    assert!(
        text.contains("WRONGPASS") || text.contains("uthentication"),
        "{text}"
    );
    assert!(!text.contains("pass-phrase") && !text.contains("another-secret"));
    assert!(took < TIMEOUT, "an answer needs no waiting: {took:?}");

    let admin = redis::Client::open(server.url().replace("//", "//:another-secret@")).unwrap();
    let mut admin = admin.get_connection().unwrap();
    redis::cmd("CONFIG")
        .arg(&["SET", "requirepass", "pass-phrase"])
        .exec(&mut admin)
        .unwrap();
    let back = recovery(&store).await;
    println!("seen: {text} after {took:?}; back after {back:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn foreign_values_are_left_alone_and_reported() {
    let server = Server::start(&[]);
    let store = server.store();
    let list = store.name_of(&key("list"));
    let _: i64 = server.run(&["LPUSH", &list, "x"]);
    let text = store.name_of(&key("text"));
    let _: () = server.run(&["SET", &text, "x", "EX", "100"]);
    let endless = store.name_of(&key("endless"));
    let _: () = server.run(&["SET", &endless, &format!("d{}", "0".repeat(32))]);

    for id in ["list", "text", "endless"] {
        let error = fails(&store, id).await;
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{id}: {}", shown(&error));
        assert!(error.source().is_some());
    }
    for id in ["list", "text"] {
        let error = store.forget(&key(id)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{id}");
    }
    assert_eq!(server.run::<i64>(&["EXISTS", &list, &text, &endless]), 3);
    let _: i64 = server.run(&["DEL", &list, &text, &endless]);
    for id in ["list", "text", "endless"] {
        drop(first(&store, id).await);
    }
    // Overwritten under a holder: told, and the foreign value stays.
    let lease = first(&store, "held").await;
    let held = store.name_of(&key("held"));
    let _: () = server.run(&["SET", &held, "x"]);
    assert!(matches!(lease.complete().await, Err(SettleError::Lost)));
    assert_eq!(server.run::<String>(&["GET", &held]), "x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn flushed_script_cache_is_filled_again() {
    let server = Server::start(&[]);
    let store = server.store();
    let flush = || {
        let _: () = server.run(&["SCRIPT", "FLUSH"]);
    };
    let mut lease = first(&store, "a").await;
    flush();
    lease.extend(LEASE).await.unwrap();
    flush();
    lease.complete().await.unwrap();
    flush();
    assert!(store.claim(&key("a"), LEASE).await.unwrap().is_duplicate());
    flush();
    assert!(store.forget(&key("a")).await.unwrap());
    flush();
    let keys: Vec<_> = (0..600).map(|n| key(&format!("many {n}"))).collect();
    let answers = store.claim_many(&keys, LEASE).await;
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Ok(Outcome::First(_))))
    );
    flush();
    for answer in answers {
        answer.unwrap().first().unwrap().release().await.unwrap();
    }
}

/// The server did what it was told, and the answer got lost: sent again, the request
/// must be known by its token, or a claim would stand in its own way and a
/// completion would call itself lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn lost_and_half_answers_are_asked_for_again() {
    let server = Server::start(&[]);
    let proxy = Proxy::start(server.port()).await;
    let store = RedisStore::builder(&proxy.url()).build().unwrap();
    drop(first(&store, "warm").await);
    for (round, bytes) in [0, 1, 3, 7].into_iter().enumerate() {
        let id = format!("cut after {bytes}");
        proxy.cut_next_answer(bytes);
        let mut lease = first(&store, &id).await;
        proxy.cut_next_answer(bytes);
        lease.extend(LEASE).await.unwrap();
        proxy.cut_next_answer(bytes);
        lease.complete().await.unwrap();
        assert!(store.claim(&key(&id), LEASE).await.unwrap().is_duplicate());
        let keys = [key(&format!("{id}, one")), key(&format!("{id}, two"))];
        proxy.cut_next_answer(bytes);
        let many = store.claim_many(&keys, LEASE).await;
        assert!(
            many.iter()
                .all(|answer| matches!(answer, Ok(Outcome::First(_))))
        );
        assert_eq!(proxy.cuts(), 4 * (round + 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn server_that_evicts_is_warned_of() {
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let store = server.store();
    let policy = "allkeys-lru".to_owned();
    let warnings = store.check().await.unwrap();
    assert_eq!(warnings, [Warning::Evicts { policy }, Warning::Forgets]);
    let _: () = server.run(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let _: () = server.run(&["CONFIG", "SET", "appendonly", "yes"]);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn more_callers_than_places_wait_their_turn_and_no_longer() {
    let server = Server::start(&[]);
    let store = server.builder().max_in_flight(2).build().unwrap();
    drop(first(&store, "warm").await);
    let claims = |round: usize| {
        let claims: Vec<_> = (0..64)
            .map(|n| {
                let store = store.clone();
                tokio::spawn(async move {
                    let key = Key::new("places", format!("{round}, {n}").as_bytes());
                    store
                        .claim(&key, LEASE)
                        .await
                        .map(|outcome| outcome.is_first())
                })
            })
            .collect();
        claims
    };
    for claim in claims(0) {
        assert!(claim.await.unwrap().unwrap(), "all get their turn");
    }
    server.signal("STOP");
    let started = Instant::now();
    for claim in claims(1) {
        assert!(claim.await.unwrap().is_err());
    }
    let took = started.elapsed();
    assert!(took < TIMEOUT + SLACK, "{took:?}");
    server.signal("CONT");
    let back = recovery(&store).await;
    assert!(back < PATIENCE);
}
