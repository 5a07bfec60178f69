//! Do the seeds of the fuzz targets `request` and `signature`, every input that once
//! broke one, and a thousand random ones pass?
//!
//! Seeds lie in `fuzz/seeds/<target>`, past crashes in `fuzz/crashes/<target>`.

#[path = "targets.rs"]
mod targets;

use std::{fs, path::Path};

type Target = fn(&[u8]);

const ALL: [(&str, Target); 2] = [
    ("request", targets::request),
    ("signature", targets::signature),
];

#[test]
fn every_seed_and_past_crash_passes() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, run) in ALL {
        let mut inputs = 0;
        for folder in ["seeds", "crashes"] {
            let Ok(files) = fs::read_dir(fuzz.join(folder).join(name)) else {
                continue;
            };
            for file in files {
                let path = file.expect("the folder can be listed").path();
                println!("{}", path.display());
                run(&fs::read(&path).expect("the file can be read"));
                inputs += 1;
            }
        }
        assert!(inputs > 0, "target {name} has no seeds");
    }
}

#[test]
fn random_requests_pass() {
    random(targets::request);
}

#[test]
fn random_signatures_pass() {
    random(targets::signature);
}

fn random(target: Target) {
    for seed in 0..500 {
        let input = input(seed);
        if let Err(panic) = std::panic::catch_unwind(|| target(&input)) {
            println!("seed {seed}: {input:?}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Up to 64 bytes from a seed (splitmix64).
fn input(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    });
    words.take(8).flat_map(u64::to_le_bytes).collect()
}
