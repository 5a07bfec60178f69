//! Weighs contenders in processes of their own.
//!
//! Counting allocations slows every contender that allocates, so the program that takes times must
//! not do it. And what a process holds says something about one set only if it never held another.

use crate::{
    contender,
    memory::{self, Allocations, Filled, Leftover, Meter},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{env, error::Error, io, path::PathBuf, process::Command, time::Duration};

/// The program that counts.
const PROGRAM: &str = "memory_probe";

/// A program that can be asked to weigh a contender.
#[derive(Clone, Debug)]
pub struct Probe {
    program: PathBuf,
}

/// What to weigh. The program gets it as its only argument, in JSON, and answers in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Question {
    /// See [`memory::filled`].
    Filled {
        /// The contender.
        row: String,
        /// Live ids.
        live: usize,
        /// Ids to make room for.
        capacity: usize,
    },
    /// See [`memory::allocations`].
    Allocations {
        /// The contender.
        row: String,
        /// Ids to make room for.
        capacity: usize,
    },
    /// See [`memory::leftover`].
    Leftover {
        /// The contender.
        row: String,
        /// Ids in the burst.
        burst: usize,
        /// How long they are remembered.
        retention: Duration,
    },
}

impl Probe {
    /// Builds the program beside the running one, where cargo is at hand, or finds it there.
    ///
    /// # Errors
    ///
    /// When it is not there and cannot be built.
    pub fn build() -> io::Result<Self> {
        let own = env::current_exe()?;
        let folder = own.parent().unwrap_or(&own);
        let program = folder
            .join(PROGRAM)
            .with_extension(env::consts::EXE_EXTENSION);
        if let Some(cargo) = env::var_os("CARGO") {
            let mut build = Command::new(cargo);
            build.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME")]);
            build.args(["--bin", PROGRAM]);
            if folder.ends_with("release") {
                build.arg("--release");
            }
            let status = build.status()?;
            if !status.success() {
                return Err(io::Error::other(format!(
                    "{PROGRAM} does not build: {status}"
                )));
            }
        }
        if !program.exists() {
            let message = format!("{} is missing: build it first", program.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        Ok(Self { program })
    }

    /// Weighs a filled set.
    ///
    /// # Panics
    ///
    /// When the program fails: its contender answered wrongly.
    pub fn filled(&self, row: &str, live: usize, capacity: usize) -> Filled {
        self.ask(&Question::Filled {
            row: row.to_owned(),
            live,
            capacity,
        })
    }

    /// Counts the allocations of calls.
    ///
    /// # Panics
    ///
    /// When the program fails: its contender answered wrongly.
    pub fn allocations(&self, row: &str, capacity: usize) -> Allocations {
        self.ask(&Question::Allocations {
            row: row.to_owned(),
            capacity,
        })
    }

    /// Looks what a burst leaves behind.
    ///
    /// # Panics
    ///
    /// When the program fails: its contender answered wrongly.
    pub fn leftover(&self, row: &str, burst: usize, retention: Duration) -> Leftover {
        self.ask(&Question::Leftover {
            row: row.to_owned(),
            burst,
            retention,
        })
    }

    fn ask<A: DeserializeOwned>(&self, question: &Question) -> A {
        let argument = serde_json::to_string(question).expect("names and numbers");
        let output = Command::new(&self.program)
            .arg(&argument)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{argument}: {complaint}");
        serde_json::from_slice(&output.stdout).expect("the program answers what it was asked")
    }
}

/// Answers a question in the program that counts.
///
/// # Errors
///
/// When the question is not one, or names no contender.
pub fn answer(question: &str, meter: Meter<'_>) -> Result<String, Box<dyn Error>> {
    let find =
        |name: &str| contender::by_name(name).ok_or_else(|| format!("no contender {name:?}"));
    let answer = match serde_json::from_str(question)? {
        Question::Filled {
            row,
            live,
            capacity,
        } => serde_json::to_string(&memory::filled(find(&row)?, live, capacity, meter)),
        Question::Allocations { row, capacity } => {
            serde_json::to_string(&memory::allocations(find(&row)?, capacity, meter))
        }
        Question::Leftover {
            row,
            burst,
            retention,
        } => serde_json::to_string(&memory::leftover(find(&row)?, burst, retention, meter)),
    };
    Ok(answer?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Reading;

    #[test]
    fn a_question_without_a_contender_is_an_error() {
        let question = r#"{"Allocations":{"row":"nobody","capacity":1}}"#;
        let error = answer(question, &Reading::default).expect_err("there is no such row");
        assert_eq!(error.to_string(), r#"no contender "nobody""#);
    }
}
