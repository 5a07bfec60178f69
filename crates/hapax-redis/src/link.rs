//! One multiplexed connection, replaced when it breaks.
//!
//! - The state is **up** (a connection and its generation) or **down** (when the next
//!   attempt may start, and why the last one failed). One task at a time connects;
//!   callers wait for its result no longer than their own time.
//! - A connection is up only after the server has answered on it. A server that
//!   accepts and says nothing is down.
//! - A request that gets no answer in time takes its connection down. So requests do
//!   not pile up behind a server that stands still: those that come later are never
//!   sent, and cannot surprise anybody when it wakes.
//! - Attempts are spaced by a growing, jittered pause, and made only while somebody
//!   asks.

use crate::{
    check::{self, Warning},
    fault::{Cause, Fault, breaks_connection},
    script,
};
use redis::{
    AsyncConnectionConfig, FromRedisValue, Pipeline, RedisResult, ScriptInvocation,
    aio::MultiplexedConnection,
};
use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long one attempt to connect may take; more than a request, as names are
/// resolved and TLS is negotiated in it.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) settle_within: Duration,
    pub(crate) max_in_flight: usize,
}

/// Sends requests to one server.
pub(crate) struct Link(Arc<Shared>);

/// Something to send, again and again if need be.
pub(crate) trait Request: Sync {
    fn send<T: FromRedisValue + Send>(
        &self,
        connection: MultiplexedConnection,
    ) -> impl Future<Output = RedisResult<T>> + Send;
}

impl Link {
    pub(crate) fn new(client: redis::Client, limits: Limits) -> Self {
        let (state, _) = watch::channel(State::Down(Down {
            connecting: false,
            attempts: 0,
            failures: 0,
            not_before: Instant::now(),
            cause: None,
        }));
        Self(Arc::new(Shared {
            client,
            limits,
            state,
            permits: Semaphore::new(limits.max_in_flight),
            warned: Mutex::default(),
        }))
    }

    /// Sends `request`, again if it may help, until it is answered or `within` is over.
    /// Each time waits for the timeout at most; there is one time at least.
    pub(crate) async fn call<T: FromRedisValue + Send>(
        &self,
        within: Duration,
        request: &impl Request,
    ) -> Result<T, Fault> {
        let one = self.0.limits.timeout;
        let end = Instant::now() + within.max(one);
        let mut sent = false;
        let mut pause = FIRST_PAUSE;
        loop {
            let deadline = end.min(Instant::now() + one);
            let cause = match self.once(deadline, request, &mut sent).await {
                Ok(answer) => return Ok(answer),
                Err(cause) => cause,
            };
            if !cause.may_pass() || Instant::now() + pause >= end {
                return Err(Fault { cause, sent });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE / 4);
        }
    }

    async fn once<T: FromRedisValue + Send>(
        &self,
        deadline: Instant,
        request: &impl Request,
        sent: &mut bool,
    ) -> Result<T, Cause> {
        let within = self.0.limits.timeout;
        // Never closed, so an error is always the time running out.
        let Ok(Ok(_permit)) = timeout_at(deadline, self.0.permits.acquire()).await else {
            return Err(Cause::Busy { within });
        };
        let (generation, connection) = self.0.connection(deadline).await?;
        *sent = true;
        let started = Instant::now();
        match timeout_at(deadline, request.send(connection)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if breaks_connection(&error) {
                    self.0.lost(generation, Some(error.clone()));
                }
                Err(Cause::Redis(error))
            }
            Err(_) => {
                // One that had little time left says nothing about the server.
                if started.elapsed() >= within / 2 {
                    self.0.lost(generation, None);
                }
                Err(Cause::NoAnswer { within })
            }
        }
    }
}

struct Shared {
    client: redis::Client,
    limits: Limits,
    state: watch::Sender<State>,
    permits: Semaphore,
    /// What was warned of last, so that each connection does not repeat it.
    warned: Mutex<Vec<Warning>>,
}

#[derive(Clone)]
enum State {
    Up {
        generation: u64,
        connection: MultiplexedConnection,
    },
    Down(Down),
}

#[derive(Clone)]
struct Down {
    connecting: bool,
    /// Attempts that ended, in all: tells news from old news, and numbers connections.
    attempts: u64,
    /// Attempts that failed since the last connection.
    failures: u32,
    not_before: Instant,
    cause: Option<redis::RedisError>,
}

impl Shared {
    /// Returns the connection, or waits for one until `deadline`.
    async fn connection(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<(u64, MultiplexedConnection), Cause> {
        let mut news = self.state.subscribe();
        let mut known = None;
        loop {
            let state = news.borrow_and_update().clone();
            let down = match state {
                State::Up {
                    generation,
                    connection,
                } => return Ok((generation, connection)),
                State::Down(down) => down,
            };
            self.connect();
            let cause = Cause::NotConnected(down.cause);
            let fresh = known.is_some_and(|known| known != down.attempts);
            let hopeless = fresh && !cause.may_pass();
            if hopeless || down.not_before >= deadline {
                return Err(cause);
            }
            known = Some(down.attempts);
            if timeout_at(deadline, news.changed()).await.is_err() {
                return Err(cause);
            }
        }
    }

    /// Starts to connect, unless somebody does already or there is a connection.
    fn connect(self: &Arc<Self>) {
        let mut begun = None;
        self.state.send_if_modified(|state| {
            if let State::Down(down) = state
                && !down.connecting
            {
                down.connecting = true;
                begun = Some(down.clone());
            }
            false
        });
        if let Some(down) = begun {
            let attempt = Attempt(Arc::clone(self));
            tokio::spawn(async move {
                sleep_until(down.not_before).await;
                let result = timeout(CONNECT_WITHIN, attempt.0.open()).await;
                attempt.finish(down, result.unwrap_or_else(|_| Err(too_slow())));
            });
        }
    }

    /// Connects, loads the scripts (a first question that needs an answer) and looks at
    /// what the server promises.
    async fn open(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(self.limits.max_in_flight);
        let mut connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut load = redis::pipe();
        for script in script::all() {
            load.load_script(script).ignore();
        }
        load.exec_async(&mut connection).await?;
        let warnings = check::ask(&mut connection).await;
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if *warned != warnings {
            check::warn(&warnings);
            *warned = warnings;
        }
        drop(warned);
        Ok(connection)
    }

    /// Takes the connection down, if it is still the one of `generation`.
    fn lost(&self, generation: u64, cause: Option<redis::RedisError>) {
        self.state.send_if_modified(|state| {
            let ours = matches!(state, State::Up { generation: up, .. } if *up == generation);
            if ours {
                tracing::warn!(
                    cause = cause.as_ref().map_or("no answer", |cause| cause.category()),
                    "lost the connection to the store"
                );
                *state = State::Down(Down {
                    connecting: false,
                    attempts: generation,
                    failures: 0,
                    not_before: Instant::now(),
                    cause: cause.clone(),
                });
            }
            ours
        });
    }
}

/// A task that connects. Dropped without a result (its runtime ended), it lets the
/// next caller try.
struct Attempt(Arc<Shared>);

impl Attempt {
    fn finish(self, down: Down, result: RedisResult<MultiplexedConnection>) {
        let attempts = down.attempts + 1;
        self.0.state.send_replace(match result {
            Ok(connection) => State::Up {
                generation: attempts,
                connection,
            },
            Err(error) => State::Down(Down {
                connecting: false,
                attempts,
                failures: down.failures.saturating_add(1),
                not_before: Instant::now() + pause_after(down.failures),
                cause: Some(error),
            }),
        });
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.0.state.send_if_modified(|state| match state {
            State::Down(down) => std::mem::take(&mut down.connecting),
            State::Up { .. } => false,
        });
    }
}

/// 10 ms, doubled by each failure, 1 s at most; of that between a half and all.
fn pause_after(failures: u32) -> Duration {
    let longest = FIRST_PAUSE
        .saturating_mul(1 << failures.min(10))
        .min(LONGEST_PAUSE);
    // Without random bytes everybody waits for as long as can be.
    let part = getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX));
    longest.mul_f64(0.5 + part / 2.0)
}

fn too_slow() -> redis::RedisError {
    std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        "the server accepted no connection in time",
    )
    .into()
}

impl Request for ScriptInvocation<'_> {
    async fn send<T: FromRedisValue + Send>(
        &self,
        mut connection: MultiplexedConnection,
    ) -> RedisResult<T> {
        self.invoke_async(&mut connection).await
    }
}

impl Request for Pipeline {
    async fn send<T: FromRedisValue + Send>(
        &self,
        mut connection: MultiplexedConnection,
    ) -> RedisResult<T> {
        self.query_async(&mut connection).await
    }
}

impl Request for redis::Cmd {
    async fn send<T: FromRedisValue + Send>(
        &self,
        mut connection: MultiplexedConnection,
    ) -> RedisResult<T> {
        self.query_async(&mut connection).await
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let up = matches!(*self.0.state.borrow(), State::Up { .. });
        f.debug_struct("Link")
            .field("up", &up)
            .finish_non_exhaustive()
    }
}
