#!/bin/sh
# Runs the whole set, and the layer on top of it, in chosen interleavings: random
# ones, priorities (PCT), and those that the committed seeds of the fuzz targets
# spell out.
#
#   ci/schedules.sh [EXECUTIONS]         default: 20000 for each test, about 60 s
#
# Shuttle treats every memory ordering as the strongest: this finds errors of
# logic, never a missing fence (that is what the loom models are for).
set -u
cd "$(dirname "$0")/.." || exit 1
export RUSTUP_AUTO_INSTALL=0
export HAPAX_EXECUTIONS="${1:-20000}"
export RUSTFLAGS="--cfg hapax_shuttle -D warnings"
export CARGO_TARGET_DIR=target/shuttle

passed=0
failed=0
for test in schedules replay adapter; do
    if cargo test --release -p hapax-proof --test "$test" -- --nocapture --test-threads 1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
