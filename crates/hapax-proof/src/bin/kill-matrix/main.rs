//! Plants faults in the set, one at a time, and writes down which layer of proof finds which.
//!
//! ```text
//! kill-matrix [--layers tests,loom,shuttle,stress] [--only TEXT]... [--kind logic|orderings]
//!             [--quick SECONDS] [--unfound] [--again] [--table]
//! ```
//!
//! | option | what it does |
//! |---|---|
//! | `--layers` | runs these layers, in this order |
//! | `--only` | takes the faults whose name, or file, has TEXT in it |
//! | `--kind` | takes the faults of logic, or the weakened orderings |
//! | `--quick` | leaves out tests that take longer than so many seconds on the sound set |
//! | `--unfound` | takes only faults that nothing has found yet |
//! | `--again` | tries what was tried before |
//! | `--table` | tries nothing and writes the table |
//!
//! Works on a copy of the tree below `target/kill-matrix`, with a build folder for each layer, so a
//! fault costs one incremental build. First each layer runs on the sound set, which tells that it
//! passes and how long each test takes. What is found goes at once into
//! `crates/hapax-proof/faults/kills.tsv`, so a run that was cut short goes on where it stopped; a
//! cell is run again when the file that its fault changes has changed, and where nothing was found
//! also when the tests have. The table is
//! `crates/hapax-proof/KILLS.md`. Start it through `ci/kill-matrix.sh`.

mod hunt;
mod layer;
mod ledger;
mod page;
mod tree;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use hapax_proof::{
    fault::{Fault, read_all},
    weaken::weaker_everywhere,
};

use crate::{
    hunt::Hunter,
    layer::{LAYERS, Layer},
    ledger::{Cell, Ledger, Outcome},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Options {
    layers: Vec<&'static Layer>,
    only: Vec<String>,
    orderings: Option<bool>,
    quick: Option<Duration>,
    unfound: bool,
    again: bool,
    table: bool,
}

fn main() -> Result<()> {
    let options = options()?;
    let proof = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = proof.join("../..").canonicalize()?;
    let source = root.join("crates/hapax/src");
    let faults = faults(&source, &proof.join("faults"))?;
    let mut ledger = Ledger::open(proof.join("faults/kills.tsv"))?;
    if !options.table {
        run(&options, &root, &faults, &mut ledger)?;
    }
    fs::write(
        proof.join("KILLS.md"),
        page::page(&faults, &ledger, &source),
    )?;
    let silent: Vec<_> = faults
        .iter()
        .filter(|fault| page::is_missed(fault, &ledger))
        .collect();
    for fault in &silent {
        println!("nothing finds, and no reason excuses: {}", fault.name);
    }
    println!("{} faults, {} unexcused", faults.len(), silent.len());
    if silent.is_empty() {
        Ok(())
    } else {
        Err("a fault that nothing finds is a missing test".into())
    }
}

fn run(options: &Options, root: &Path, faults: &[Fault], ledger: &mut Ledger) -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let work = std::path::absolute(target)?.join("kill-matrix");
    let tree = work.join("tree");
    tree::bring_up_to_date(root, &tree)?;
    for &layer in &options.layers {
        let tests = hunt::digest(layer, &tree)?;
        let due: Vec<_> = faults
            .iter()
            .filter(|fault| is_due(options, (layer, tests), fault, ledger, &tree))
            .collect();
        println!("{}: {} faults", layer.name, due.len());
        if due.is_empty() {
            continue;
        }
        let hunter = Hunter::on_sound_set(layer, &tree, &work, options.quick)?;
        for fault in due {
            let started = Instant::now();
            let (mark, outcome) = attempt(fault, &hunter, &tree)?;
            let took = started.elapsed().as_secs();
            println!("{} | {} | {outcome} ({took} s)", layer.name, fault.name);
            ledger.note(
                &fault.name,
                layer.name,
                Cell {
                    mark,
                    tests,
                    outcome,
                },
            )?;
        }
    }
    Ok(())
}

fn is_due(
    options: &Options,
    (layer, tests): (&Layer, u64),
    fault: &Fault,
    ledger: &Ledger,
    tree: &Path,
) -> bool {
    let is_ordering = fault.is_ordering();
    let is_named = options.only.is_empty() || options.only.iter().any(|text| fault.mentions(text));
    if !is_named
        || (is_ordering && !layer.sees_orderings)
        || options.orderings.is_some_and(|kind| kind != is_ordering)
        || (options.unfound && page::is_found(fault, ledger))
    {
        return false;
    }
    let Some(cell) = ledger.cell(&fault.name, layer.name) else {
        return true;
    };
    let is_as_it_was = cell.mark == ledger::mark(fault, &tree.join("crates/hapax/src"));
    // What was found is found; what was not may be, now that there are other tests.
    let is_enough = match cell.outcome {
        Outcome::Unbuildable(_) => false,
        Outcome::SurvivedQuick { .. } => options.quick.is_some() && cell.tests == tests,
        Outcome::Survived { .. } => cell.tests == tests,
        Outcome::Found { .. } | Outcome::NoEnd { .. } => true,
    };
    options.again || !(is_as_it_was && is_enough)
}

/// Plants one fault, lets one layer look for it, and takes it out again.
fn attempt(fault: &Fault, hunter: &Hunter<'_>, tree: &Path) -> Result<(u64, Outcome)> {
    let source = tree.join("crates/hapax/src");
    let mark = ledger::mark(fault, &source);
    let changes = match fault.changes(&source) {
        Ok(changes) => changes,
        Err(wrong) => return Ok((mark, Outcome::Unbuildable(wrong.to_string()))),
    };
    for change in &changes {
        fs::write(&change.path, &change.after)?;
    }
    let outcome = hunter.look_for(fault);
    for change in &changes {
        fs::write(&change.path, &change.before)?;
    }
    Ok((mark, outcome?))
}

fn options() -> Result<Options> {
    let mut options = Options {
        layers: LAYERS.iter().collect(),
        only: Vec::new(),
        orderings: None,
        quick: None,
        unfound: false,
        again: false,
        table: false,
    };
    let mut given = env::args().skip(1);
    while let Some(option) = given.next() {
        let mut value = || given.next().ok_or(format!("{option} wants a value"));
        match option.as_str() {
            "--layers" => {
                let find = |name: &str| {
                    let layer = LAYERS.iter().find(|layer| layer.name == name);
                    layer.ok_or(format!("there is no layer {name}"))
                };
                let names = value()?;
                options.layers = names
                    .split(',')
                    .map(find)
                    .collect::<std::result::Result<_, _>>()?;
            }
            "--only" => options.only.push(value()?),
            "--kind" => {
                options.orderings = Some(match value()?.as_str() {
                    "logic" => false,
                    "orderings" => true,
                    other => return Err(format!("unknown kind {other}").into()),
                });
            }
            "--quick" => options.quick = Some(Duration::from_secs(value()?.parse()?)),
            "--unfound" => options.unfound = true,
            "--again" => options.again = true,
            "--table" => options.table = true,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(options)
}

/// The faults of logic as they are written down, then the orderings as they stand in the source.
fn faults(source: &Path, folder: &Path) -> Result<Vec<Fault>> {
    let mut orderings = weaker_everywhere(source)?;
    let mut faults = Vec::new();
    for fault in read_all(folder)? {
        match orderings.iter_mut().find(|known| known.name == fault.name) {
            // The reason why an ordering may stay weak.
            Some(ordering) => ordering.survives = fault.survives,
            None => faults.push(fault),
        }
    }
    faults.extend(orderings);
    Ok(faults)
}
