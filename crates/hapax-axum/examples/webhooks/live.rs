//! What the live page shows: the last minutes second by second, and the last outcomes.
//!
//! The layer's `tracing` events carry provider, outcome and hashed id, so watching
//! them is enough: no handler knows of the page, and no raw id reaches it.
//!
//! `now` is the second that is not over yet. Once a second [`Live::tick`] moves it to
//! `seconds` and tells all viewers. A viewer gets the whole board and its place in the
//! stream of ticks under one lock, so it misses none and sees none twice.

use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::sync::broadcast::{self, Receiver, Sender};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, filter::Targets, layer::Context, registry::LookupSpan};

/// How much the chart shows: five minutes.
const SECONDS: usize = 300;
/// How many outcomes the list shows.
const RECENT: usize = 30;
/// How many ticks a viewer may be behind before it has to start again.
const BACKLOG: usize = 16;

/// The board, and the viewers' stream.
#[derive(Debug)]
pub(crate) struct Live {
    board: Mutex<Board>,
    frames: Sender<Arc<str>>,
}

/// What the handlers' outcomes are counted as: handled, dropped, other.
type Second = [u32; 3];

#[derive(Debug)]
struct Board {
    /// Always `SECONDS` long, the oldest first.
    seconds: VecDeque<Second>,
    now: Second,
    /// At most `RECENT` long, the newest first.
    recent: VecDeque<Value>,
    /// How many of `recent` no tick has told yet.
    untold: usize,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            board: Mutex::new(Board {
                seconds: VecDeque::from(vec![Second::default(); SECONDS]),
                now: Second::default(),
                recent: VecDeque::new(),
                untold: 0,
            }),
            frames: broadcast::channel(BACKLOG).0,
        }
    }

    /// Ends the current second and tells it to the viewers.
    pub(crate) fn tick(&self, totals: &Value) {
        let mut board = self.board();
        let second = std::mem::take(&mut board.now);
        board.seconds.pop_front();
        board.seconds.push_back(second);
        let untold = std::mem::take(&mut board.untold);
        let recent: Vec<_> = board.recent.iter().take(untold).collect();
        let frame = json!({ "totals": totals, "seconds": [second], "recent": recent });
        // Nobody may be watching.
        let _ = self.frames.send(frame.to_string().into());
    }

    /// Returns the whole board as a frame, and the frames from then on.
    pub(crate) fn watch(&self, totals: &Value) -> (Arc<str>, Receiver<Arc<str>>) {
        let board = self.board();
        let told: Vec<_> = board.recent.iter().skip(board.untold).collect();
        let frame = json!({ "totals": totals, "seconds": board.seconds, "recent": told });
        (frame.to_string().into(), self.frames.subscribe())
    }

    fn add(&self, outcome: &Outcome) {
        let mut board = self.board();
        let class = match &*outcome.outcome {
            "completed" | "handed-over" | "unchecked" | "lost" => 0,
            "duplicate" => 1,
            _ => 2,
        };
        board.now[class] += 1;
        board.recent.push_front(outcome.show());
        board.recent.truncate(RECENT);
        board.untold = (board.untold + 1).min(RECENT);
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // Whole after every statement, so a panic in between would do no harm.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Feeds the board with the layer's events, at whatever level the log is.
pub(crate) fn feed<S>(live: &Arc<Live>) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let only_the_layer = Targets::new().with_target("hapax_axum", Level::DEBUG);
    Feed(Arc::clone(live)).with_filter(only_the_layer)
}

struct Feed(Arc<Live>);

impl<S: Subscriber> Layer<S> for Feed {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut outcome = Outcome::default();
        event.record(&mut outcome);
        match &*outcome.message {
            "delivery" => self.0.add(&outcome),
            "refused" => {
                "rejected".clone_into(&mut outcome.outcome);
                self.0.add(&outcome);
            }
            // What happens on the way to an outcome.
            _ => {}
        }
    }
}

/// The fields of one event.
#[derive(Debug, Default)]
struct Outcome {
    message: String,
    provider: String,
    outcome: String,
    reason: String,
    id: String,
}

impl Outcome {
    fn show(&self) -> Value {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let at_ms = u64::try_from(at.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        json!({
            "at_ms": at_ms,
            "provider": self.provider,
            "outcome": self.outcome,
            "reason": self.reason,
            "id": self.id,
        })
    }

    fn field(&mut self, field: &Field) -> Option<&mut String> {
        match field.name() {
            "message" => Some(&mut self.message),
            "provider" => Some(&mut self.provider),
            "outcome" => Some(&mut self.outcome),
            "reason" => Some(&mut self.reason),
            "id" => Some(&mut self.id),
            _ => None,
        }
    }
}

impl Visit for Outcome {
    fn record_str(&mut self, field: &Field, value: &str) {
        if let Some(text) = self.field(field) {
            value.clone_into(text);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if let Some(text) = self.field(field) {
            *text = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    fn frame(text: &str) -> Value {
        serde_json::from_str(text).expect("a frame is JSON")
    }

    fn outcome(outcome: &str) -> Outcome {
        Outcome {
            outcome: outcome.to_owned(),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_viewer_is_told_every_outcome_once() {
        let live = Live::new();
        live.add(&outcome("completed"));
        live.tick(&json!({}));
        live.add(&outcome("duplicate"));
        let (board, mut frames) = live.watch(&json!({}));
        live.add(&outcome("released"));
        live.tick(&json!({}));

        let board = frame(&board);
        assert_eq!(board["recent"][0]["outcome"], "completed");
        assert_eq!(board["recent"].as_array().map(Vec::len), Some(1));
        assert_eq!(board["seconds"][SECONDS - 1], json!([1, 0, 0]));
        let tick = frame(&frames.try_recv().expect("one tick"));
        assert_eq!(tick["recent"][0]["outcome"], "released");
        assert_eq!(tick["recent"][1]["outcome"], "duplicate");
        assert_eq!(tick["seconds"], json!([[0, 1, 1]]));
        assert!(frames.try_recv().is_err());
    }

    #[test]
    fn the_board_stays_small() {
        let live = Live::new();
        for _ in 0..10 * SECONDS {
            live.add(&outcome("completed"));
            live.tick(&json!({}));
        }
        let board = frame(&live.watch(&json!({})).0);
        assert_eq!(board["seconds"].as_array().map(Vec::len), Some(SECONDS));
        assert_eq!(board["recent"].as_array().map(Vec::len), Some(RECENT));
    }

    #[test]
    fn the_layers_events_feed_the_board_and_no_others() {
        let live = Arc::new(Live::new());
        let subscriber = tracing_subscriber::registry().with(feed(&live));
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "hapax_axum", provider = "github", outcome = "duplicate", id = %"ab12", "delivery");
            tracing::info!(target: "hapax_axum", provider = "slack", reason = "signature wrong", "refused");
            tracing::warn!(target: "hapax_axum", provider = "slack", "claim not settled");
            tracing::info!(target: "elsewhere", outcome = "completed", "delivery");
        });
        live.tick(&json!({}));
        let board = frame(&live.watch(&json!({})).0);
        let recent = board["recent"].as_array().expect("a list");
        assert_eq!(recent.len(), 2);
        assert_eq!(recent[0]["outcome"], "rejected");
        assert_eq!(recent[0]["reason"], "signature wrong");
        assert_eq!(recent[1]["id"], "ab12");
        assert_eq!(recent[1]["provider"], "github");
    }
}
