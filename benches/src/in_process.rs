//! The processor time of one request, without a network: what the layer adds to a handler.

use crate::{
    ids,
    webhook::{self, App},
};
use axum::{Router, extract::Request, http::StatusCode};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

/// Requests that are built before they are timed together.
const BATCH: u64 = 512;

/// An endpoint that is called directly.
pub struct InProcess {
    runtime: Runtime,
    router: Router,
    name: &'static str,
    next_id: u64,
}

impl InProcess {
    /// Builds `app` with `live` ids known to it.
    ///
    /// # Panics
    ///
    /// When the system gives no runtime.
    pub fn start(app: App, live: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime on this thread");
        let router = runtime.block_on(app.build(live));
        Self {
            runtime,
            router,
            name: app.name,
            next_id: live as u64,
        }
    }

    /// Calls the endpoint `requests` times, each with a new id, and returns the time until the
    /// answers. Building the requests is outside of it.
    ///
    /// # Panics
    ///
    /// When an event is not handled.
    pub fn play(&mut self, requests: u64) -> Duration {
        let body = webhook::body();
        let mut taken = Duration::ZERO;
        let mut left = requests;
        while left > 0 {
            let now = left.min(BATCH);
            let batch: Vec<Request> = ids::range(self.next_id, self.next_id + now)
                .iter()
                .map(|id| webhook::request(id, &body))
                .collect();
            self.next_id += now;
            left -= now;
            let router = &mut self.router;
            taken += self.runtime.block_on(async {
                let start = Instant::now();
                for request in batch {
                    let Ok(response) = router.call(request).await;
                    assert_eq!(response.status(), StatusCode::ACCEPTED, "{}", self.name);
                }
                start.elapsed()
            });
        }
        taken
    }
}

/// Computes the HMAC of the same body `times` times.
pub fn bare_hmac(times: u64) -> Duration {
    let body = webhook::body();
    let start = Instant::now();
    for _ in 0..times {
        black_box(webhook::bare_hmac(black_box(&body)));
    }
    start.elapsed()
}
