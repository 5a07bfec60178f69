//! Plans: for each of a few threads, the calls that it makes.
//!
//! One byte is one step, so that a fuzzer can exchange steps without moving the
//! others. Ids are three, so that they meet; clock steps are those at which
//! answers change.

use crate::{
    draw::Draw,
    script::{Shape, Span},
};

/// The ids that the threads of a plan fight over.
pub const HOT_IDS: [u64; 3] = [2, 4, 6];

/// A set, and what each thread calls.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the set is made.
    pub shape: Shape,
    /// Ids of the same home that are marked before the threads start, so that the
    /// hot ones have to go to the next buckets.
    pub crowd: u8,
    /// The steps of each thread.
    pub threads: Vec<Vec<Step>>,
}

/// One step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Mark this id.
    Mark(u64),
    /// Mark this id for so long.
    MarkFor(u64, Span),
    /// Mark so many ids that nobody else uses.
    Fill(u8),
    /// Claim this id for so long.
    Claim(u64, Span),
    /// Complete the oldest lease of this thread.
    Complete,
    /// Complete the oldest lease of this thread, to be remembered for so long.
    CompleteFor(Span),
    /// Release the newest lease of this thread.
    Release,
    /// Extend the oldest lease of this thread to so long from now.
    Extend(Span),
    /// Leave the oldest lease of this thread without a holder.
    Abandon,
    /// Look for this id.
    Contains(u64),
    /// Forget this id.
    Forget(u64),
    /// Clear the set.
    Clear,
    /// Let the set tidy up.
    Tick,
    /// Move the clock on.
    Advance(Span),
}

/// What a plan is mostly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Marks against expiry, forgetting and growth.
    Marks,
    /// Claims, and all that holders do, against expiry and new claims.
    Claims,
}

impl Plan {
    /// The most steps that a drawn plan has for one thread.
    pub const MOST_STEPS: u8 = 8;

    /// Draws a plan of two to four threads; what is left of the bytes is for the
    /// schedule.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>, theme: Theme) -> Self {
        let made = draw.byte();
        let shape = SHAPES[usize::from(made) % SHAPES.len()];
        let threads = 2 + draw.below(3);
        let mut plan = Self {
            shape,
            crowd: made / SHAPES.len() as u8 % 6,
            threads: Vec::new(),
        };
        for _ in 0..threads {
            let steps = draw.below(u16::from(Self::MOST_STEPS) + 1);
            let steps = (0..steps).map(|_| Step::of(draw.byte(), theme)).collect();
            plan.threads.push(steps);
        }
        plan
    }
}

/// Small sets, so that ids meet in a bucket and tables overflow.
const SHAPES: [Shape; 4] = [
    Shape {
        retention_ms: 20,
        lease_ms: 5,
        capacity: 1,
        shards: 1,
        colliding: true,
    },
    Shape {
        retention_ms: 20,
        lease_ms: 20,
        capacity: 1,
        shards: 1,
        colliding: true,
    },
    Shape {
        retention_ms: 4,
        lease_ms: 1,
        capacity: 1,
        shards: 1,
        colliding: true,
    },
    Shape {
        retention_ms: 20,
        lease_ms: 5,
        capacity: 64,
        shards: 2,
        colliding: false,
    },
];

impl Step {
    /// The step that a byte means: low four bits what, high four bits which.
    #[must_use]
    pub fn of(byte: u8, theme: Theme) -> Self {
        let which = byte >> 4;
        let id = HOT_IDS[[0, 0, 1, 2][usize::from(which & 3)]];
        let span = |spans: [Span; 4]| spans[usize::from(which >> 2)];
        let clock = [
            Span::One,
            Span::Lease(-1),
            Span::Lease(0),
            Span::Lease(1),
            Span::Lease(2),
            Span::Retention(-1),
            Span::Retention(0),
            Span::Retention(1),
            Span::Retention(2),
            Span::Retention(4),
            Span::Half,
            Span::One,
            Span::One,
            Span::Lease(4),
            Span::Lease(0),
            Span::Retention(1),
        ][usize::from(which)];
        let short = [Span::One, Span::Half, Span::Retention(-1), Span::Lease(0)];
        let lease = [Span::Lease(0), Span::One, Span::Retention(0), Span::Half];
        match (byte & 15, theme) {
            (0..=3, Theme::Marks) => Self::Mark(id),
            (0 | 1, Theme::Claims) => Self::Claim(id, Span::Lease(0)),
            (2, Theme::Claims) => Self::Claim(id, span(lease)),
            (3, Theme::Claims) => Self::Mark(id),
            (4, Theme::Marks) => Self::MarkFor(id, span(short)),
            (4, Theme::Claims) => Self::Complete,
            (5, Theme::Marks) => Self::Fill(which),
            (5, Theme::Claims) => Self::Complete,
            (6, Theme::Marks) => Self::Claim(id, span(lease)),
            (6, Theme::Claims) => Self::Extend(span(lease)),
            (7, Theme::Marks) => Self::Complete,
            (7, Theme::Claims) => Self::Release,
            (8, _) => Self::Forget(id),
            (9, _) => Self::Contains(id),
            (10, Theme::Marks) => Self::Clear,
            (10, Theme::Claims) => Self::CompleteFor(span(short)),
            (11, Theme::Marks) => Self::Tick,
            (11, Theme::Claims) => match which {
                0..=3 => Self::Fill(4 * which + 1),
                4..=7 => Self::Clear,
                8..=11 => Self::Tick,
                _ => Self::Abandon,
            },
            _ => Self::Advance(clock),
        }
    }
}
