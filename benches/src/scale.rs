//! How much is measured: which cells run, and how long each may take.
//!
//! `cargo bench` runs the default cells. `-- --quick` runs few cells and stops each as soon as
//! criterion is content. `HAPAX_BENCH=full` runs every cell that is listed in a suite. In
//! criterion's test mode each suite runs its smallest cells once, to see that nothing rots.

use criterion::{BenchmarkGroup, Criterion, SamplingMode, measurement::Measurement};
use std::{env, fmt, time::Duration};

/// The environment variable that chooses a scale by name.
pub const VARIABLE: &str = "HAPAX_BENCH";

/// Which cells run. A later one runs every cell of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// One tiny cell of each kind.
    Smoke,
    /// A few cells per suite, for a first impression.
    Quick,
    /// What `cargo bench` runs.
    Default,
    /// Every cell.
    Full,
}

impl Scale {
    /// Reads the scale from the environment, or else from criterion's own options.
    ///
    /// # Panics
    ///
    /// When the variable holds a name that is not a scale.
    pub fn chosen() -> Self {
        if let Ok(name) = env::var(VARIABLE) {
            return Self::by_name(&name).unwrap_or_else(|| {
                panic!("{VARIABLE} is smoke, quick, default or full, not {name:?}")
            });
        }
        let options: Vec<String> = env::args().skip(1).collect();
        let has = |option: &str| options.iter().any(|given| given == option);
        // Without `--bench` it is `cargo test` that runs the suite, and criterion tests only.
        if has("--test") || !has("--bench") {
            Self::Smoke
        } else if has("--quick") {
            Self::Quick
        } else {
            Self::Default
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        match name {
            "smoke" => Some(Self::Smoke),
            "quick" => Some(Self::Quick),
            "default" => Some(Self::Default),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// Those of `cells` that run at this scale; each says from which scale on it runs.
    pub fn of<T: Copy>(self, cells: &[(Self, T)]) -> Vec<T> {
        cells
            .iter()
            .filter(|(from, _)| *from <= self)
            .map(|&(_, cell)| cell)
            .collect()
    }

    /// Opens a group whose cells are bounded in time.
    ///
    /// Flat sampling, because a sample may have to fill a set first: the time that criterion
    /// schedules by includes that, the time that it reports does not.
    pub fn group<'a, M: Measurement>(
        self,
        criterion: &'a mut Criterion<M>,
        name: &str,
    ) -> BenchmarkGroup<'a, M> {
        let mut group = criterion.benchmark_group(name);
        let (warm_up_ms, measured_ms) = match self {
            Self::Smoke => (1, 10),
            Self::Quick => (20, 800),
            Self::Default => (150, 700),
            Self::Full => (300, 3_000),
        };
        group.sampling_mode(SamplingMode::Flat);
        group.sample_size(if self == Self::Full { 30 } else { 10 });
        group.warm_up_time(Duration::from_millis(warm_up_ms));
        group.measurement_time(Duration::from_millis(measured_ms));
        group
    }
}

/// A number of ids as it stands in ids of benchmarks and tables: `1k`, `10M`.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub usize);

impl fmt::Display for Count {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000 && n % 1_000_000 == 0 => write!(out, "{}M", n / 1_000_000),
            n if n >= 1_000 && n % 1_000 == 0 => write!(out, "{}k", n / 1_000),
            n => write!(out, "{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_scale_runs_the_cells_of_the_smaller() {
        let cells = [(Scale::Smoke, 1), (Scale::Default, 2), (Scale::Full, 3)];
        assert_eq!(Scale::Smoke.of(&cells), [1]);
        assert_eq!(Scale::Quick.of(&cells), [1]);
        assert_eq!(Scale::Full.of(&cells), [1, 2, 3]);
    }

    #[test]
    fn counts_are_short() {
        let shown = [512, 1_000, 100_000, 1_000_000].map(|n| Count(n).to_string());
        assert_eq!(shown, ["512", "1k", "100k", "1M"]);
    }
}
