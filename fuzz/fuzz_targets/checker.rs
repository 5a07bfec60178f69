//! Random histories: the exact checker must agree with brute force.
#![no_main]
#![forbid(unsafe_code)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hapax_proof::target::checker(bytes));
