#!/usr/bin/env bash
# Counts the instructions of an insert, a duplicate and the reuse of an expired slot, and fails when
# one takes more than a tenth above the bound committed in benches/benches/instructions.rs.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    apt-get update
    apt-get install --yes --no-install-recommends valgrind
fi

# The runner must have the version of the library.
version=$(cargo metadata --locked --format-version 1 --features hapax-benches/instructions |
    grep --only-matching '"name":"gungraun","version":"[^"]*"' | cut --delimiter='"' --fields=8)
tools=target/tools
if ! "$tools/bin/gungraun-runner" --version 2>/dev/null | grep --quiet --fixed-strings "$version"; then
    # It starts valgrind and reads what it wrote: not worth optimising.
    cargo install --locked --debug --root "$tools" gungraun-runner --version "$version"
fi

GUNGRAUN_RUNNER="$PWD/$tools/bin/gungraun-runner" \
    cargo bench --locked --package hapax-benches --features instructions --bench instructions
