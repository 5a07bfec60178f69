//! What the report measures: the same scripts and rushes as the suites, round by round.
//!
//! Noise on a small machine comes in waves: for seconds everything is slower. So the contenders of a
//! cell take turns, each round plays every one of them once, and the median of the rounds is kept. A
//! wave then hits all of them alike, and ratios stay what they are.

use super::{
    places::{
        APPS, BURST, CORRECT, HANDLER, LIVE, PERCENTILES, RATE, STEADY, WEIGHED, crowd_place,
        http_place, latency_place, memory_place, single_place,
    },
    probe::Probe,
    record::Book,
};
use crate::{
    contender::{BASELINE, CONTENDERS, FLOOR, HAPAX, Row, STATES, VARIANTS, by_name},
    correctness,
    in_process::{self, InProcess},
    load::Load,
    rush::{Rush, Traffic},
    script::{
        Access::{self, Dependent, Independent},
        Player, Script,
        Workload::{self, Duplicate, Growth, Mixed, New, Zipf},
    },
    steady::Steady,
    webhook::{EMPTY, LAYER, SIGNED},
};
use std::time::Duration;

/// How much the report measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// A first impression: few sizes, three rounds.
    Quick,
    /// Everything that a chart or a goal needs.
    Normal,
    /// All contenders at ten million ids too.
    Full,
}

/// One thing to do, with the name that the progress bar shows.
pub struct Step {
    /// What is measured.
    pub name: String,
    /// Measures it and notes the numbers.
    pub run: Box<dyn Fn(&mut Book)>,
}

/// Single-threaded cells: least depth, workload, access, live ids.
const SINGLE: &[(Depth, Workload, Access, usize)] = &[
    (Depth::Quick, New, Independent, 1_000),
    (Depth::Normal, New, Independent, 10_000),
    (Depth::Quick, New, Independent, 100_000),
    (Depth::Normal, New, Independent, 1_000_000),
    (Depth::Normal, New, Independent, 10_000_000),
    (Depth::Quick, New, Dependent, 1_000),
    (Depth::Normal, New, Dependent, 10_000),
    (Depth::Quick, New, Dependent, 100_000),
    (Depth::Normal, New, Dependent, 1_000_000),
    (Depth::Normal, New, Dependent, 10_000_000),
    (Depth::Quick, Duplicate, Independent, 1_000),
    (Depth::Quick, Duplicate, Independent, 100_000),
    (Depth::Normal, Duplicate, Independent, 1_000_000),
    (Depth::Normal, Duplicate, Dependent, 100_000),
    (Depth::Normal, Duplicate, Dependent, 1_000_000),
    (Depth::Normal, Mixed, Independent, 100_000),
    (Depth::Normal, Zipf, Independent, 100_000),
    (Depth::Quick, Growth, Independent, 100_000),
    (Depth::Normal, Growth, Independent, 1_000_000),
];

/// Cells with threads: least depth, traffic, live ids, threads.
const THREADS: &[(Depth, Traffic, usize, usize)] = &[
    (Depth::Quick, Traffic::New, 100_000, 1),
    (Depth::Quick, Traffic::New, 100_000, 2),
    (Depth::Quick, Traffic::New, 100_000, 4),
    (Depth::Quick, Traffic::New, 100_000, 16),
    (Depth::Normal, Traffic::Duplicate, 100_000, 1),
    (Depth::Normal, Traffic::Duplicate, 100_000, 2),
    (Depth::Normal, Traffic::Duplicate, 100_000, 4),
    (Depth::Quick, Traffic::Duplicate, 100_000, 16),
    (Depth::Normal, Traffic::Same, 100_000, 2),
    (Depth::Normal, Traffic::Same, 100_000, 16),
    (Depth::Normal, Traffic::Hot, 100_000, 2),
    (Depth::Normal, Traffic::Hot, 100_000, 16),
    (Depth::Normal, Traffic::Growth, 0, 2),
    (Depth::Quick, Traffic::Growth, 0, 16),
];

/// Everything to do at a depth, in order.
pub fn steps(depth: Depth, probe: &Probe) -> Vec<Step> {
    let mut steps = Vec::new();
    for row in CONTENDERS {
        steps.push(correct(row));
    }
    for &(_, workload, access, live) in SINGLE.iter().filter(|cell| cell.0 <= depth) {
        steps.push(single(depth, workload, access, live));
    }
    for &(_, traffic, live, threads) in THREADS.iter().filter(|cell| cell.0 <= depth) {
        steps.push(crowd(depth, traffic, live, threads));
    }
    for threads in [2, 16] {
        if threads == 16 || depth > Depth::Quick {
            steps.push(latency(depth, threads));
        }
    }
    for row in CONTENDERS {
        if depth > Depth::Quick || [BASELINE.name, HAPAX.name].contains(&row.name) {
            steps.push(steady(row));
        }
    }
    for row in CONTENDERS.iter().chain(STATES) {
        steps.push(weigh(row, probe.clone()));
    }
    for live in [1_000, 10_000, 100_000, 1_000_000] {
        if depth > Depth::Quick || [1_000, 100_000].contains(&live) {
            steps.push(requests(depth, live));
        }
    }
    steps.push(handler(depth));
    steps
}

fn correct(row: &'static Row) -> Step {
    step(format!("correctness, {}", row.name), move |book| {
        let races = correctness::race(row, CORRECT.threads, CORRECT.size);
        book.note(
            CORRECT,
            row.name,
            "several_winners",
            &[races.several_winners as f64],
        );
        book.note(CORRECT, row.name, "no_winner", &[races.no_winner as f64]);
        let window = correctness::window(row, Duration::from_millis(300));
        book.note(CORRECT, row.name, "early", &[window.early as f64]);
        book.note(CORRECT, row.name, "late", &[window.late as f64]);
        let overshoot = window
            .overshoot
            .map_or(f64::MAX, |over| over.as_secs_f64() * 1e3);
        book.note(CORRECT, row.name, "overshoot_ms", &[overshoot]);
        book.note(
            CORRECT,
            row.name,
            "exact",
            &[f64::from(u8::from(window.exact()))],
        );
    })
}

fn single(depth: Depth, workload: Workload, access: Access, live: usize) -> Step {
    let place = single_place(workload, access, live);
    step(
        format!("single_thread/{}, {live} live", place.workload),
        move |book| {
            let script = Script::new(workload, live);
            let mut rows: Vec<&Row> = Vec::new();
            if live < 10_000_000 || depth == Depth::Full {
                rows.extend(CONTENDERS);
                rows.extend(STATES);
            } else {
                rows.extend(by_name("sharded_mutex"));
                rows.push(HAPAX);
            }
            if access == Independent {
                rows.extend(VARIANTS);
            }
            if workload == Growth {
                rows.retain(|row| {
                    !row.facts.scans && !STATES.iter().any(|state| state.name == row.name)
                });
            } else {
                rows.push(FLOOR);
            }
            // A large set takes seconds to fill, and its calls long enough to be timed well.
            let rounds = match (depth, live) {
                (Depth::Quick, _) | (_, 1_000_000..) => 3,
                _ => 7,
            };
            let took = in_turns(&rows, rounds, |row| {
                let calls = match row.facts.scans {
                    true => (10_000_000 / live).clamp(2, 2_000) as u64,
                    false if live <= 10_000 => 50_000,
                    false => 100_000,
                };
                let mut player = Player::new(&script, row, access);
                nanos(player.play(calls)) / calls as f64
            });
            for (row, rounds) in took {
                book.note(place, row.name, "ns_per_call", &rounds);
            }
        },
    )
}

fn crowd(depth: Depth, traffic: Traffic, live: usize, threads: usize) -> Step {
    let place = crowd_place(traffic, live, threads);
    step(
        format!("threads/{}, {threads} threads", place.workload),
        move |book| {
            let rush = Rush::new(traffic, live, threads, 400_000);
            let mut rows = CONTENDERS.to_vec();
            if traffic == Traffic::Growth {
                rows.retain(|row| !row.facts.scans);
            }
            let rounds = if depth == Depth::Quick { 3 } else { 7 };
            let took = in_turns(&rows, rounds, |row| 1e9 / rush.play(row).ns_per_call());
            for (row, rounds) in took {
                book.note(place, row.name, "calls_per_second", &rounds);
            }
        },
    )
}

fn latency(depth: Depth, threads: usize) -> Step {
    let place = latency_place(threads);
    step(format!("latency, {threads} threads"), move |book| {
        let (calls, rounds) = match depth {
            Depth::Quick => (400_000, 3),
            _ => (1_600_000, 5),
        };
        let rush = Rush::new(Traffic::Mixed, LIVE, threads, calls);
        let mut rows = CONTENDERS.to_vec();
        rows.push(FLOOR);
        let took = in_turns(&rows, rounds, |row| rush.play_timed(row).1);
        for (row, rounds) in took {
            for &(metric, quantile) in PERCENTILES {
                // A percentile needs calls beyond it.
                let beyond = rounds[0].len() as f64 * (1.0 - quantile);
                if quantile < 1.0 && beyond < 2.0 {
                    continue;
                }
                let values: Vec<f64> = rounds
                    .iter()
                    .map(|times| times.value_at_quantile(quantile) as f64)
                    .collect();
                book.note(place, row.name, metric, &values);
            }
        }
    })
}

fn steady(row: &'static Row) -> Step {
    step(format!("expiry/steady, {}", row.name), move |book| {
        let calls = LIVE as u64 / 4;
        let played = Steady::start(row, LIVE).and_then(|mut steady| {
            let mut rounds = Vec::new();
            for _ in 0..3 {
                rounds.push(nanos(steady.play(calls)?) / calls as f64);
            }
            Ok(rounds)
        });
        match played {
            Ok(rounds) => book.note(STEADY, row.name, "ns_per_call", &rounds),
            Err(slow) => {
                let needed = slow.needed_per_second as f64;
                book.note(STEADY, row.name, "cannot_hold_calls_per_second", &[needed]);
            }
        }
    })
}

fn weigh(row: &'static Row, probe: Probe) -> Step {
    step(format!("memory, {}", row.name), move |book| {
        let state = STATES.iter().any(|state| state.name == row.name);
        for &live in WEIGHED {
            for (workload, capacity) in [("sized", live), ("grown", 0)] {
                if state && workload == "sized" {
                    continue;
                }
                let place = memory_place(workload, live);
                let filled = probe.filled(row.name, live, capacity);
                book.note(place, row.name, "bytes_per_id", &[filled.bytes_per_id]);
                book.note(
                    place,
                    row.name,
                    "resident_per_id",
                    &[filled.resident_per_id],
                );
            }
        }
        if state {
            return;
        }
        let calls = memory_place("calls", LIVE);
        let made = probe.allocations(row.name, LIVE);
        book.note(calls, row.name, "allocations_per_new", &[made.per_new]);
        book.note(
            calls,
            row.name,
            "allocations_per_duplicate",
            &[made.per_duplicate],
        );
        let burst = memory_place("burst", BURST);
        let left = probe.leftover(row.name, BURST, Duration::from_secs(1));
        book.note(burst, row.name, "full_bytes", &[left.full_bytes as f64]);
        book.note(
            burst,
            row.name,
            "left_bytes",
            &[left.bytes_after_calls as f64],
        );
        let maintained = left.bytes_after_maintenance as f64;
        book.note(
            burst,
            row.name,
            "left_after_maintenance_bytes",
            &[maintained],
        );
        book.note(burst, row.name, "first_call_ns", &[nanos(left.first_call)]);
        if let Some(shards) = left.shards {
            book.note(burst, row.name, "shards", &[shards as f64]);
        }
    })
}

fn requests(depth: Depth, live: usize) -> Step {
    let place = http_place(live);
    step(format!("http, {live} live"), move |book| {
        let (rounds, lasting_ms) = match depth {
            Depth::Quick => (3, 1_000),
            _ => (5, 4_000),
        };
        let mut loads: Vec<_> = APPS.iter().map(|app| Load::start(*app, live)).collect();
        let mut rates = vec![Vec::new(); APPS.len()];
        for _ in 0..rounds {
            for (load, rates) in loads.iter_mut().zip(&mut rates) {
                // As many as take about half a second, found with a few.
                let (sent, taken) = load.rush(64);
                let enough = 0.5 * sent as f64 / taken.as_secs_f64();
                let (sent, taken) = load.rush(enough.min(10_000.0) as u64);
                rates.push(sent as f64 / taken.as_secs_f64());
            }
        }
        for ((app, load), rates) in APPS.iter().zip(&mut loads).zip(rates) {
            book.note(place, app.name, "requests_per_second", &rates);
            let paced = load.paced(RATE, Duration::from_millis(lasting_ms));
            book.note(place, app.name, "answered_per_second", &[paced.per_second]);
            for &(metric, quantile) in PERCENTILES.iter().filter(|at| at.1 <= 0.999) {
                let value = paced.times.value_at_quantile(quantile) as f64;
                book.note(place, app.name, metric, &[value]);
            }
        }
    })
}

fn handler(depth: Depth) -> Step {
    step("http, in process".to_owned(), move |book| {
        let apps = [EMPTY, LAYER, SIGNED];
        let requests = 10_000;
        let rounds = if depth == Depth::Quick { 5 } else { 15 };
        let mut called: Vec<_> = apps
            .iter()
            .map(|app| InProcess::start(*app, HANDLER.size))
            .collect();
        let mut took = vec![Vec::new(); apps.len()];
        let mut bare = Vec::new();
        for _ in 0..rounds {
            for (called, took) in called.iter_mut().zip(&mut took) {
                took.push(nanos(called.play(requests)) / requests as f64);
            }
            bare.push(nanos(in_process::bare_hmac(requests)) / requests as f64);
        }
        for (app, took) in apps.iter().zip(took) {
            book.note(HANDLER, app.name, "ns_per_call", &took);
        }
        book.note(HANDLER, "bare_hmac", "ns_per_call", &bare);
    })
}

fn step(name: String, run: impl Fn(&mut Book) + 'static) -> Step {
    Step {
        name,
        run: Box::new(run),
    }
}

/// Plays every row once a round, in turns, and returns the rounds of each.
fn in_turns<T>(
    rows: &[&'static Row],
    rounds: usize,
    mut play: impl FnMut(&'static Row) -> T,
) -> Vec<(&'static Row, Vec<T>)> {
    let mut took: Vec<_> = rows.iter().map(|row| (*row, Vec::new())).collect();
    for _ in 0..rounds {
        for (row, rounds) in &mut took {
            rounds.push(play(row));
        }
    }
    took
}

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
