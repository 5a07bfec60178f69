//! The copy of the tree in which faults are planted.

use std::{fs, io, path::Path};

/// What the copy needs.
const PARTS: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "crates",
    "benches",
    "fuzz/seeds",
];

/// Makes `copy` the same as the tree at `root`.
///
/// Writes only files that differ, so that what has not changed is not built again, and what a run
/// that was cut short has left faulty is: its file gets a new time of change.
pub(crate) fn bring_up_to_date(root: &Path, copy: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    for part in PARTS {
        same(&root.join(part), &copy.join(part))?;
    }
    Ok(())
}

fn same(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(to)? {
            let entry = entry?;
            if !from.join(entry.file_name()).exists() {
                remove(&entry.path())?;
            }
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_name() != "target" {
                same(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
        return Ok(());
    }
    let wanted = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    fs::write(to, wanted)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}
