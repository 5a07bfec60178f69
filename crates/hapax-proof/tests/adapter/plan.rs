//! What is sent, what the handlers do with it, and how time passes meanwhile.

use hapax_proof::draw::Draw;

/// The ids that the senders fight over.
pub(crate) const IDS: usize = 2;

/// One run of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) retention_ms: u64,
    pub(crate) lease_ms: u64,
    /// The handlers' time limit. Longer than the lease: late handlers are overtaken.
    pub(crate) limit_ms: u64,
    /// Whether bodies are arrays of events.
    pub(crate) batches: bool,
    /// Whether a handler is stopped when its sender hangs up.
    pub(crate) cancels: bool,
    /// How long a copy in flight waits for the first run, if it does.
    pub(crate) wait_ms: Option<u64>,
    /// What each sender sends, one after the other.
    pub(crate) senders: Vec<Vec<Sent>>,
    /// How time passes; then it goes on in steps of the limit.
    pub(crate) moves: Vec<Move>,
    /// The drain's deadline, if the endpoint is closed while the senders are at work.
    pub(crate) drain_ms: Option<u64>,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Of one event, or of each in a batch.
    pub(crate) ids: &'static [usize],
    /// How often the handler waits before it ends.
    pub(crate) pauses: u8,
    pub(crate) end: End,
    /// After how many fruitless looks for the answer the sender hangs up.
    pub(crate) patience: Option<u8>,
}

/// How a handler ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Accepts,
    Fails,
    Panics,
    /// Not before its limit.
    Never,
    /// It accepts a batch without its first item.
    FailsOne,
    /// It hands the claim to a task of its own, and accepts.
    HandsOver(Later),
}

/// What becomes of a claim that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    Completes,
    ExtendsAndCompletes,
    Releases,
    Drops,
}

/// One move of the clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// After so many turns of the runtime.
    pub(crate) turns: u8,
    pub(crate) by_ms: u64,
}

impl Plan {
    /// Draws a plan of two or three senders.
    pub(crate) fn draw(draw: &mut Draw<'_>) -> Self {
        let (retention_ms, lease_ms, limit_ms) =
            draw.pick(&[(20, 5, 4), (20, 5, 9), (20, 20, 12), (4, 1, 2)]);
        let batches = draw.chance(1, 3);
        let cancels = draw.chance(1, 3);
        let wait_ms = draw
            .chance(1, 2)
            .then(|| draw.pick(&[1, lease_ms, lease_ms + 25]));
        let drain_ms = draw.chance(1, 4).then_some(limit_ms / 2);
        let senders = 2 + draw.below(2);
        let senders = (0..senders)
            .map(|_| {
                let requests = 1 + draw.below(3);
                (0..requests).map(|_| Sent::draw(draw, batches)).collect()
            })
            .collect();
        let steps = [1, lease_ms - 1, lease_ms, lease_ms + 2, retention_ms + 2];
        let moves = (0..draw.below(6))
            .map(|_| Move {
                turns: draw.below(6),
                by_ms: draw.pick(&steps),
            })
            .collect();
        Self {
            retention_ms,
            lease_ms,
            limit_ms,
            batches,
            cancels,
            wait_ms,
            senders,
            moves,
            drain_ms,
        }
    }
}

impl Sent {
    fn draw(draw: &mut Draw<'_>, batch: bool) -> Self {
        let ids: &[&[usize]] = match batch {
            false => &[&[0], &[0], &[1]],
            true => &[&[0], &[0, 1], &[1, 0]],
        };
        let late: &[End] = match batch {
            false => &[
                End::HandsOver(Later::Completes),
                End::HandsOver(Later::ExtendsAndCompletes),
                End::HandsOver(Later::Releases),
                End::HandsOver(Later::Drops),
            ],
            true => &[End::FailsOne],
        };
        let early = [End::Accepts, End::Fails, End::Panics, End::Never];
        Self {
            ids: draw.pick(ids),
            pauses: draw.below(4),
            end: match draw.below(5) {
                0 | 1 => End::Accepts,
                2 | 3 => draw.pick(late),
                _ => draw.pick(&early),
            },
            patience: draw.chance(1, 4).then(|| draw.below(3)),
        }
    }
}
