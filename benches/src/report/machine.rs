//! Where and with what a report was made.

use serde::Deserialize;
use std::{collections::BTreeMap, env, fs, process::Command, thread::available_parallelism};

/// The facts that a number means nothing without.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Each fact with its name.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Asks the system. What it does not tell is left out.
    pub fn ask() -> Self {
        let facts = [
            (
                "date",
                Some(
                    jiff::Timestamp::now()
                        .strftime("%Y-%m-%d %H:%M UTC")
                        .to_string(),
                ),
            ),
            ("processor", line_of("/proc/cpuinfo", "model name")),
            (
                "cores",
                available_parallelism().ok().map(|cores| cores.to_string()),
            ),
            ("memory", line_of("/proc/meminfo", "MemTotal")),
            (
                "system",
                first_line("/proc/sys/kernel/osrelease")
                    .map(|release| format!("{} {release}", env::consts::OS)),
            ),
            (
                "huge pages",
                first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
            ),
            ("load before", first_line("/proc/loadavg")),
            ("compiler", said_by("rustc", &["--version"])),
            (
                "commit",
                said_by("git", &["describe", "--always", "--dirty"]),
            ),
        ];
        Self {
            facts: facts
                .into_iter()
                .filter_map(|(name, fact)| Some((name, fact?)))
                .collect(),
        }
    }

    /// The fact of this name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|(fact, _)| *fact == name)?;
        Some(&fact.1)
    }
}

/// The locked versions of the packages that this one depends on, by name.
///
/// # Panics
///
/// When the lock file of the workspace cannot be read, which a build would have noticed.
pub fn versions() -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        #[serde(default)]
        dependencies: Vec<String>,
    }
    let lock: Lock = toml::from_str(include_str!("../../../Cargo.lock"))
        .expect("the lock file was read by cargo before");
    let named = |name: &str| lock.package.iter().find(|package| package.name == name);
    let own = named(env!("CARGO_PKG_NAME")).expect("this package is locked");
    own.dependencies
        .iter()
        .filter_map(|dependency| {
            // A version stands behind the name where the lock file has several.
            let mut words = dependency.split(' ');
            let name = words.next()?;
            let version = words.next().or_else(|| Some(&named(name)?.version))?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect()
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next()?.trim().to_owned())
}

fn line_of(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| said.trim().to_owned())
        .filter(|said| !said.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::CONTENDERS;

    #[test]
    fn every_contender_has_a_locked_version() {
        let versions = versions();
        for row in CONTENDERS {
            assert!(versions.contains_key(row.package), "{}", row.package);
        }
    }

    #[test]
    fn of_two_locked_versions_the_one_in_use_is_shown() {
        // mini-moka brings an older dashmap.
        assert!(versions()["dashmap"].starts_with("6."));
    }
}
