//! A wire that breaks on demand: passes everything on, until it is told to swallow an
//! answer that the server has already given.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
};

/// Listens on a port of its own and forwards to a server.
pub(crate) struct Proxy {
    port: u16,
    cut: Arc<Cut>,
}

#[derive(Default)]
struct Cut {
    /// How many answers to break off, and after how many bytes of each.
    answers: AtomicUsize,
    after_bytes: AtomicUsize,
    done: AtomicUsize,
}

impl Proxy {
    pub(crate) async fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let cut = Arc::new(Cut::default());
        let shared = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server_port, Arc::clone(&shared)));
            }
        });
        Self { port, cut }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Breaks the connection after `after_bytes` of the next answer.
    pub(crate) fn cut_next_answer(&self, after_bytes: usize) {
        // SeqCst throughout: this is a test's switch, and nothing else orders it.
        self.cut.after_bytes.store(after_bytes, Ordering::SeqCst);
        self.cut.answers.store(1, Ordering::SeqCst);
    }

    /// How many answers were broken off.
    pub(crate) fn cuts(&self) -> usize {
        // SeqCst: as above.
        self.cut.done.load(Ordering::SeqCst)
    }
}

async fn forward(client: TcpStream, server_port: u16, cut: Arc<Cut>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
        // SeqCst: see `cut_next_answer`.
        let one_less = |left: usize| left.checked_sub(1);
        let cutting = cut
            .answers
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok();
        let pass = if cutting {
            cut.after_bytes.load(Ordering::SeqCst).min(read)
        } else {
            read
        };
        let written = to_client.write_all(&buffer[..pass]).await;
        if cutting {
            // SeqCst: see `cuts`.
            cut.done.fetch_add(1, Ordering::SeqCst);
        }
        if cutting || written.is_err() {
            break;
        }
    }
    up.abort();
}
