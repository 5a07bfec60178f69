#!/usr/bin/env bash
# The models of the protocol, under loom. Budget: 5 minutes, cold.
#
#   ci/loom.sh [FILTER]        HAPAX_LOOM_PREEMPTIONS=1 ci/loom.sh   one preemption more in each
source "$(dirname "$0")/lib.sh"

say "loom models"
RUSTFLAGS="--cfg hapax_loom -D warnings" CARGO_TARGET_DIR=target/loom \
    cargo test --locked -p hapax --release --lib "models::${1:-}"
