//! Does the layer hold against raw sockets that mean harm? A file is a kind of harm, a
//! test's name is a fact.
//!
//! Each test has a server of its own on loopback. Afterwards its books must balance:
//! every request that reached the layer is in exactly one counter, the store holds what
//! was completed and nothing else, and no handler is left.

mod server;

mod broken;
mod crowds;
mod endings;
mod floods;
mod slow;
