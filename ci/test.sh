#!/usr/bin/env bash
# The test command of the README. Budget: 7 minutes, cold.
source "$(dirname "$0")/lib.sh"

say "tests"
cargo test --workspace --locked

# The signatures the tests believe were made by another language's library; are they still?
if command -v python3 >/dev/null; then
    say "signature vectors"
    python3 crates/hapax-axum/tests/vectors/sign.py --check
else
    say "SKIPPED: signature vectors (there is no python3 here)"
fi
