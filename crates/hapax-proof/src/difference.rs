//! Where a set and the naive map differ, and how that is found.

use std::fmt;

use crate::script::Op;

/// The first difference between the set and the naive map.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which call of the script showed it.
    pub step: usize,
    /// That call; `None` after the last one.
    pub op: Option<Op>,
    /// What the naive map says, and what the set said.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "step {}, {op:?}: {}", self.step, self.what),
            None => write!(f, "after {} steps: {}", self.step, self.what),
        }
    }
}

impl std::error::Error for Difference {}

/// What a comparison found; in words if it is a difference.
pub(crate) type Compared = Result<(), String>;

pub(crate) fn same<T: PartialEq + fmt::Debug>(what: &str, naive: T, set: T) -> Compared {
    if naive == set {
        Ok(())
    } else {
        Err(format!("{what}: expected {naive:?}, the set says {set:?}"))
    }
}

pub(crate) fn within(what: &str, naive: u64, more: u64, set: u64) -> Compared {
    if (naive..=naive + more).contains(&set) {
        Ok(())
    } else {
        Err(format!(
            "{what}: expected {naive} and at most {more} more, the set says {set}"
        ))
    }
}
