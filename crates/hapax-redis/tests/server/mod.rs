//! A real `redis-server` for one test: its own process, port and folder, gone when
//! the test ends.
#![allow(dead_code, reason = "each test file uses its own part")]

use hapax_redis::{Builder, RedisStore};
use hapax_store::{ClaimStore, Key, Outcome, StoreError};
use std::{
    fs,
    future::Future,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// How long a test waits for something that should happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) const RETENTION: Duration = Duration::from_secs(3600);
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A server process. Dropping it kills the process and removes its folder.
pub(crate) struct Server {
    child: Child,
    port: u16,
    dir: PathBuf,
    options: Vec<String>,
}

impl Server {
    /// Starts a server that keeps nothing on disk, with further `options`.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_at(None, options)
    }

    /// Starts a server on `port`, which was free a moment ago.
    pub(crate) fn start_at(port: Option<u16>, options: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only that numbers differ.
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("redis-{}-{n}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder for the server");
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        for _ in 0..20 {
            let port = port.unwrap_or_else(free_port);
            let child = spawn(port, &dir, &options);
            let mut server = Self {
                child,
                port,
                dir: dir.clone(),
                options: options.clone(),
            };
            if server.is_ready() {
                return server;
            }
            // Somebody else took the port; the folder must outlive this one.
            server.dir = PathBuf::new();
        }
        panic!("no free port for redis-server");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("socket")
    }

    pub(crate) fn builder(&self) -> Builder {
        RedisStore::builder(&self.url()).retention(RETENTION)
    }

    pub(crate) fn store(&self) -> RedisStore {
        self.builder().build().expect("good settings")
    }

    /// Runs a command on a connection of its own and returns its answer.
    pub(crate) fn run<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        self.try_run(command).expect("the command works")
    }

    pub(crate) fn try_run<T: redis::FromRedisValue>(
        &self,
        command: &[&str],
    ) -> redis::RedisResult<T> {
        let client = redis::Client::open(self.url())?;
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(5))?;
        let mut packed = redis::Cmd::new();
        for part in command {
            packed.arg(*part);
        }
        packed.query(&mut connection)
    }

    /// Sends the process a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status()
            .expect("kill exists");
        assert!(status.success());
    }

    /// Kills the process without a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
        self.child.wait().expect("the process ends");
    }

    /// Starts the process again, on the same port and folder.
    pub(crate) fn restart(&mut self) {
        let started = Instant::now();
        loop {
            self.child = spawn(self.port, &self.dir, &self.options);
            if self.is_ready() {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "the server comes back");
        }
    }

    /// Pulls the end of everything nearer, as if the time had passed.
    pub(crate) fn pass(&self, by: Duration) {
        let script = "
            for _, key in ipairs(redis.call('KEYS', '*')) do
              local left = redis.call('PTTL', key)
              if left > tonumber(ARGV[1]) then
                redis.call('PEXPIRE', key, left - ARGV[1])
              elseif left >= 0 then
                redis.call('DEL', key)
              end
            end";
        let _: () = self.run(&["EVAL", script, "0", &by.as_millis().to_string()]);
    }

    /// Waits until this very process answers. False if it ended instead.
    fn is_ready(&mut self) -> bool {
        let started = Instant::now();
        let own = format!("process_id:{}\r\n", self.child.id());
        loop {
            if self
                .child
                .try_wait()
                .expect("the process is ours")
                .is_some()
            {
                return false;
            }
            match self.try_run::<String>(&["INFO", "server"]) {
                Ok(info) if info.contains(&own) => return true,
                Ok(_) => return false,
                // A password is asked for: it is up.
                Err(error) if error.code() == Some("NOAUTH") => return true,
                Err(_) => {}
            }
            assert!(started.elapsed() < PATIENCE, "the server starts");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.dir.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// A port nobody listened on a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

pub(crate) fn key(id: &str) -> Key {
    Key::new("test", id.as_bytes())
}

/// Claims a key and expects an answer.
pub(crate) async fn claim<S: ClaimStore>(store: &S, id: &str) -> Outcome<S::Lease> {
    let answer = store.claim(&key(id), LEASE).await;
    answer.unwrap_or_else(|error| panic!("{id} should be answered: {error:?}"))
}

/// Claims a key that must be free.
pub(crate) async fn first<S: ClaimStore>(store: &S, id: &str) -> S::Lease {
    match claim(store, id).await {
        Outcome::First(lease) => lease,
        other => panic!("{id} should be first, is {:?}", other.map(|_| ())),
    }
}

/// Asks until `question` has an answer, and returns it and the time it took.
pub(crate) async fn soon<T, F>(mut question: impl FnMut() -> F) -> (T, Duration)
where
    F: Future<Output = Option<T>>,
{
    let started = Instant::now();
    loop {
        if let Some(answer) = question().await {
            return (answer, started.elapsed());
        }
        assert!(started.elapsed() < PATIENCE, "should have happened by now");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Claims a key and expects an error.
pub(crate) async fn fails<S: ClaimStore>(store: &S, id: &str) -> StoreError {
    match store.claim(&key(id), LEASE).await {
        Err(error) => error,
        Ok(outcome) => panic!("{id} should fail, is {:?}", outcome.map(|_| ())),
    }
}

/// Waits until the store answers again, and returns how long that took.
pub(crate) async fn recovery(store: &RedisStore) -> Duration {
    let mut n = 0;
    let question = || {
        n += 1;
        let probe = Key::new("probe", format!("{n}").as_bytes());
        async move { store.claim(&probe, LEASE).await.ok() }
    };
    let (_, took) = soon(question).await;
    took
}

/// Everything an error says, its causes included, as people and logs see it.
pub(crate) fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let mut shown = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        shown += &format!("{error} | {error:?} | ");
        next = error.source();
    }
    shown
}

fn spawn(port: u16, dir: &std::path::Path, options: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no"])
        .args(["--unixsocket", "socket", "--loglevel", "warning"])
        .args(options)
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server should be installed; see ci/redis.sh")
}
