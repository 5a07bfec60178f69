#!/usr/bin/env bash
# Format, lints and documentation, with warnings denied. Budget: 4 minutes, cold.
source "$(dirname "$0")/lib.sh"

say "format"
cargo fmt --all --check
say "clippy"
cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked
say "files stay small enough to be one idea"
long=$(git ls-files '*.rs' | xargs wc -l | awk '$2 != "total" && $1 > 480 { print "  " $1 " lines: " $2 }')
if [ -n "$long" ]; then
    printf 'too long:\n%s\n' "$long"
    exit 1
fi
