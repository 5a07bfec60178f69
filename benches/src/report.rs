//! The report: what is measured for it, and the tables and charts made of it.

pub mod agree;
pub mod charts;
pub mod goals;
pub mod machine;
pub mod page;
pub mod places;
pub mod plan;
pub mod probe;
pub mod record;
pub mod tables;
mod verdicts;
