#!/usr/bin/env bash
# Changes the packed words, the tables, the books, the leases and the signatures in every way that
# cargo-mutants knows, one at a time, and asks whether a test fails. For the long runs: about two
# hours on two cores.
#
#   ci/mutants.sh [FILE...]        HAPAX_MUTANTS_SHARD=0/8 ci/mutants.sh   every eighth of them
#
# The tests come in steps: what the unit tests find spares the longer ones. A mutant is killed by a
# test, or stands below with the reason why it may live; any other fails this gate, and is in
# target/mutants/PACKAGE/mutants.out/missed.txt.
source "$(dirname "$0")/lib.sh"

need_tool cargo-mutants cargo-mutants 27.1.0
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0

files=("$@")
if [ $# -eq 0 ]; then
    files=(
        crates/hapax/src/{slot,mark,place,reservation,table,wheel,claim}.rs
        crates/hapax-axum/src/signature/*.rs
    )
fi
shard=()
[ -z "${HAPAX_MUTANTS_SHARD:-}" ] || shard=(--shard "$HAPAX_MUTANTS_SHARD")

excused=(
    # Text for humans, and hints to the processor or the scheduler.
    --exclude-re 'impl fmt::(Debug|Display)'
    --exclude-re 'touch|look_again|Backoff'
    # Not in the build that runs the tests: levers of the models, and the audit's.
    --exclude-re 'abandon_unpublished|Meta::id_bits'
    # Fields that never overlap (asserted where they are declared) may be joined by either.
    --exclude-re 'replace \| with \^ in (Meta::|SpillMark::|pack|Ring::sum)'
    # The same answer: a flat mark says zero anyhow, the first step is the first step from either
    # side, equal steps may be written again, and a shift by nothing shifts nothing.
    --exclude-re 'SpillMark::is_flat -> bool with false'
    --exclude-re 'replace < with <= in SpillMark::(distance_at|raised)'
    --exclude-re 'replace > with >= in SpillMark::raised'
    # The same: nothing is added, a mark is raised to what it is, the home is read once more, of two
    # that end together either may go, a buffer is larger than it need be.
    --exclude-re 'replace > with >= in Ring::add'
    --exclude-re 'replace < with <= in Table::raise'
    --exclude-re 'replace > with >= in Table::judge_copies'
    --exclude-re 'replace < with <= in Table::earliest_done'
    --exclude-re 'replace \+ with \* in decode'
    # Time alone: a table is looked at in the instant at which it ends, and a run to its end, which
    # ci/instructions.sh sees.
    --exclude-re 'replace > with >= in Table::is_alive_at'
    --exclude-re 'replace \|\| with && in Table::scan'
    # Which of two undecided rivals has the better right: any rule will do that both know, and who
    # has none starts again. One thread never meets a rival; the models do.
    --exclude-re 'replace < with (==|>|<=) in Table::judge_copies'
)

# One step: mutates a package and runs tests of that or another one on what still lives. The tests
# must pass on the sound code: where they do not, every mutant would seem to be found.
step() { # package, package with the tests, which tests...
    local package=$1 tests=$2
    shift 2
    say "mutants of $package: tests of $tests, $*"
    cargo test --locked --quiet --package "$tests" "$@" || exit 1
    cargo mutants --package "$package" --test-package "$tests" --output "target/mutants/$package" \
        "${excused[@]}" "${shard[@]}" "${chosen[@]}" \
        --iterate --no-shuffle --baseline skip --timeout 30 --build-timeout 600 -- "$@"
}

failed=0
for package in hapax hapax-axum; do
    chosen=()
    for file in "${files[@]}"; do
        case $file in "crates/$package/"*) chosen+=(--file "$file") ;; esac
    done
    [ ${#chosen[@]} -gt 0 ] || continue
    rm -rf "target/mutants/$package"
    mkdir -p "target/mutants/$package"
    case $package in
    hapax)
        step hapax hapax --lib || true
        step hapax hapax-proof --test oracle --test kill_list || true
        step hapax hapax --tests && ended=0 || ended=$?
        ;;
    hapax-axum)
        step hapax-axum hapax-axum --test layer --test fuzzed && ended=0 || ended=$?
        ;;
    esac
    # 3: none is missed, and some made a test hang, which is to be found, too.
    [ "$ended" -eq 0 ] || [ "$ended" -eq 3 ] || failed=1
done
exit "$failed"
