//! Does `rediss://` work, and only with a certificate that is trusted?
#![cfg(feature = "tls")]

mod server;

use hapax_redis::RedisStore;
use hapax_store::{ClaimStore, ErrorKind, StoreLease};
use server::{LEASE, Server, first, free_port, key, shown};
use std::{path::Path, process::Command};

#[tokio::test]
#[ignore = "needs redis-server"]
async fn tls_works_with_a_trusted_certificate_and_not_without() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tls-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (cert, secret) = (dir.join("cert.pem"), dir.join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        // Of itself, so that it is its own authority and a server's at once.
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args([Path::new("-keyout"), &secret, Path::new("-out"), &cert])
        .output()
        .expect("openssl should be installed; see ci/redis.sh");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );

    let port = free_port();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let _server = Server::start(&[
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &text(&cert),
        "--tls-key-file",
        &text(&secret),
        "--tls-ca-cert-file",
        &text(&cert),
    ]);
    let url = format!("rediss://localhost:{port}");

    let store = RedisStore::builder(&url).build().unwrap();
    let error = store.claim(&key("a"), LEASE).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(shown(&error).contains("ertificate"), "{}", shown(&error));

    // The roots are read from the environment, so a process of its own it is.
    let trusting = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "act_as_a_trusting_node", "--include-ignored"])
        .env("HAPAX_TEST_NODE", &url)
        .env("SSL_CERT_FILE", &cert)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&trusting.stdout);
    assert!(trusting.status.success(), "{said}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Not a test by itself: the body of the process that the test above starts.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn act_as_a_trusting_node() {
    let Ok(url) = std::env::var("HAPAX_TEST_NODE") else {
        return;
    };
    let store = RedisStore::builder(&url).build().unwrap();
    first(&store, "a").await.complete().await.unwrap();
    assert!(store.claim(&key("a"), LEASE).await.unwrap().is_duplicate());
}
