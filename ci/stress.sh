#!/bin/sh
# Real threads, 2 to 64 of them: with pauses at the protocol's steps, and with one
# thread stopped at each step while the others run on. And the sequential oracle with
# the set's audit after each call. About 45 s.
set -u
cd "$(dirname "$0")/.." || exit 1
export RUSTUP_AUTO_INSTALL=0
export RUSTFLAGS="--cfg hapax_pause -D warnings"
export CARGO_TARGET_DIR=target/pause

passed=0
failed=0
for test in stress stalls oracle; do
    if cargo test --release -p hapax-proof --test "$test" -- --nocapture --test-threads 1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
