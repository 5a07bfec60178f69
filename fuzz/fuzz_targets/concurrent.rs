//! Marks on a few hot ids; bytes choose the calls *and* the interleaving.
#![no_main]
#![forbid(unsafe_code)]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hapax_proof::target::concurrent(bytes));
