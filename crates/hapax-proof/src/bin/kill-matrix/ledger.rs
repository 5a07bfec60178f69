//! What was found so far, on disk: one line for each fault and layer.

use std::{
    collections::BTreeMap,
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
};

use hapax_proof::fault::Fault;

/// How a layer fared with a fault.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// A test failed, after so many seconds of its own.
    Found { seconds: f64, by: String },
    /// A test that should have ended long before did not.
    NoEnd { seconds: f64, by: String },
    /// Every test passed; in so many seconds, all told.
    Survived { seconds: f64 },
    /// Every test passed that takes no longer than the limit given.
    SurvivedQuick { seconds: f64 },
    /// Not tried: the fault does not fit, or does not build.
    Unbuildable(String),
}

/// An outcome, and of what source.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// See [`mark`].
    pub(crate) mark: u64,
    /// What the layer was built from, as a number.
    pub(crate) tests: u64,
    pub(crate) outcome: Outcome,
}

/// The file of all cells.
pub(crate) struct Ledger {
    path: PathBuf,
    cells: BTreeMap<(String, String), Cell>,
}

/// Names the state of the files that a fault changes, with the fault in them.
pub(crate) fn mark(fault: &Fault, source: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    for change in fault.changes(source).unwrap_or_default() {
        change.after.hash(&mut hasher);
    }
    hasher.finish()
}

impl Ledger {
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let text = match fs::read_to_string(&path) {
            Err(wrong) if wrong.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let cells = text.lines().map(|line| {
            parse(line).ok_or_else(|| io::Error::other(format!("{}: {line}", path.display())))
        });
        let cells = cells.collect::<io::Result<_>>()?;
        Ok(Self { path, cells })
    }

    pub(crate) fn cell(&self, fault: &str, layer: &str) -> Option<&Cell> {
        self.cells.get(&(fault.into(), layer.into()))
    }

    /// Notes a cell, on disk too.
    pub(crate) fn note(&mut self, fault: &str, layer: &str, cell: Cell) -> io::Result<()> {
        self.cells.insert((fault.into(), layer.into()), cell);
        let lines = self.cells.iter().map(|((fault, layer), cell)| {
            let (kind, seconds, text) = cell.outcome.parts();
            let (mark, tests) = (cell.mark, cell.tests);
            format!("{fault}\t{layer}\t{mark:016x}\t{tests:016x}\t{kind}\t{seconds:.2}\t{text}\n")
        });
        let text: String = lines.collect();
        let beside = self.path.with_extension("tsv.new");
        fs::write(&beside, text)?;
        fs::rename(beside, &self.path)
    }
}

fn parse(line: &str) -> Option<((String, String), Cell)> {
    let mut parts = line.split('\t');
    let key = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mark = u64::from_str_radix(parts.next()?, 16).ok()?;
    let tests = u64::from_str_radix(parts.next()?, 16).ok()?;
    let kind = parts.next()?;
    let seconds: f64 = parts.next()?.parse().ok()?;
    let text = parts.next()?.to_owned();
    let outcome = match kind {
        "found" => Outcome::Found { seconds, by: text },
        "no end" => Outcome::NoEnd { seconds, by: text },
        "survived" => Outcome::Survived { seconds },
        "survived quick" => Outcome::SurvivedQuick { seconds },
        "unbuildable" => Outcome::Unbuildable(text),
        _ => return None,
    };
    let cell = Cell {
        mark,
        tests,
        outcome,
    };
    Some((key, cell))
}

impl Outcome {
    fn parts(&self) -> (&'static str, f64, &str) {
        match self {
            Self::Found { seconds, by } => ("found", *seconds, by),
            Self::NoEnd { seconds, by } => ("no end", *seconds, by),
            Self::Survived { seconds } => ("survived", *seconds, ""),
            Self::SurvivedQuick { seconds } => ("survived quick", *seconds, ""),
            Self::Unbuildable(why) => ("unbuildable", 0.0, why),
        }
    }

    pub(crate) const fn is_found(&self) -> bool {
        matches!(self, Self::Found { .. } | Self::NoEnd { .. })
    }

    /// Whether every test was run.
    pub(crate) const fn is_survived(&self) -> bool {
        matches!(self, Self::Survived { .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found { seconds, by } => write!(f, "{seconds:.2} s, `{by}`"),
            Self::NoEnd { seconds, by } => write!(f, "no end in {seconds:.0} s, `{by}`"),
            Self::Survived { .. } => write!(f, "survived"),
            Self::SurvivedQuick { .. } => write!(f, "survived the quick tests"),
            Self::Unbuildable(why) => write!(f, "not tried: {why}"),
        }
    }
}
