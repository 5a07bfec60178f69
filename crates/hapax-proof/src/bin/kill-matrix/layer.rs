//! The layers of proof: how each is built and run.

/// A kind of proof.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// What it runs, for the table.
    pub(crate) about: &'static str,
    /// The `cfg` it is built with, if any.
    pub(crate) cfg: &'static str,
    /// What to build, in steps: a fault that an early step finds spares the later ones.
    pub(crate) steps: &'static [&'static [&'static str]],
    /// The folders below `crates` that its tests are built from.
    pub(crate) built_from: &'static [&'static str],
    /// Runs only tests whose name starts so.
    pub(crate) prefix: &'static str,
    /// How many tests may run at once.
    pub(crate) at_once: usize,
    /// Whether it can see an ordering that is too weak; where it cannot, it is not tried.
    pub(crate) sees_orderings: bool,
    /// Whether a test that does not end has found something. Not in a model: a fault may only have
    /// made more to explore.
    pub(crate) no_end_is_found: bool,
}

const SETS_AND_PROOFS: &[&str] = &[
    "hapax/src",
    "hapax/tests",
    "hapax-proof/src",
    "hapax-proof/tests",
];

pub(crate) const LAYERS: [Layer; 4] = [
    Layer {
        name: "tests",
        about: "unit and integration tests of the set, the sequential oracle, the kill list",
        cfg: "",
        steps: &[
            &["-p", "hapax", "--lib"],
            &[
                "-p",
                "hapax-proof",
                "--test",
                "oracle",
                "--test",
                "kill_list",
            ],
            &["-p", "hapax", "--test", "*"],
        ],
        built_from: SETS_AND_PROOFS,
        prefix: "",
        at_once: 2,
        sees_orderings: false,
        no_end_is_found: true,
    },
    Layer {
        name: "loom",
        about: "the models, as `ci/loom.sh` runs them",
        cfg: "hapax_loom",
        steps: &[&["--release", "-p", "hapax", "--lib"]],
        built_from: &["hapax/src"],
        prefix: "models::",
        at_once: 2,
        sees_orderings: true,
        no_end_is_found: false,
    },
    Layer {
        name: "shuttle",
        about: "random and PCT schedules and replayed seeds, as `ci/schedules.sh` runs them",
        cfg: "hapax_shuttle",
        steps: &[&[
            "--release",
            "-p",
            "hapax-proof",
            "--test",
            "schedules",
            "--test",
            "replay",
        ]],
        built_from: SETS_AND_PROOFS,
        prefix: "",
        at_once: 2,
        sees_orderings: false,
        no_end_is_found: true,
    },
    Layer {
        name: "stress",
        about: "real threads with pauses and stalls, and the oracle with the set's audit, as `ci/stress.sh` runs them",
        cfg: "hapax_pause",
        steps: &[&[
            "--release",
            "-p",
            "hapax-proof",
            "--test",
            "oracle",
            "--test",
            "stress",
            "--test",
            "stalls",
        ]],
        built_from: SETS_AND_PROOFS,
        prefix: "",
        at_once: 1,
        sees_orderings: false,
        no_end_is_found: true,
    },
];

/// The tests that are about a file; they come first.
pub(crate) fn is_about(test: &str, file: &str) -> bool {
    let (stem, _) = file.split_once('.').unwrap_or((file, ""));
    let words: &[&str] = match stem {
        "wheel" => &["wheel", "clearing", "books"],
        "settle" => &["claims", "clearing"],
        "shard" | "hint" | "list" => &["growth", "shrinking"],
        "insert" | "reservation" => &["insert", "limit", "races"],
        _ => &[stem],
    };
    words.iter().any(|word| test.contains(word))
}
