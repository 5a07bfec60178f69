//! Does the page about sizes say what the code does?

use hapax::DedupSet;
use std::time::Duration;

const PAGE: &str = include_str!("../docs/sizing.md");

fn human(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Event counters depend on the machine's threads and are a few kB: the page is for two threads,
/// and its smallest row is large enough for that not to show.
#[test]
fn table_of_memory_is_what_a_set_of_that_size_takes() {
    let mut table = String::new();
    for rate in [1usize, 10, 100, 1_000] {
        let row: Vec<_> = [1, 24, 96]
            .map(|hours| {
                let capacity = rate * hours * 3600;
                let set = DedupSet::builder()
                    .retention(Duration::from_secs(hours as u64 * 3600))
                    .shards(8.min((capacity / 8192).max(1)))
                    .capacity(capacity)
                    .build()
                    .expect("sizes of the page are within limits");
                human(set.stats().bytes)
            })
            .to_vec();
        table += &format!("| {rate} | {} |\n", row.join(" | "));
    }
    assert!(PAGE.contains(&table), "the page should say:\n{table}");
}
