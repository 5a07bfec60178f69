//! What is sent: N deliveries, cut into errands by a seeded generator.
//!
//! A plan is a function of N and the seed alone. What then happens is not: threads and
//! the network decide who comes first.

use super::target::{End, Order};
use fastrand::Rng;

/// A piece of the plan that one sender, or a group of them, carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Errand {
    /// New events, all at once: the set has to grow.
    Burst { events: u32 },
    /// One event, then again and again after it was acknowledged.
    Repeated { deliveries: u32 },
    /// One event that was done long ago.
    Late,
    /// Copies of one event at the same time, from as many connections as there are. The
    /// first to arrive follows its order; so does whoever comes first after a failure.
    AtOnce { orders: Vec<Order> },
    /// One event whose handler fails or panics before it succeeds.
    Failing { orders: Vec<Order> },
    /// The sender hangs up while the handler runs, and sends again.
    HangsUp { order: Order },
    /// The handler runs much longer than its lease; a copy takes over.
    Outlasts,
    /// The sender loses patience and sends again while the handler runs; then the
    /// handler fails. Whoever called the copy a success has lost the event.
    FailsLate,
    /// The same id at two endpoints: two events.
    Twins,
}

impl Errand {
    /// How many of the planned deliveries this is. Retries are not planned.
    pub(crate) fn deliveries(&self) -> u32 {
        match self {
            Self::Burst { events } => *events,
            Self::Repeated { deliveries } => *deliveries,
            Self::Late | Self::Failing { .. } => 1,
            Self::AtOnce { orders } => u32::try_from(orders.len()).unwrap_or(u32::MAX),
            Self::HangsUp { .. } | Self::Outlasts | Self::FailsLate | Self::Twins => 2,
        }
    }
}

/// Cuts `deliveries` into errands.
pub(crate) fn plan(deliveries: u32, seed: u64) -> Vec<Errand> {
    let mut rng = Rng::with_seed(seed);
    let mut errands = Vec::new();
    let mut left = deliveries;
    // Handlers that take real time: few of them, and never none.
    for _ in 0..(deliveries / 500).clamp(2, 200) {
        take(&mut errands, &mut left, Errand::Outlasts);
        take(&mut errands, &mut left, Errand::FailsLate);
        take(&mut errands, &mut left, Errand::FailsLate);
    }
    // A hot id from every connection at once, now and then.
    for _ in 0..(deliveries / 1_000).clamp(1, 1_000) {
        let orders = (0..96).map(|_| hasty(&mut rng)).collect();
        take(&mut errands, &mut left, Errand::AtOnce { orders });
    }
    while left > 0 {
        let errand = any(&mut rng);
        take(&mut errands, &mut left, errand);
    }
    rng.shuffle(&mut errands);
    errands
}

/// Takes an errand, or what is left of the deliveries if that is less.
fn take(errands: &mut Vec<Errand>, left: &mut u32, errand: Errand) {
    if *left == 0 {
        return;
    }
    let errand = if errand.deliveries() <= *left {
        errand
    } else {
        Errand::Burst { events: *left }
    };
    *left -= errand.deliveries();
    errands.push(errand);
}

/// Chooses an errand. The weights are by deliveries, roughly: a third of them are new
/// events, a third are duplicates and copies, and a third has trouble.
fn any(rng: &mut Rng) -> Errand {
    match rng.u32(..100) {
        0..4 => Errand::Burst {
            events: rng.u32(50..150),
        },
        4..34 => Errand::Repeated {
            deliveries: rng.u32(1..6),
        },
        34..50 => Errand::Late,
        50..60 => Errand::AtOnce {
            orders: (0..rng.usize(2..12)).map(|_| hasty(rng)).collect(),
        },
        60..80 => Errand::Failing {
            orders: (0..rng.usize(1..4)).map(|_| failing(rng)).collect(),
        },
        80..92 => Errand::HangsUp {
            order: Order {
                take_ms: rng.u64(20..40),
                end: end(rng),
            },
        },
        _ => Errand::Twins,
    }
}

/// An order for one of many: mostly to succeed, at once or after a moment.
fn hasty(rng: &mut Rng) -> Order {
    Order {
        take_ms: rng.u64(..8).saturating_sub(3),
        end: end(rng),
    }
}

fn failing(rng: &mut Rng) -> Order {
    Order {
        take_ms: rng.u64(..8).saturating_sub(5),
        end: if rng.bool() { End::Fail } else { End::Panic },
    }
}

fn end(rng: &mut Rng) -> End {
    match rng.u32(..10) {
        0..2 => End::Fail,
        2 => End::Panic,
        _ => End::Complete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_as_long_as_asked() {
        for deliveries in [1, 2, 3, 97, 1000, 20_000] {
            let plan = plan(deliveries, 7);
            let sum: u32 = plan.iter().map(Errand::deliveries).sum();
            assert_eq!(sum, deliveries);
        }
    }

    #[test]
    fn the_same_seed_is_the_same_plan() {
        assert_eq!(plan(1000, 7), plan(1000, 7));
        assert_ne!(plan(1000, 7), plan(1000, 8));
    }

    #[test]
    fn every_errand_is_in_a_plan_of_a_thousand() {
        let plan = plan(1000, 7);
        let has = |kind: fn(&Errand) -> bool| plan.iter().any(kind);
        assert!(has(|e| matches!(e, Errand::Burst { .. })));
        assert!(has(|e| matches!(e, Errand::Repeated { .. })));
        assert!(has(|e| matches!(e, Errand::Late)));
        assert!(has(|e| matches!(e, Errand::AtOnce { .. })));
        assert!(has(|e| matches!(e, Errand::Failing { .. })));
        assert!(has(|e| matches!(e, Errand::HangsUp { .. })));
        assert!(has(|e| matches!(e, Errand::Outlasts)));
        assert!(has(|e| matches!(e, Errand::FailsLate)));
        assert!(has(|e| matches!(e, Errand::Twins)));
    }
}
