//! Lets one layer look for what is planted in the copy: builds it and runs its tests, each in a
//! process of its own, until one fails.

use std::{
    collections::HashMap,
    fs,
    hash::{DefaultHasher, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use hapax_proof::fault::Fault;

use crate::{
    Result,
    layer::{Layer, is_about},
    ledger::Outcome,
};

/// How much longer than on the sound set a test may take: the machine may be busy.
const PATIENCE: u32 = 8;
/// And never less than this.
const LEAST_PATIENCE: Duration = Duration::from_secs(30);
/// How often a test that failed is run again before it is believed.
const CONFIRMATIONS: u32 = 3;
/// A test that takes longer than this on the sound set has no business in a layer.
const SOUND_LIMIT: Duration = Duration::from_secs(600);

/// A layer that is known to pass on the sound set.
pub(crate) struct Hunter<'t> {
    layer: &'static Layer,
    tree: &'t Path,
    target: PathBuf,
    quick: Option<Duration>,
    /// How long each test takes on the sound set.
    sound: HashMap<String, Duration>,
}

/// One test of one program.
struct Unit {
    /// The folder of its package, where cargo would run it.
    folder: PathBuf,
    program: PathBuf,
    test: String,
    limit: Duration,
}

enum End {
    Passed,
    Failed,
    TimedOut,
    Stopped,
}

impl<'t> Hunter<'t> {
    /// Runs the layer on the sound set, or remembers that it did.
    pub(crate) fn on_sound_set(
        layer: &'static Layer,
        tree: &'t Path,
        work: &Path,
        quick: Option<Duration>,
    ) -> Result<Self> {
        let mut hunter = Self {
            layer,
            tree,
            target: work.join(layer.name),
            quick,
            sound: HashMap::new(),
        };
        let known = work.join(format!(
            "{}-{:016x}.sound",
            layer.name,
            digest(layer, tree)?
        ));
        if let Ok(text) = fs::read_to_string(&known) {
            hunter.sound = text.lines().filter_map(timing).collect();
        }
        let mut unsound = Vec::new();
        for step in layer.steps {
            let mut units = hunter
                .build(step)
                .map_err(|wrong| format!("the sound set: {wrong}"))?;
            units.retain(|unit| !hunter.sound.contains_key(&unit.test));
            for unit in &mut units {
                unit.limit = SOUND_LIMIT;
            }
            let ends = Mutex::new(Vec::new());
            at_once(layer, &units, |unit| {
                let started = Instant::now();
                let passed = matches!(run(unit, || false), Ok(End::Passed));
                ends.lock()
                    .expect("no panic inside")
                    .push((unit, passed, started.elapsed()));
            });
            for (unit, passed, took) in ends.into_inner().expect("no panic inside") {
                if passed {
                    hunter.sound.insert(unit.test.clone(), took);
                } else {
                    unsound.push(unit.test.clone());
                }
            }
            let timings = hunter
                .sound
                .iter()
                .map(|(test, took)| format!("{}\t{test}\n", took.as_secs_f64()));
            fs::write(&known, timings.collect::<String>())?;
        }
        if !unsound.is_empty() {
            return Err(format!("fail on the sound set: {}", unsound.join(", ")).into());
        }
        let all: Duration = hunter.sound.values().sum();
        println!(
            "{}: {} tests pass on the sound set, {:.0} s of work",
            layer.name,
            hunter.sound.len(),
            all.as_secs_f64()
        );
        Ok(hunter)
    }

    /// Builds the copy as it is and looks for a test that fails.
    pub(crate) fn look_for(&self, fault: &Fault) -> Result<Outcome> {
        let started = Instant::now();
        let mut left_out = false;
        for step in self.layer.steps {
            let mut units = match self.build(step) {
                Ok(units) => units,
                Err(wrong) => return Ok(Outcome::Unbuildable(wrong.to_string())),
            };
            let before = units.len();
            units.retain(|unit| self.quick.is_none_or(|quick| self.took(unit) <= quick));
            left_out |= units.len() < before;
            units.sort_by_key(|unit| {
                let is_about = fault
                    .edits
                    .iter()
                    .any(|edit| is_about(&unit.test, &edit.file));
                let took = self.took(unit);
                // What is about the file comes first, unless it is slow; the slowest come last.
                (if is_about { took / 10 } else { took }, unit.test.clone())
            });
            for unit in &mut units {
                unit.limit = (self.took(unit) * PATIENCE).max(LEAST_PATIENCE);
            }
            if let Some(outcome) = self.run_all(&units)? {
                return Ok(outcome);
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(if left_out {
            Outcome::SurvivedQuick { seconds }
        } else {
            Outcome::Survived { seconds }
        })
    }

    fn took(&self, unit: &Unit) -> Duration {
        self.sound.get(&unit.test).copied().unwrap_or_default()
    }

    /// Runs tests until one of them finds something.
    fn run_all(&self, units: &[Unit]) -> Result<Option<Outcome>> {
        let (found, wrong) = (Mutex::new(None), Mutex::new(None));
        let is_over =
            || found.lock().is_ok_and(|f| f.is_some()) || wrong.lock().is_ok_and(|w| w.is_some());
        at_once(self.layer, units, |unit| {
            if is_over() {
                return;
            }
            let started = Instant::now();
            let end = run(unit, is_over);
            let seconds = started.elapsed().as_secs_f64();
            let by = unit.test.trim_start_matches(self.layer.prefix).to_owned();
            let outcome = match end {
                Ok(End::Failed) if fails_again(unit) => Outcome::Found { seconds, by },
                Ok(End::TimedOut) if self.layer.no_end_is_found => Outcome::NoEnd { seconds, by },
                Ok(_) => return,
                Err(error) => {
                    *wrong.lock().expect("no panic inside") = Some(error);
                    return;
                }
            };
            found
                .lock()
                .expect("no panic inside")
                .get_or_insert(outcome);
        });
        match wrong.into_inner()? {
            Some(error) => Err(error.into()),
            None => Ok(found.into_inner()?),
        }
    }

    /// Builds a step, and lists its tests.
    fn build(&self, step: &[&str]) -> Result<Vec<Unit>> {
        let layer = self.layer;
        let cfg = match layer.cfg {
            "" => String::new(),
            cfg => format!("--cfg {cfg} "),
        };
        let built = Command::new("cargo")
            .args(["test", "--locked", "--no-run"])
            .args(step)
            .current_dir(self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2")
            .env("RUSTFLAGS", format!("{cfg}-Awarnings"))
            .output()?;
        let log = String::from_utf8_lossy(&built.stderr);
        if !built.status.success() {
            let error = log.lines().find(|line| line.starts_with("error"));
            return Err(error.unwrap_or("it does not build").into());
        }
        // "  Executable unittests src/lib.rs (path)"
        let programs = log
            .lines()
            .filter(|line| line.trim_start().starts_with("Executable"))
            .filter_map(|line| line.split_once('(')?.1.strip_suffix(')'));
        let package = step.iter().skip_while(|word| **word != "-p").nth(1);
        let folder = self.tree.join("crates").join(package.unwrap_or(&""));
        let mut units = Vec::new();
        for program in programs {
            let program = self.tree.join(program);
            let listed = Command::new(&program)
                .args(["--list", "--format", "terse"])
                .output()?;
            let names = String::from_utf8_lossy(&listed.stdout).into_owned();
            let tests = names.lines().filter_map(|line| line.strip_suffix(": test"));
            units.extend(
                tests
                    .filter(|test| test.starts_with(layer.prefix))
                    .map(|test| Unit {
                        folder: folder.clone(),
                        program: program.clone(),
                        test: test.into(),
                        limit: LEAST_PATIENCE,
                    }),
            );
        }
        if units.is_empty() {
            return Err("no test was built".into());
        }
        Ok(units)
    }
}

/// Does something with every test, with as many at a time as the layer allows.
fn at_once<'u>(layer: &Layer, units: &'u [Unit], with: impl Fn(&'u Unit) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..layer.at_once {
            scope.spawn(|| {
                // Relaxed: hands out a number.
                while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                    with(unit);
                }
            });
        }
    });
}

/// Runs one test in a process of its own, with a bound on time and on memory.
fn run(unit: &Unit, is_over: impl Fn() -> bool) -> io::Result<End> {
    let mut child = Command::new("sh")
        // 32 GB of addresses, more than the largest set of any test: a fault may grow for ever.
        .args(["-c", "ulimit -v 32000000; exec \"$0\" \"$@\""])
        .arg(&unit.program)
        .args(["--exact", &unit.test, "--test-threads", "1"])
        .current_dir(&unit.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let ends = Instant::now() + unit.limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() {
                End::Passed
            } else {
                End::Failed
            });
        }
        if Instant::now() >= ends {
            stop(&mut child);
            return Ok(End::TimedOut);
        }
        if is_over() {
            stop(&mut child);
            return Ok(End::Stopped);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a failure was more than chance: one of a few more runs fails too.
fn fails_again(unit: &Unit) -> bool {
    (0..CONFIRMATIONS).any(|_| !matches!(run(unit, || false), Ok(End::Passed)))
}

fn stop(child: &mut Child) {
    // Gone already, if it cannot be stopped.
    let _ = child.kill();
    let _ = child.wait();
}

fn timing(line: &str) -> Option<(String, Duration)> {
    let (seconds, test) = line.split_once('\t')?;
    let took = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
    Some((test.into(), took))
}

/// Names the state of what a layer builds.
pub(crate) fn digest(layer: &Layer, tree: &Path) -> io::Result<u64> {
    fn add(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
        if !path.is_dir() {
            hasher.write(&fs::read(path)?);
            return Ok(());
        }
        let mut inside = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        inside.sort();
        inside.iter().try_for_each(|path| add(path, hasher))
    }
    let mut hasher = DefaultHasher::new();
    for part in layer.built_from {
        add(&tree.join("crates").join(part), &mut hasher)?;
    }
    Ok(hasher.finish())
}
