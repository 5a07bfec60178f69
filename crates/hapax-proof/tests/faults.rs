//! Do the faults that are written down still fit the set's source, and are the orderings found?

use std::path::Path;

use hapax_proof::{
    fault::{Edit, parse, read_all},
    weaken::{weaker, weaker_everywhere},
};

fn here(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn every_fault_fits_the_source() {
    let source = here("../hapax/src");
    let mut names: Vec<String> = Vec::new();
    let mut misfits: Vec<String> = Vec::new();
    let orderings = weaker_everywhere(&source).expect("the set's source");
    let listed = read_all(&here("faults")).expect("faults in their form");
    for fault in orderings.iter().chain(&listed) {
        if fault.edits.is_empty() {
            let is_there = orderings.iter().any(|ordering| ordering.name == fault.name);
            assert!(is_there, "there is no ordering {}", fault.name);
            assert!(fault.survives.is_some(), "{}: why may it stay?", fault.name);
            continue;
        }
        assert!(
            !names.contains(&fault.name),
            "{} is there twice",
            fault.name
        );
        names.push(fault.name.clone());
        match fault.changes(&source) {
            Err(misfit) => misfits.push(misfit.to_string()),
            Ok(changes) => assert!(
                changes.iter().all(|change| change.before != change.after),
                "{} changes nothing",
                fault.name
            ),
        }
    }
    assert!(misfits.is_empty(), "{misfits:#?}");
    for fault in listed.iter().filter(|fault| !fault.edits.is_empty()) {
        assert_eq!(fault.story.len(), 2, "{} in two lines", fault.name);
    }
}

#[test]
fn every_fault_has_its_row() {
    let page = std::fs::read_to_string(here("KILLS.md")).expect("the table");
    for fault in read_all(&here("faults")).expect("faults in their form") {
        let row = format!("| **{}**", fault.name);
        assert!(
            fault.is_ordering() || page.contains(&row),
            "{} is not in KILLS.md: ci/kill-matrix.sh --table writes it",
            fault.name
        );
    }
}

#[test]
fn text_that_does_not_fit_is_an_error() {
    let edit = |find: &str| Edit {
        find: find.into(),
        put: "c".into(),
        ..Edit::default()
    };
    assert_eq!(edit("a b").apply("x a\n  b y").as_deref(), Ok("x c y"));
    assert!(edit("a").apply("b").is_err());
    assert!(edit("a").apply("a b a").is_err());
    assert!(edit("").apply("a").is_err());
    assert!(parse("story: of no fault").is_err());
    assert!(parse("fault: a\nwhat").is_err());
}

#[test]
fn orderings_are_found_in_code_and_nowhere_else() {
    let text = "\
fn load() {
    // Ordering::SeqCst would be too much.
    a.load(Ordering::Acquire); a.load(Ordering::Acquire);
}
fn swap() {
    a.swap(1, Ordering::AcqRel); a.load(Ordering::Relaxed);
    fence(Ordering::SeqCst);
}
#[cfg(test)]
fn lever(
    a: &A,
) {
    a.load(Ordering::Acquire);
}
#[cfg(all(test, not(hapax_loom)))]
use x::Ordering::SeqCst;
fn after() { a.store(1, Ordering::Release); }
#[cfg(test)]
mod tests { fn f() { a.load(Ordering::Acquire); } }
";
    let found = weaker("a.rs", text);
    let names: Vec<_> = found.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "a.rs, load: Acquire to Relaxed",
            "a.rs, load: Acquire to Relaxed, 2",
            "a.rs, swap: AcqRel to Acquire",
            "a.rs, swap: AcqRel to Release",
            "a.rs, swap: AcqRel to Relaxed",
            "a.rs, swap: fence to AcqRel",
            "a.rs, swap: fence to nothing",
            "a.rs, after: Release to Relaxed",
        ]
    );
    let second = found[1].edits[0].apply(text).expect("the whole file");
    assert!(second.contains("a.load(Ordering::Acquire); a.load(Ordering::Relaxed);"));
    let weak = found[5].edits[0].apply(text).expect("the whole file");
    assert!(weak.contains("fence(Ordering::AcqRel);"));
    let fenceless = found[6].edits[0].apply(text).expect("the whole file");
    assert!(!fenceless.contains("fence"));
}
