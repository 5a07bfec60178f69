//! Do passwords and ids stay out of errors, logs and debug output?

mod server;

use hapax_redis::RedisStore;
use hapax_store::{ClaimStore, Key, StoreLease};
use server::{LEASE, Server, free_port, shown};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

const PASSWORD: &str = "open-sesame";
const USER: &str = "ali-baba";
const ID: &str = "id-of-a-customer";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }
}

fn assert_silent(text: &str) {
    for secret in [PASSWORD, USER, ID] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn refused_url_is_not_repeated() {
    for url in [
        format!("http://{USER}:{PASSWORD}@host"),
        format!("redis://{USER}:{PASSWORD}@host:not-a-port"),
        format!("redis://{USER}:{PASSWORD}@host/not-a-number"),
        format!("redis://{USER}:{PASSWORD}@0.0.0.0"),
        format!("rediss://{USER}:{PASSWORD}@host#{PASSWORD}"),
        format!("unix:relative?pass={PASSWORD}&db=x"),
        format!("{USER}:{PASSWORD}"),
    ] {
        let builder = RedisStore::builder(&url);
        assert_silent(&format!("{builder:?}"));
        match builder.build() {
            Ok(store) => panic!("{url} should be refused, is {store:?}"),
            Err(error) => assert_silent(&shown(&error)),
        }
    }
}

#[tokio::test]
async fn unreachable_server_gives_nothing_away() {
    let log = Log::default();
    let _listening = log.listen();
    let url = format!("redis://{USER}:{PASSWORD}@127.0.0.1:{}", free_port());
    let store = RedisStore::builder(&url).build().unwrap();
    let key = Key::new("scope", ID.as_bytes());
    let error = store.claim(&key, LEASE).await.map(|_| ()).unwrap_err();
    assert_silent(&shown(&error));
    assert_silent(&format!("{store:?}"));
    assert_silent(&log.text());
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn good_and_bad_days_give_nothing_away() {
    let log = Log::default();
    let _listening = log.listen();
    let password = format!(">{PASSWORD}");
    let mut server = Server::start(&["--user", USER, "on", &password, "~*", "+@all", "-info"]);
    let url = server.url().replace("//", &format!("//{USER}:{PASSWORD}@"));
    let store = RedisStore::builder(&url).build().unwrap();
    let key = Key::new("scope", ID.as_bytes());
    let lease = store.claim(&key, LEASE).await.unwrap().first().unwrap();
    assert_silent(&format!("{lease:?} {store:?}"));
    let warnings = store.check().await.unwrap();
    assert_eq!(warnings, [hapax_redis::Warning::Unknown]);
    lease.complete().await.unwrap();
    let _: () = server.run(&["ACL", "SETUSER", USER, "-evalsha"]);
    let error = store.claim(&key, LEASE).await.map(|_| ()).unwrap_err();
    assert!(shown(&error).contains("permission"), "{}", shown(&error));
    // The server names the user whom it refuses; who asked knows that name.
    assert_silent(&shown(&error).replace(&format!("User {USER}"), ""));
    server.kill();
    let error = store.claim(&key, LEASE).await.map(|_| ()).unwrap_err();
    assert_silent(&shown(&error));
    let log = log.text();
    assert!(log.contains("maxmemory-policy"), "{log}");
    assert!(log.contains("lost the connection"), "{log}");
    assert_silent(&log);
}
