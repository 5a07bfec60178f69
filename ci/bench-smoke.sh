#!/usr/bin/env bash
# Runs every suite once with its tiniest cells, so that none of them rots. It takes no times: without
# `cargo bench` the suites only test that they run and that every contender answers as expected.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --locked --package hapax-benches --benches
