//! Finds every memory ordering in the set's source that could be weaker, and every fence.
//!
//! Each is a [`Fault`] of its own: an `Acquire` or a `Release` becomes `Relaxed`, an `AcqRel` each
//! of the three, and a sequentially consistent fence `AcqRel`, or nothing. They are found in the text, not listed, so none can be added
//! without being tried. Tests and comments are left alone, and so are the orderings of files that
//! no model looks into.

use std::{fs, io, path::Path};

use crate::fault::{Edit, Fault};

/// The files whose orderings the models explore.
const MODELLED: [&str; 6] = [
    "insert.rs",
    "table.rs",
    "reservation.rs",
    "shard.rs",
    "settle.rs",
    "wheel.rs",
];

/// Every weaker form of the set below `source`.
///
/// # Errors
///
/// A file that cannot be read.
pub fn weaker_everywhere(source: &Path) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for file in MODELLED {
        faults.extend(weaker(file, &fs::read_to_string(source.join(file))?));
    }
    Ok(faults)
}

/// Every weaker form of one source file, named by file, function and what becomes of it.
#[must_use]
pub fn weaker(file: &str, text: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut function = "";
    let mut start = 0;
    let mut skipped: Option<Item> = None;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        if code.trim_start().starts_with("#[cfg(") && code.contains("test") {
            skipped = Some(Item::default());
            start += line.len();
            continue;
        }
        if let Some(item) = &mut skipped {
            if item.ends_with(code) {
                skipped = None;
            }
            start += line.len();
            continue;
        }
        function = name_of_function(code).unwrap_or(function);
        for (at, _) in code.match_indices("Ordering::") {
            let at = start + at + "Ordering::".len();
            let word: &str = text[at..]
                .split(|c: char| !c.is_alphanumeric())
                .next()
                .unwrap_or_default();
            let is_fence = code.contains("fence(");
            let weaker: &[&str] = match word {
                // An AcqRel fence orders no store before a later load.
                "SeqCst" if is_fence => &["AcqRel", "nothing"],
                _ if is_fence => &["nothing"],
                "AcqRel" => &["Acquire", "Release", "Relaxed"],
                "Acquire" | "Release" | "SeqCst" => &["Relaxed"],
                _ => &[],
            };
            for &to in weaker {
                let what = if is_fence { "fence" } else { word };
                let (from, end, put) = if to == "nothing" {
                    (start, start + line.len(), "")
                } else {
                    (at, at + word.len(), to)
                };
                let base = format!("{file}, {function}: {what} to {to}");
                let like = faults.iter().filter(|f| f.name.starts_with(&base)).count();
                let name = match like {
                    0 => base,
                    n => format!("{base}, {}", n + 1),
                };
                // The whole file, so that the place is told apart from all others like it.
                let edit = Edit {
                    file: file.into(),
                    find: text.into(),
                    put: [&text[..from], put, &text[end..]].concat(),
                };
                faults.push(Fault {
                    name,
                    edits: vec![edit],
                    ..Fault::default()
                });
            }
        }
        start += line.len();
    }
    faults
}

/// An item that is skipped, and how deep in its braces we are.
#[derive(Default)]
struct Item {
    depth: usize,
    is_open: bool,
}

impl Item {
    /// Reads one more line; whether the item ends with it.
    fn ends_with(&mut self, code: &str) -> bool {
        for c in code.chars() {
            match c {
                '{' => (self.depth, self.is_open) = (self.depth + 1, true),
                '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.depth == 0 && (self.is_open || code.trim_end().ends_with(';'))
    }
}

fn name_of_function(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    if !before.is_empty() && !before.ends_with(' ') {
        return None;
    }
    after
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .filter(|name| !name.is_empty())
}
