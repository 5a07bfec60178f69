//! Calls of one thread, with clock steps, against a naive map.
#![no_main]
#![forbid(unsafe_code)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hapax_proof::target::ops(bytes));
