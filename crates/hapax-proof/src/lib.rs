//! Proof that `hapax` keeps its promises, by four means that share one definition.
//!
//! **The definition.** Each call takes effect at one instant `t` between its
//! invocation and its return, on the set's own clock. `t` never decreases along
//! the order of effects, and that order respects real time. *First* at `t` opens
//! a window that ends at `w + retention` for some clock reading `w` with
//! `invocation <= w <= t`; the clock's resolution may lengthen the window and do
//! nothing else. A lease is such a window too; it ends early when its holder
//! completes or releases it, and nobody else can do that.
//!
//! - [`history`] writes down what callers saw of one id; [`check`](mod@check)
//!   decides exactly whether the definition allows it, and [`brute`] decides the
//!   same by trying everything, so that the checker is checked too.
//! - [`oracle`] compares every answer of the set, one call after another, with a
//!   naive map ([`script`] turns bytes into calls), and [`limit`] who has to make
//!   room in a set that is full.
//! - [`plan`] gives each of several threads a list of calls; [`record`] performs
//!   and records them; [`stress`] runs them on real threads, `schedule` (under
//!   `cfg(hapax_shuttle)`) in an interleaving that bytes or a random scheduler
//!   choose.
//! - [`planted`] puts known bugs between the set and its callers: what no means
//!   notices is a missing test.
//! - [`fault`] and [`weaken`] put faults into the set's source, for the program
//!   `kill-matrix`, which lets every layer look for each.
//!
//! [`target`] holds the bodies of the fuzz targets, so that ordinary tests replay
//! their seeds. The crate is not published.
#![forbid(unsafe_code)]

pub mod brute;
pub mod check;
pub mod collide;
pub mod difference;
pub mod draw;
pub mod exactness;
pub mod fault;
pub mod history;
pub mod interleave;
mod lease;
pub mod limit;
pub mod naive;
pub mod oracle;
pub mod plan;
pub mod planted;
pub mod random;
pub mod record;
#[cfg(hapax_shuttle)]
pub mod schedule;
pub mod script;
pub mod stress;
pub mod target;
pub mod watchdog;
pub mod weaken;
pub mod window;
