//! A fault to plant in the set's source, and where it is found.
//!
//! A fault is text to find and text to put there. The text that is looked for must occur exactly
//! once in its file, whatever its white space, so that a fault that no longer fits the source is an
//! error and not a survivor. Faults of logic are written down in `faults/*.txt`:
//!
//! ```text
//! fault: a name, as the table shows it
//! story: what the code does then,
//! story: and what comes of it
//! file: insert.rs
//! find:
//! | text as it stands
//! put:
//! | text to stand there instead
//! survives: why that is right
//! ```
//!
//! `file`, `find` and `put` may be given more than once; `survives` is only there where no layer
//! can find the fault, with the reason. Lines that start with `#` are comments.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A fault, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Its name; also what it is looked up by.
    pub name: String,
    /// What the faulty code does, and what comes of it.
    pub story: Vec<String>,
    /// What to change.
    pub edits: Vec<Edit>,
    /// Why nothing can find it, if nothing can.
    pub survives: Option<String>,
}

/// One change to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Below the set's `src`.
    pub file: String,
    /// Text that occurs exactly once.
    pub find: String,
    /// Text to put in its place.
    pub put: String,
}

/// What a fault makes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text without the fault.
    pub before: String,
    /// Its text with the fault.
    pub after: String,
}

/// Reads all `*.txt` files of a folder, in the order of their names.
///
/// # Errors
///
/// A file that cannot be read or is not in the form of [`parse`].
pub fn read_all(folder: &Path) -> io::Result<Vec<Fault>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let mut faults = Vec::new();
    for path in paths {
        let listed = parse(&fs::read_to_string(&path)?);
        let wrong = |what| io::Error::other(format!("{}: {what}", path.display()));
        faults.extend(listed.map_err(wrong)?);
    }
    Ok(faults)
}

/// Reads faults from their text form.
///
/// # Errors
///
/// A line that is none of those that a fault has, with its number.
pub fn parse(text: &str) -> Result<Vec<Fault>, String> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut puts = false;
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("line {}: what is this? {line}", number + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = match line.strip_prefix('|') {
            Some(code) => ("|", code),
            None => line.split_once(':').ok_or_else(wrong)?,
        };
        if key == "fault" {
            faults.push(Fault {
                name: value.trim().into(),
                ..Fault::default()
            });
            continue;
        }
        let fault = faults.last_mut().ok_or_else(wrong)?;
        match key {
            "story" => fault.story.push(value.trim().into()),
            "survives" => {
                let reason = fault.survives.get_or_insert_default();
                if !reason.is_empty() {
                    reason.push(' ');
                }
                reason.push_str(value.trim());
            }
            "file" => fault.edits.push(Edit {
                file: value.trim().into(),
                ..Edit::default()
            }),
            "find" => {
                puts = false;
                let edit = fault.edits.last().ok_or_else(wrong)?;
                if !edit.find.is_empty() {
                    let file = edit.file.clone();
                    fault.edits.push(Edit {
                        file,
                        ..Edit::default()
                    });
                }
            }
            "put" => puts = true,
            "|" => {
                let edit = fault.edits.last_mut().ok_or_else(wrong)?;
                let code = if puts { &mut edit.put } else { &mut edit.find };
                code.push_str(value);
                code.push('\n');
            }
            _ => return Err(wrong()),
        }
    }
    Ok(faults)
}

impl Fault {
    /// Whether it is an ordering made weaker: those are found in the source and have no story.
    #[must_use]
    pub fn is_ordering(&self) -> bool {
        self.story.is_empty()
    }

    /// Whether its name, or a file that it changes, has `text` in it.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        self.name.contains(text) || self.edits.iter().any(|edit| edit.file.contains(text))
    }

    /// Works out what the fault makes of the files below `source`, and writes nothing.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or in which the text is not found exactly once.
    pub fn changes(&self, source: &Path) -> io::Result<Vec<Change>> {
        let mut changes: Vec<Change> = Vec::new();
        for edit in &self.edits {
            let path = source.join(&edit.file);
            let at = match changes.iter().position(|change| change.path == path) {
                Some(at) => at,
                None => {
                    let before = fs::read_to_string(&path)?;
                    let after = before.clone();
                    changes.push(Change {
                        path,
                        before,
                        after,
                    });
                    changes.len() - 1
                }
            };
            let wrong = |what| io::Error::other(format!("{}, {}: {what}", self.name, edit.file));
            changes[at].after = edit.apply(&changes[at].after).map_err(wrong)?;
        }
        Ok(changes)
    }
}

impl Edit {
    /// Applies the change to the text of its file.
    ///
    /// # Errors
    ///
    /// The text is not there, or more than once.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        let (packed, places) = pack(text);
        let (needle, _) = pack(&self.find);
        let mut found = packed.match_indices(&needle);
        let (at, _) = found.next().ok_or("the text to find is not there")?;
        if needle.is_empty() || found.next().is_some() {
            return Err("the text to find is there more than once".into());
        }
        let (start, end) = (places[at], places[at + needle.len() - 1] + 1);
        Ok([&text[..start], &self.put, &text[end..]].concat())
    }
}

/// Text without white space, and where each of its bytes was.
fn pack(text: &str) -> (String, Vec<usize>) {
    let mut packed = String::new();
    let mut places = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        packed.push(c);
        places.extend(at..at + c.len_utf8());
    }
    (packed, places)
}
