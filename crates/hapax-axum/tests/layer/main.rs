//! What the layer does to a request. A file is a question, a test's name is a fact.

mod rig;

mod abandoned;
mod attacks;
mod batches;
mod builds;
mod drain;
mod duplicate;
mod extractors;
mod failing;
mod handshakes;
mod http;
mod ids;
mod in_flight;
mod lease;
mod limits;
mod observed;
mod panicking;
mod readiness;
mod signatures;
mod silent;
mod stacks;
mod store_trouble;
mod vectors;
