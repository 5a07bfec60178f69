//! The bodies of the fuzz targets `request` and `signature`, shared by the fuzzer and by
//! the tests that replay its seeds.

mod draw;
mod reference;
mod request;
mod sender;
mod signature;

pub(crate) use request::request;
pub(crate) use signature::signature;
