//! `/metrics` in Prometheus text, with the feature `metrics`.

use crate::Service;
use axum::{
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use std::sync::Arc;

#[cfg(feature = "metrics")]
pub(crate) use recorded::Metrics;
#[cfg(not(feature = "metrics"))]
pub(crate) use unrecorded::Metrics;

/// Answers a scrape.
pub(crate) async fn metrics(State(service): State<Arc<Service>>) -> Response {
    match service.metrics.text(service.store.live()) {
        Some(text) => ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        None => {
            let how = "built without metrics; run with `--features metrics`\n";
            (StatusCode::NOT_FOUND, how).into_response()
        }
    }
}

#[cfg(feature = "metrics")]
mod recorded {
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
    use std::time::Duration;

    /// How often histograms are folded, so that they do not grow between scrapes.
    const UPKEEP: Duration = Duration::from_secs(5);

    /// Bounds of `hapax_handler_seconds`: from a handler in memory to the 60 s limit.
    const BUCKETS_S: [f64; 10] = [0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 5.0, 20.0, 60.0];

    /// Reads what was recorded.
    #[derive(Debug, Clone)]
    pub(crate) struct Metrics(PrometheusHandle);

    impl Metrics {
        /// Becomes the process's recorder. Call it on a runtime.
        ///
        /// # Errors
        ///
        /// If the process has a recorder already.
        pub(crate) fn install() -> anyhow::Result<Self> {
            let seconds = Matcher::Full("hapax_handler_seconds".to_owned());
            let handle = PrometheusBuilder::new()
                .set_buckets_for_metric(seconds, &BUCKETS_S)?
                .install_recorder()?;
            metrics::describe_counter!("hapax_deliveries_total", "Deliveries by how they ended.");
            metrics::describe_gauge!("hapax_handlers_running", "Handlers running now.");
            metrics::describe_histogram!("hapax_handler_seconds", "How long handlers ran.");
            metrics::describe_gauge!("hapax_live_ids", "Ids remembered now.");
            let upkeep = handle.clone();
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(UPKEEP).await;
                    upkeep.run_upkeep();
                }
            });
            Ok(Self(handle))
        }

        pub(crate) fn text(&self, live: Option<usize>) -> Option<String> {
            if let Some(live) = live {
                #[allow(clippy::cast_precision_loss)] // Exact up to 2^53 ids.
                metrics::gauge!("hapax_live_ids").set(live as f64);
            }
            Some(self.0.render())
        }
    }
}

#[cfg(not(feature = "metrics"))]
mod unrecorded {
    /// Nothing is recorded.
    #[derive(Debug, Clone)]
    pub(crate) struct Metrics;

    impl Metrics {
        pub(crate) fn install() -> anyhow::Result<Self> {
            Ok(Self)
        }

        #[allow(clippy::unused_self)] // The twin of one that reads itself.
        pub(crate) fn text(&self, _: Option<usize>) -> Option<String> {
            None
        }
    }
}
