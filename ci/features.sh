#!/usr/bin/env bash
# Every feature alone, and the oldest versions of the direct dependencies. Budget: 3 minutes.
source "$(dirname "$0")/lib.sh"

check() { say "cargo check $*"; cargo check --locked --quiet "$@"; }
check -p hapax --no-default-features
check -p hapax --features serde
check -p hapax-store
check -p hapax-axum --no-default-features
check -p hapax-axum --features metrics

if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    say "oldest direct dependencies of the set"
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    mkdir "$copy/crates"
    cp -r crates/hapax "$copy/crates/"
    sed '/^members = \[/,/^\]/c members = ["crates/hapax"]' Cargo.toml | sed '/^hapax-/d' >"$copy/Cargo.toml"
    (
        cd "$copy"
        cargo +nightly update --quiet -Z direct-minimal-versions
        cargo check --quiet -p hapax --all-features
    )
else
    say "SKIPPED: oldest direct dependencies (there is no nightly toolchain here)"
fi
