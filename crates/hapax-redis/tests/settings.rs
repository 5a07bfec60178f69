//! Are settings that cannot be refused, and URLs of all forms taken?

mod server;

use hapax_redis::{BuildError, RedisStore};
use hapax_store::StoreLease;
use server::{Server, first};
use std::time::Duration;

fn refused(builder: hapax_redis::Builder) -> String {
    builder.build().expect_err("should be refused").to_string()
}

#[test]
fn values_out_of_range_are_named_with_their_limits() {
    let builder = || RedisStore::builder("redis://localhost");
    let day = Duration::from_secs(24 * 3600);
    for (builder, message) in [
        (
            builder().retention(Duration::ZERO),
            "retention of 0ns is not between 1ms and 31536000s",
        ),
        (
            builder().retention(366 * day),
            "retention of 31622400s is not between 1ms and 31536000s",
        ),
        (
            builder().timeout(Duration::MAX),
            "timeout of 18446744073709551615.999999999s is not between 1ms and 60s",
        ),
        (
            builder().settle_within(day),
            "settle_within of 86400s is not between 0ns and 60s",
        ),
        (
            builder().prefix(""),
            "prefix \"\" is not 1 to 64 printable ascii characters",
        ),
        (
            builder().prefix("a b"),
            "prefix \"a b\" is not 1 to 64 printable ascii characters",
        ),
        (
            builder().max_in_flight(0),
            "max_in_flight of 0 is not between 1 and 65536",
        ),
    ] {
        assert_eq!(refused(builder), message);
    }
}

#[test]
fn every_form_of_url_is_taken() {
    for url in [
        "redis://localhost",
        "redis://user:password@localhost:6380/3",
        "redis://[::1]:6379",
        "valkey://localhost",
        "unix:///run/redis.sock",
        "redis+unix:///run/redis.sock?db=2",
    ] {
        assert!(RedisStore::builder(url).build().is_ok(), "{url}");
    }
    let tls = RedisStore::builder("rediss://localhost").build();
    if cfg!(feature = "tls") {
        assert!(tls.is_ok());
    } else {
        assert!(matches!(tls, Err(BuildError::TlsNotBuilt)));
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn socket_of_this_machine_works() {
    let server = Server::start(&[]);
    let url = format!("unix://{}", server.socket().display());
    let store = RedisStore::builder(&url).build().unwrap();
    first(&store, "a").await.complete().await.unwrap();
}
