#!/usr/bin/env bash
# Plants every fault that is written down, weakens every ordering, one at a time, and writes which
# layer finds it into crates/hapax-proof/KILLS.md. For the long runs: some hours on two cores.
#
#   ci/kill-matrix.sh [--layers tests,loom,shuttle,stress] [--only TEXT]... [--kind logic|orderings]
#                     [--quick SECONDS] [--unfound] [--again] [--table]
#
# A run that is cut short goes on where it stopped: what is known is in
# crates/hapax-proof/faults/kills.tsv. The options are told in src/bin/kill-matrix/main.rs.
source "$(dirname "$0")/lib.sh"

say "kill matrix"
cargo run --locked --quiet -p hapax-proof --bin kill-matrix -- "$@"
