//! Where every number of the report stands, so that whoever measures it and whoever shows it agree.

use super::record::Place;
use crate::{
    load,
    rush::Traffic,
    script::{
        Access::{self, Dependent, Independent},
        Workload::{self, Duplicate, Growth, Mixed, New, Zipf},
    },
    webhook::{App, EMPTY, LAYER, MUTEX_MAP},
};

/// Sizes for the bytes of an id: one doubling in four steps, so that no contender is shown only just
/// before or just after its table grew.
pub const WEIGHED: &[usize] = &[100_000, 119_000, 141_000, 168_000];

/// Live ids in the latency and the steady cells.
pub const LIVE: usize = 100_000;

/// Ids in the burst whose memory must come back.
pub const BURST: usize = 100_000;

/// Percentiles of the latency cells with their names.
pub const PERCENTILES: &[(&str, f64)] = &[
    ("p50_ns", 0.5),
    ("p99_ns", 0.99),
    ("p99.9_ns", 0.999),
    ("p99.99_ns", 0.9999),
    ("max_ns", 1.0),
];

/// The place of a single-threaded cell.
pub fn single_place(workload: Workload, access: Access, live: usize) -> Place {
    let name = match (workload, access) {
        (New, Dependent) => "new/dependent",
        (Duplicate, Dependent) => "duplicate/dependent",
        (Mixed, Dependent) => "mixed/dependent",
        (Zipf, Dependent) => "zipf/dependent",
        (Growth, Dependent) => "growth/dependent",
        (workload, Independent) => workload.name(),
    };
    Place {
        suite: "single_thread",
        workload: name,
        size: live,
        threads: 1,
    }
}

/// The place of a cell with threads.
pub fn crowd_place(traffic: Traffic, live: usize, threads: usize) -> Place {
    Place {
        suite: "threads",
        workload: traffic.name(),
        size: live,
        threads,
    }
}

/// The place of a latency cell.
pub fn latency_place(threads: usize) -> Place {
    Place {
        suite: "latency",
        workload: "mixed",
        size: LIVE,
        threads,
    }
}

/// The place of the steady state.
pub const STEADY: Place = Place {
    suite: "expiry",
    workload: "steady",
    size: LIVE,
    threads: 1,
};

/// The place of the handler without a network: processor time of one request.
pub const HANDLER: Place = Place {
    suite: "handler",
    workload: "header_id",
    size: LIVE,
    threads: 1,
};

/// The place of the whole handler on loopback.
pub fn http_place(live: usize) -> Place {
    Place {
        suite: "http",
        workload: "header_id",
        size: live,
        threads: load::CONNECTIONS,
    }
}

/// Requests per second at the fixed rate.
pub const RATE: u32 = 2_000;

/// The endpoints that are loaded.
pub const APPS: &[App] = &[MUTEX_MAP, LAYER, EMPTY];

/// The place of what is known about answers.
pub const CORRECT: Place = Place {
    suite: "correctness",
    workload: "race",
    size: 20_000,
    threads: 2,
};

/// The place of weights: `sized`, `grown`, `burst` or `calls`.
pub fn memory_place(workload: &'static str, size: usize) -> Place {
    Place {
        suite: "memory",
        workload,
        size,
        threads: 1,
    }
}
