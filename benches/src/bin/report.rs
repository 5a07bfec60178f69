//! Measures what the charts and goals need and writes tables, charts and numbers.

#![forbid(unsafe_code)]

use clap::Parser;
use hapax_benches::report::{
    agree, charts,
    machine::Machine,
    page,
    plan::{self, Depth},
    probe::Probe,
    record::{Book, Record},
};
use indicatif::{ProgressBar, ProgressStyle};
use std::{error::Error, fs, path::PathBuf};

/// Compares hapax with every other way to do it and writes a report.
#[derive(Debug, Parser)]
struct Options {
    /// Few sizes and rounds: a first impression in a few minutes
    #[arg(long)]
    quick: bool,
    /// All contenders at ten million ids too: takes long and up to 6 GB of memory
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Print the numbers as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Measure everything twice and say which ratios do not agree within 25 %
    #[arg(long)]
    twice: bool,
    /// Say which ratios do not agree with an earlier `latest.json`
    #[arg(long, value_name = "FILE", conflicts_with = "twice")]
    against: Option<PathBuf>,
    /// Where to write README.md, the charts and latest.json
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/report"))]
    out: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let depth = match (options.quick, options.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Normal,
    };
    // Read first: the new numbers may go into the same file.
    let earlier: Option<Vec<Record>> = match &options.against {
        Some(file) => Some(serde_json::from_slice(&fs::read(file)?)?),
        None => None,
    };
    let machine = Machine::ask();
    let mut book = measure(depth)?;
    let mut agreement = earlier.map(|earlier| agree::compare(&earlier, &book.records));
    if options.twice {
        let second = measure(depth)?;
        agreement = Some(agree::compare(&book.records, &second.records));
        book = agree::merge(&book, &second);
    }
    fs::create_dir_all(&options.out)?;
    let json = serde_json::to_string_pretty(&book.records)?;
    fs::write(options.out.join("latest.json"), &json)?;
    let page = page::write(&book, depth, &machine, agreement.as_ref());
    fs::write(options.out.join("README.md"), page)?;
    charts::draw(&book, &options.out)?;
    if options.json {
        println!("{json}");
    } else {
        println!("{}", options.out.join("README.md").display());
    }
    Ok(())
}

fn measure(depth: Depth) -> Result<Book, Box<dyn Error>> {
    let probe = Probe::build()?;
    let steps = plan::steps(depth, &probe);
    // The bar hides itself where standard error is not a terminal.
    let bar = ProgressBar::new(steps.len() as u64);
    bar.set_style(ProgressStyle::with_template(
        "{elapsed_precise} {bar:30} {pos}/{len} {msg}",
    )?);
    let mut book = Book::default();
    for step in steps {
        bar.set_message(step.name);
        (step.run)(&mut book);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(book)
}
