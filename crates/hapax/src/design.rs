//! The pages behind the code: what is promised, how it works, what it costs.

#[doc = include_str!("../docs/guarantees.md")]
pub mod guarantees {}

#[doc = include_str!("../docs/protocol.md")]
pub mod protocol {}

#[doc = include_str!("../docs/sizing.md")]
pub mod sizing {}
