#!/usr/bin/env bash
# Changes the packed words, the tables, the books, the leases and the signatures in every way that
# cargo-mutants knows, one at a time, and asks whether a test fails. For the long runs: some hours on
# two cores.
#
#   ci/mutants.sh [FILE...]        HAPAX_MUTANTS_SHARD=0/8 ci/mutants.sh   every eighth of them
#
# What is missed is in target/mutants/PACKAGE/mutants.out/missed.txt: a mutant is killed by a test, or
# left out below with the reason.
source "$(dirname "$0")/lib.sh"

need_tool cargo-mutants cargo-mutants 27.1.0

files=("$@")
if [ $# -eq 0 ]; then
    files=(
        crates/hapax/src/{slot,mark,place,reservation,table,wheel,claim}.rs
        crates/hapax-axum/src/signature/*.rs
    )
fi
shard=()
[ -z "${HAPAX_MUTANTS_SHARD:-}" ] || shard=(--shard "$HAPAX_MUTANTS_SHARD")

failed=0
for package in hapax hapax-axum; do
    chosen=()
    for file in "${files[@]}"; do
        case $file in "crates/$package/"*) chosen+=(--file "$file") ;; esac
    done
    [ ${#chosen[@]} -gt 0 ] || continue
    say "mutants of $package"
    mkdir -p "target/mutants/$package"
    # Left out: text for humans, and what is nothing but a hint to the processor or the scheduler.
    cargo mutants --package "$package" --test-package "$package" --output "target/mutants/$package" \
        --exclude-re 'impl fmt::(Debug|Display)' --exclude-re 'touch|look_again|Backoff' \
        --timeout 120 --build-timeout 300 --no-shuffle "${shard[@]}" "${chosen[@]}" \
        -- --lib --tests || failed=1
done
exit "$failed"
