//! The report as a page: every table, chart and caveat, in Markdown.

use super::{
    agree::{self, Agreement},
    charts, goals,
    machine::{self, Machine},
    places,
    plan::Depth,
    record::Book,
    tables,
};
use crate::contender::CONTENDERS;

/// Writes the page.
pub fn write(
    book: &Book,
    depth: Depth,
    machine: &Machine,
    agreement: Option<&Agreement>,
) -> String {
    let mut page = Page(String::new());
    page.line("# How fast, how large, how right");
    page.line(&stamp(depth, machine));
    page.line(
        "Made by `cargo run --release -p hapax-benches --bin report`; how the numbers come about is in \
         [the benches' own README](../README.md). Every value is the median of several rounds in which \
         the contenders took turns. `~` means that the rounds lay more than half apart: do not quote \
         it. `†` means that two callers can both be told *first*: fast, but not a set. `–` means not \
         measured, because the contender cannot finish it or it does not apply.",
    );
    page.section("Goals", &goals::page(book));
    let mut pictures = String::new();
    for (file, text) in charts::FILES {
        pictures.push_str(&format!("![{text}]({file})\n\n"));
    }
    page.section("Charts", &pictures);
    page.section("Are the answers right?", &correct(book));
    let single = tables::by_columns(book, "single_thread", "ns_per_call", tables::time);
    page.section("Time of one call, one thread", &single);
    let threads = tables::by_columns(book, "threads", "calls_per_second", tables::short);
    page.section("Calls per second, several threads", &threads);
    let latency = [16, 2]
        .map(|threads| tables::latency(book, threads))
        .join("\n");
    page.section(
        "Time of single calls",
        &format!(
            "One call in twenty is a duplicate, 100k ids are live at the start. Two readings of the \
             clock are in every value.\n\n{latency}"
        ),
    );
    page.section(
        "Where as many ids expire as arrive",
        &format!(
            "100k live ids, each forgotten after 0.8 s.\n\n{}",
            tables::steady(book)
        ),
    );
    page.section(
        "Memory",
        &format!(
            "Ids of 26 bytes; sizes over one doubling, from 100k to 168k live ids. Bytes are what was \
             asked of the allocator, *resident* is what the process grew by.\n\n{}",
            tables::memory(book)
        ),
    );
    page.section(
        "Requests",
        &format!(
            "An Axum handler that does nothing, alone (`empty`), behind the mutex map, behind hapax as a \
             layer. 16 connections on loopback, client and server on the same cores; one request in \
             twenty brings a new id. Percentiles at {} requests/s, from when each request was due.\n\n\
             {}\n{}",
            places::RATE,
            tables::requests(book),
            tables::handler(book)
        ),
    );
    if let Some(agreement) = agreement {
        page.section("Does a second run agree?", &agree::page(agreement));
    }
    page.section("Versions", &versions());
    page.0
}

struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push_str("\n\n");
    }

    fn section(&mut self, title: &str, text: &str) {
        self.line(&format!("## {title}"));
        self.line(text.trim_end());
    }
}

fn stamp(depth: Depth, machine: &Machine) -> String {
    let mut text = String::new();
    for (name, fact) in &machine.facts {
        text.push_str(&format!("- {name}: {fact}\n"));
    }
    if depth == Depth::Quick {
        text.push_str("- **quick**: few sizes and rounds, for a first impression only\n");
    }
    text.trim_end().to_owned()
}

fn correct(book: &Book) -> String {
    format!(
        "Found out by asking. Two threads raced for 20,000 ids, one after the other. Ids that were \
         asked about all the time, and ids that were asked about once, had to be *first* again after \
         300 ms, no sooner and at most 25 ms later. A burst of 100k ids had to leave memory, down to a \
         quarter, after it expired and 2,048 new ids came, 32 times each.\n\n{}",
        tables::correctness(book)
    )
}

fn versions() -> String {
    let versions = machine::versions();
    let mut rows: Vec<Vec<String>> = CONTENDERS
        .iter()
        .filter_map(|row| {
            let version = versions.get(row.package)?;
            Some(vec![
                format!("`{}`", row.name),
                row.package.to_owned(),
                version.clone(),
            ])
        })
        .collect();
    for package in ["ahash", "criterion", "hashbrown"] {
        if let Some(version) = versions.get(package) {
            rows.push(vec![String::new(), package.to_owned(), version.clone()]);
        }
    }
    tables::table(
        &["contender", "package", "version"].map(str::to_owned),
        &rows,
    )
}
