//! Do the seeds of the fuzz targets, and every input that once crashed one, pass?
//!
//! Seeds lie in `fuzz/seeds/<target>`, past crashes in `fuzz/crashes/<target>`.
//! Targets with a schedule run call by call here, and at every atomic operation
//! in `ci/schedules.sh`.

use std::{fs, path::Path};

use hapax_proof::target;

#[test]
fn every_seed_and_past_crash_passes() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, run) in target::ALL {
        // Under shuttle a set lives inside an execution; `ops` has none.
        if cfg!(hapax_shuttle) && name == "ops" {
            continue;
        }
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
        println!("{name}: {inputs} inputs");
        assert!(inputs > 0, "target {name} has no seeds");
    }
}
