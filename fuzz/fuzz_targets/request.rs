//! Arbitrary requests through the layer, for every preset.
#![no_main]
#![forbid(unsafe_code)]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unused_imports)] // The other target is in there, too.
#[path = "../../crates/hapax-axum/tests/fuzzed/targets.rs"]
mod targets;

fuzz_target!(|bytes: &[u8]| targets::request(bytes));
