//! A set with a limit: who had to make room, and was that right?
//!
//! Whom a full set pushes out is its own choice, so the naive map follows it: it
//! looks after each call for ids that it knows and the set does not. What is the
//! set's duty is checked.
//!
//! - Only an insert that was first makes anybody go, and one id at most: an older
//!   one that is done (`forgotten_early`; never where newcomers are to be
//!   refused), or a newcomer's mark itself, of which nothing is kept
//!   (`unrecorded`). A claim never goes.
//! - Whoever is told *full* was not known (`refused`). Nobody goes.
//! - After each call of the script the three counters have risen by just that.
//! - Nothing of this happens while no more ids are known than the limit says,
//!   the newcomer included. What has ended needs no room, not even for an instant.
//!   The set promises it for random ids; but limits are so small here that an id
//!   reaches more places than that, and so it holds for ids that collide too.
//! - Where every place is in reach of every id, it is the done id that ends first
//!   that goes, nobody is refused while there is one, and the set is full at the
//!   same number of ids each time.

use hapax::{Builder, WhenFull};

use crate::{
    difference::{Compared, same},
    draw::Draw,
    naive::{Id, Known, Naive},
    oracle::Set,
    script::Shape,
};

/// Up to this limit, one shard's table is so small that all of it is in reach.
const MOST_IN_REACH: usize = 20;

/// A limit, and how to come to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The set's `max_entries`, at least 1.
    pub max_entries: usize,
    /// What it does when it is full.
    pub when_full: WhenFull,
    /// Of five ids that [`Op::Fill`](crate::script::Op::Fill) brings, so many are
    /// claimed instead of marked.
    pub claims_of_five: u8,
}

impl Limit {
    /// Draws a limit that a script can reach.
    #[must_use]
    pub fn draw(draw: &mut Draw<'_>) -> Self {
        let max_entries = draw.pick(&[1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 21, 28, 40]);
        let (when_full, claims_of_five) = draw.pick(&[
            (WhenFull::ForgetOldest, 0),
            (WhenFull::Refuse, 0),
            (WhenFull::ForgetOldest, 2),
            (WhenFull::Refuse, 3),
            (WhenFull::ForgetOldest, 5),
            (WhenFull::ForgetOldest, 4),
        ]);
        Self {
            max_entries,
            when_full,
            claims_of_five,
        }
    }

    /// Draws a limit from the last two bytes, which leaves the others their meaning.
    #[must_use]
    pub fn at_the_end_of(bytes: &[u8]) -> Self {
        Self::draw(&mut Draw::new(&bytes[bytes.len().saturating_sub(2)..]))
    }

    /// Sets the limit; a capacity beyond it would be refused.
    pub(crate) fn of<S, C>(self, builder: Builder<S, C>, shape: &Shape) -> Builder<S, C> {
        builder
            .capacity(self.capacity(shape))
            .max_entries(self.max_entries)
            .when_full(self.when_full)
    }

    fn capacity(self, shape: &Shape) -> usize {
        shape.capacity.min(self.max_entries)
    }
}

/// What an insert was told, as far as the limit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    First,
    /// Duplicate, or in flight.
    Known,
    Full,
}

impl Told {
    pub(crate) fn of(known: Known) -> Self {
        match known {
            Known::No => Self::First,
            Known::Done | Known::InFlight { .. } => Self::Known,
        }
    }
}

/// Follows a set at its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtLimit {
    limit: Limit,
    /// There is one table, and all of it is in reach of every id.
    is_one_run: bool,
    /// How many known ids were too many, the first time.
    too_many: Option<usize>,
}

impl AtLimit {
    pub(crate) fn new(limit: Limit, shape: &Shape) -> Self {
        let never_grows = limit.capacity(shape) == limit.max_entries;
        Self {
            limit,
            is_one_run: shape.shards == 1 && never_grows && limit.max_entries <= MOST_IN_REACH,
            too_many: None,
        }
    }

    /// Whether the id, one of those that fill the set, is to be claimed.
    pub(crate) fn is_claimed(&self, id: Id) -> bool {
        id % 5 < u64::from(self.limit.claims_of_five)
    }

    /// Looks who is missing after one insert, and checks that he may be. Then the
    /// naive map, which has noted the answer before, lets go of him, and counts
    /// what the set must have counted.
    pub(crate) fn follow(&mut self, set: &Set, naive: &mut Naive, id: Id, told: Told) -> Compared {
        let missing = missing(set, naive);
        match (told, &missing[..]) {
            (Told::Known | Told::First, []) => self.had_room(naive, told),
            (Told::Full, []) => {
                same("an id told full", Known::No, naive.known(id))?;
                self.was_full(naive, 1)?;
                self.is_all_claimed(naive, 0)?;
                naive.books.refused += 1;
                Ok(())
            }
            (Told::First, &[gone]) if gone == id => {
                same("an id not kept", Known::Done, naive.known(id))?;
                self.was_full(naive, 0)?;
                self.is_all_claimed(naive, 1)?;
                naive.unrecord(id);
                Ok(())
            }
            (Told::First, &[gone]) => {
                let (was, mode) = (naive.known(gone), self.limit.when_full);
                if was != Known::Done || mode == WhenFull::Refuse {
                    return Err(format!("{mode:?}: {gone}, {was:?}, is gone, {id} is in"));
                }
                self.was_full(naive, 0)?;
                self.is_earliest(naive, id, gone)?;
                naive.push_out(gone);
                Ok(())
            }
            _ => Err(format!(
                "{id} was told {told:?}, and {missing:?} are missing"
            )),
        }
    }

    /// Checks that nobody is missing, and that the tables are within their bound.
    pub(crate) fn nobody_missing(&self, set: &Set, naive: &Naive) -> Compared {
        same("missing", vec![], missing(set, naive))?;
        let (bytes, most) = (set.stats().bytes, set.max_bytes() as u64);
        if bytes <= most {
            Ok(())
        } else {
            Err(format!("{bytes} bytes in use, {most} at most"))
        }
    }

    /// Checks that there was need for somebody to go or to stay out. The ids that
    /// wanted to be in are those of the naive map and `more`.
    fn was_full(&mut self, naive: &Naive, more: usize) -> Compared {
        let wanted = naive.all_known().count() + more;
        if wanted <= self.limit.max_entries {
            return Err(format!("there was no room for {wanted} ids"));
        }
        if self.is_one_run {
            let too_many = *self.too_many.get_or_insert(wanted);
            same("how many are too many", too_many, wanted)?;
        }
        Ok(())
    }

    /// Checks that those who got in do fit.
    fn had_room(&self, naive: &Naive, told: Told) -> Compared {
        let wanted = naive.all_known().count();
        match self.too_many {
            Some(too_many) if told == Told::First && wanted >= too_many => {
                Err(format!("{wanted} ids got in, and nobody went"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that nobody could make room for a newcomer that stayed out; of the
    /// ids that the naive map has as done, `own` are the newcomer.
    fn is_all_claimed(&self, naive: &Naive, own: usize) -> Compared {
        if !self.is_one_run || self.limit.when_full == WhenFull::Refuse {
            return Ok(());
        }
        let done = naive.all_known().filter(|k| k.1 == Known::Done).count();
        same("done ids while one stays out", own, done)
    }

    /// Checks that no other done id ends before `gone`.
    fn is_earliest(&self, naive: &Naive, newcomer: Id, gone: Id) -> Compared {
        if !self.is_one_run {
            return Ok(());
        }
        let others: Vec<(u64, Id)> = naive
            .all_known()
            .filter(|&(id, known, _)| id != newcomer && known == Known::Done)
            .map(|(id, _, end_ms)| (end_ms, id))
            .collect();
        let earliest_ms = others.iter().map(|other| other.0).min();
        let gone_ms = others.iter().find(|o| o.1 == gone).map(|o| o.0);
        same("end of who made room, in ms", earliest_ms, gone_ms)
    }
}

/// The ids that the naive map knows and the set does not.
fn missing(set: &Set, naive: &Naive) -> Vec<Id> {
    let known = naive.all_known().map(|(id, ..)| id);
    known.filter(|id| !set.contains(id)).collect()
}
