//! A script for one thread: a set, and calls on it, drawn from bytes.
//!
//! Everything that a byte can say is a valid call: ids are few, so that they
//! meet, leases are named by their place among those still open, and clock steps
//! are those at which answers change.

use std::fmt;

use crate::draw::Draw;

/// Ids that calls choose from; [`Op::Fill`] adds others.
pub const IDS: u16 = 6;

/// A set to be made and the calls to be made on it.
#[derive(Clone, Debug)]
pub struct Script {
    /// How the set is made.
    pub shape: Shape,
    /// What is called, in order.
    pub ops: Vec<Op>,
}

/// How the set is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The set's retention, in ms.
    pub retention_ms: u64,
    /// The set's default lease, in ms; at most the retention.
    pub lease_ms: u64,
    /// Ids that the set has room for before it grows.
    pub capacity: usize,
    /// Shards.
    pub shards: usize,
    /// Whether even ids share a home bucket.
    pub colliding: bool,
}

/// An amount of time relative to the set's retention and lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// No time.
    Zero,
    /// One millisecond.
    One,
    /// This much less or more than the lease.
    Lease(i8),
    /// This much less or more than the retention.
    Retention(i8),
    /// Half the retention.
    Half,
    /// One year of 365 days.
    Year,
}

/// One call, or one step of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `check_and_mark`.
    Mark(u16),
    /// `try_check_and_mark`.
    TryMark(u16),
    /// `check_and_mark_for`.
    MarkFor(u16, Span),
    /// `check_and_mark_many` on three ids from this one on, the first one twice.
    MarkMany(u16),
    /// `check_and_mark` on so many ids that were never used before; at a
    /// [`Limit`](crate::limit::Limit), `claim` on some of them.
    Fill(u8),
    /// `claim`.
    Claim(u16),
    /// `claim_for`.
    ClaimFor(u16, Span),
    /// `claim_owned`.
    ClaimOwned(u16),
    /// `claim_owned_for`.
    ClaimOwnedFor(u16, Span),
    /// `complete` on an open lease.
    Complete(u8),
    /// `complete_for` on an open lease.
    CompleteFor(u8, Span),
    /// `release` of an open lease.
    Release(u8),
    /// An open lease goes out of scope.
    Drop(u8),
    /// The holder of an open lease is gone without dropping it.
    Abandon(u8),
    /// `extend` on an open lease.
    Extend(u8, Span),
    /// `contains`.
    Contains(u16),
    /// `forget`.
    Forget(u16),
    /// `clear`.
    Clear,
    /// `tick`.
    Tick,
    /// The clock moves on.
    Advance(Span),
}

impl Script {
    /// The most calls that one script makes.
    pub const MOST_OPS: usize = 400;

    /// Draws a script from bytes; about two bytes make a call.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>) -> Self {
        let shape = Shape::draw(draw);
        let mut ops = Vec::new();
        while !draw.is_empty() && ops.len() < Self::MOST_OPS {
            ops.push(Op::draw(draw));
        }
        Self { shape, ops }
    }
}

impl Shape {
    /// Draws how the set is made.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>) -> Self {
        let (retention_ms, lease_ms) = draw.pick(&[
            (20, 5),
            (20, 20),
            (2, 1),
            (1, 1),
            (250, 30),
            (10_000, 300),
            (345_600_000, 30_000),
            (31_536_000_000, 31_536_000_000),
        ]);
        let (capacity, shards, colliding) = draw.pick(&[
            (1, 1, true),
            (1, 1, false),
            (64, 1, true),
            (1, 2, false),
            (1_000, 8, false),
        ]);
        Self {
            retention_ms,
            lease_ms,
            capacity,
            shards,
            colliding,
        }
    }

    /// Tells how many ms a span is for a set of this shape.
    #[must_use]
    pub fn ms(&self, span: Span) -> u64 {
        let near = |ms: u64, by: i8| ms.saturating_add_signed(i64::from(by));
        match span {
            Span::Zero => 0,
            Span::One => 1,
            Span::Lease(by) => near(self.lease_ms, by),
            Span::Retention(by) => near(self.retention_ms, by),
            Span::Half => self.retention_ms / 2,
            Span::Year => 365 * 86_400_000,
        }
    }
}

impl Span {
    /// Every amount that a script uses: the points at which answers change.
    pub const ALL: [Self; 15] = [
        Self::Zero,
        Self::One,
        Self::Lease(-1),
        Self::Lease(0),
        Self::Lease(1),
        Self::Lease(2),
        Self::Lease(4),
        Self::Retention(-1),
        Self::Retention(0),
        Self::Retention(1),
        Self::Retention(2),
        Self::Retention(4),
        Self::Half,
        Self::One,
        Self::Year,
    ];

    /// Draws an amount.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>) -> Self {
        draw.pick(&Self::ALL)
    }
}

impl Op {
    /// Draws a call.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>) -> Self {
        let kind = draw.below(32);
        let id = |draw: &mut Draw<'_>| u16::from(draw.below(IDS));
        let lease = Draw::byte;
        match kind {
            0..=3 => Self::Mark(id(draw)),
            4 => Self::TryMark(id(draw)),
            5 | 6 => Self::MarkFor(id(draw), Span::draw(draw)),
            7 => Self::MarkMany(id(draw)),
            8 => Self::Fill(draw.below(64)),
            9 | 10 => Self::Claim(id(draw)),
            11 | 12 => Self::ClaimFor(id(draw), Span::draw(draw)),
            13 => Self::ClaimOwned(id(draw)),
            14 => Self::ClaimOwnedFor(id(draw), Span::draw(draw)),
            15 | 16 => Self::Complete(lease(draw)),
            17 => Self::CompleteFor(lease(draw), Span::draw(draw)),
            18 => Self::Release(lease(draw)),
            19 => Self::Drop(lease(draw)),
            20 => Self::Abandon(lease(draw)),
            21 | 22 => Self::Extend(lease(draw), Span::draw(draw)),
            23 | 24 => Self::Contains(id(draw)),
            25 => Self::Forget(id(draw)),
            26 if draw.chance(1, 4) => Self::Clear,
            26 | 27 => Self::Tick,
            _ => Self::Advance(Span::draw(draw)),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.shape)?;
        self.ops
            .iter()
            .enumerate()
            .try_for_each(|(step, op)| writeln!(f, "{step:>4} {op:?}"))
    }
}
