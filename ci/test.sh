#!/usr/bin/env bash
# The test command of the README. Budget: 7 minutes, cold.
source "$(dirname "$0")/lib.sh"

say "tests"
cargo test --workspace --locked
