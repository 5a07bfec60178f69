//! The processes of a storm on several nodes: started, killed, started again, and asked
//! for their accounts.
//!
//! A [`Node`] owns its process and kills it when dropped. A thread reads what the process
//! writes and enters it in the [`Books`]; it ends when the process has closed its side,
//! so whoever has joined it has read all that the process ever wrote.

use super::{
    books::Books,
    node::{Account, Line, Orders},
};
use anyhow::{Context, bail};
use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};

/// How long a node may take until it listens.
const START: Duration = Duration::from_secs(20);

/// Starts nodes.
pub(crate) struct Fleet {
    orders: Orders,
    books: Arc<Books>,
    /// Numbers the processes.
    next: AtomicU32,
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Node {
    child: Child,
    /// Closing it ends the process in good order.
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<Option<Account>>>,
    address: SocketAddr,
    process: u32,
}

impl Fleet {
    pub(crate) fn new(orders: Orders, books: &Arc<Books>) -> Self {
        Self {
            orders,
            books: Arc::clone(books),
            next: AtomicU32::new(0),
        }
    }

    /// Starts a process and waits until it listens.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or ends instead; what it says about it is on standard
    /// error.
    pub(crate) async fn start(&self) -> anyhow::Result<Node> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--storm-node")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a node")?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // Relaxed: no partner; numbers need to differ and nothing else.
        let process = self.next.fetch_add(1, Ordering::Relaxed);
        let (ready, listens) = oneshot::channel();
        let books = Arc::clone(&self.books);
        let stdout = stdout.context("a pipe from the node")?;
        let mut node = Node {
            child,
            stdin,
            reader: Some(std::thread::spawn(move || {
                read(stdout, ready, process, &books)
            })),
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            process,
        };
        let orders = serde_json::to_string(&self.orders)?;
        let stdin = node.stdin.as_mut().context("a pipe to the node")?;
        writeln!(stdin, "{orders}").context("a node ended at once")?;
        stdin.flush()?;
        node.address = timeout(START, listens)
            .await
            .context("a node did not start in time")?
            .context("a node ended at once")?;
        Ok(node)
    }
}

impl Node {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the process without warning, and closes its books.
    ///
    /// # Errors
    ///
    /// If it had ended by itself.
    pub(crate) fn kill(&mut self, books: &Books) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("a node ended by itself: {status}");
        }
        self.child.kill()?;
        self.child.wait()?;
        self.read_to_end();
        books.cut(self.process);
        Ok(())
    }

    /// Lets the process finish.
    pub(crate) fn finish(mut self) -> Self {
        drop(self.stdin.take());
        self
    }

    /// Waits until the process has finished, and returns its account and how many runs it
    /// has in the books.
    ///
    /// # Errors
    ///
    /// If it ended otherwise.
    pub(crate) fn account(&mut self, books: &Books) -> anyhow::Result<(Account, u64)> {
        let account = self.read_to_end();
        let status = self.child.wait()?;
        match account {
            Some(account) if status.success() => Ok((account, books.runs_of(self.process))),
            _ => bail!("a node ended without its account: {status}"),
        }
    }

    fn read_to_end(&mut self) -> Option<Account> {
        // A reader that panicked has no account.
        self.reader.take()?.join().ok()?
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Most often it has ended already, and there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a process's lines to their end. `None` if the account is missing, or something
/// that is no line came in between.
fn read(
    stdout: ChildStdout,
    ready: oneshot::Sender<SocketAddr>,
    process: u32,
    books: &Books,
) -> Option<Account> {
    let mut ready = Some(ready);
    let mut account = None;
    for line in BufReader::new(stdout).lines() {
        match line.ok()?.parse().ok()? {
            Line::Ready(address) => drop(ready.take().map(|ready| ready.send(address))),
            Line::Entry(entry) => books.enter(process, entry),
            Line::Done(done) => account = Some(done),
        }
    }
    account
}
