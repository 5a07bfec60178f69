//! The table, as a page.

use std::{fmt::Write as _, path::Path};

use hapax_proof::fault::Fault;

use crate::{
    layer::LAYERS,
    ledger::{Ledger, Outcome, mark},
};

fn outcomes<'l>(fault: &Fault, ledger: &'l Ledger) -> Vec<&'l Outcome> {
    LAYERS
        .iter()
        .filter_map(|layer| ledger.cell(&fault.name, layer.name))
        .map(|cell| &cell.outcome)
        .collect()
}

/// Whether some layer has found it.
pub(crate) fn is_found(fault: &Fault, ledger: &Ledger) -> bool {
    outcomes(fault, ledger)
        .iter()
        .any(|outcome| outcome.is_found())
}

/// Whether all that was run found nothing, one layer at least to its end, and no reason excuses it.
pub(crate) fn is_missed(fault: &Fault, ledger: &Ledger) -> bool {
    fault.survives.is_none()
        && !is_found(fault, ledger)
        && outcomes(fault, ledger)
            .iter()
            .any(|outcome| outcome.is_survived())
}

/// Writes the page from the faults and what was found.
pub(crate) fn page(faults: &[Fault], ledger: &Ledger, source: &Path) -> String {
    let mut page = String::from(include_str!("../../../faults/README.md"));
    let _ = write!(
        page,
        "\n## Layers\n\n| layer | what runs | sees orderings |\n|---|---|---|\n"
    );
    for layer in &LAYERS {
        let sees = if layer.sees_orderings { "yes" } else { "no" };
        let _ = writeln!(page, "| {} | {} | {sees} |", layer.name, layer.about);
    }
    let (orderings, logic): (Vec<_>, Vec<_>) = faults.iter().partition(|f| f.is_ordering());
    summary(&mut page, &logic, &orderings, ledger);
    table(&mut page, "Logic", &logic, ledger, source);
    table(
        &mut page,
        "Orderings and fences",
        &orderings,
        ledger,
        source,
    );
    page
}

fn summary(page: &mut String, logic: &[&Fault], orderings: &[&Fault], ledger: &Ledger) {
    page.push_str(
        "\n## Sum\n\n| faults | planted | found by | by no layer that ran | of these with a reason | not run yet |\n|---|---|---|---|---|---|\n",
    );
    for (title, faults) in [("logic", logic), ("orderings", orderings)] {
        let ran = faults
            .iter()
            .copied()
            .filter(|f| !outcomes(f, ledger).is_empty());
        let (found, quiet): (Vec<&Fault>, Vec<&Fault>) = ran.partition(|f| is_found(f, ledger));
        let by: Vec<_> = LAYERS
            .iter()
            .map(|layer| {
                let count = |is: fn(&Outcome) -> bool| {
                    let cells = faults
                        .iter()
                        .filter_map(|f| ledger.cell(&f.name, layer.name));
                    cells.filter(|cell| is(&cell.outcome)).count()
                };
                let (ran, found) = (count(|_| true), count(Outcome::is_found));
                (layer.name, ran, found)
            })
            .filter(|(_, ran, _)| *ran > 0)
            .map(|(name, ran, found)| format!("{name} {found} of {ran}"))
            .collect();
        let excused = quiet.iter().filter(|f| f.survives.is_some()).count();
        let _ = writeln!(
            page,
            "| {title} | {} | {}: {} | {} | {excused} | {} |",
            faults.len(),
            found.len(),
            by.join(", "),
            quiet.len(),
            faults.len() - found.len() - quiet.len()
        );
    }
}

fn table(page: &mut String, title: &str, faults: &[&Fault], ledger: &Ledger, source: &Path) {
    let layers: Vec<_> = LAYERS
        .iter()
        .filter(|layer| layer.sees_orderings || title == "Logic")
        .collect();
    let _ = write!(page, "\n## {title}\n\n| fault |");
    for layer in &layers {
        let _ = write!(page, " {} |", layer.name);
    }
    let rule = "---|".repeat(layers.len() + 1);
    let _ = write!(page, " why it may stay |\n|---|{rule}\n");
    for fault in faults {
        let story = match fault.is_ordering() {
            true => String::new(),
            false => format!(": {}", fault.story.join(" ")),
        };
        let _ = write!(page, "| **{}**{story} |", fault.name);
        let now = mark(fault, source);
        for layer in &layers {
            let _ = match ledger.cell(&fault.name, layer.name) {
                None => write!(page, " not run |"),
                Some(cell) if cell.mark == now => write!(page, " {} |", cell.outcome),
                Some(cell) => write!(page, " {} † |", cell.outcome),
            };
        }
        let _ = writeln!(page, " {} |", fault.survives.as_deref().unwrap_or_default());
    }
}
