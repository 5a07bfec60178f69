//! What the suites in `benches/` measure and how: the contenders behind one trait, seeded streams of
//! ids whose answers are known beforehand, and the floor under all of them.
//!
//! A suite never times a contender by itself. It plays a [`script`] on one thread or a [`rush`] on
//! several: these prepare the set, time only the calls, and compare the number of *firsts* with the
//! number that must come out. A contender that answers wrongly ends the run. The report is made from
//! the same scripts and rushes, so it cannot differ from the suites in what it measures.

#![forbid(unsafe_code)]

pub mod contender;
pub mod correctness;
pub mod crew;
pub mod ids;
pub mod in_process;
pub mod load;
pub mod memory;
pub mod report;
pub mod rush;
pub mod scale;
pub mod script;
pub mod steady;
pub mod webhook;
