#!/usr/bin/env bash
# The long gates, each with its time: models one preemption deeper, the kill matrix, real threads,
# schedules, fuzzing, the sanitizer, mutants, benchmarks' instruction counts. By hand, before a
# release. Budget: a night on two cores; the default lengths below come to about eight hours.
#
#   ci/deep.sh [GATE...]           default: every gate, in the order of the list below
#
#   HAPAX_FUZZ_SECONDS=1200        for each target
#   HAPAX_DEEP_EXECUTIONS=1000000  schedules for each test
#   HAPAX_STRESS_ROUNDS=20         runs of the stress tests, each with other seeds of the scheduler
#
# A gate that fails does not stop the others. The last lines sum up.
source "$(dirname "$0")/lib.sh"

stress() {
    local round
    for round in $(seq "${HAPAX_STRESS_ROUNDS:-20}"); do
        echo "round $round"
        ci/stress.sh || return 1
    done
}

gate() {
    case $1 in
    stress) stress ;;
    loom) HAPAX_LOOM_PREEMPTIONS=1 ci/loom.sh ;;
    asan) ci/asan.sh ;;
    schedules) ci/schedules.sh "${HAPAX_DEEP_EXECUTIONS:-1000000}" ;;
    fuzz) ci/fuzz.sh "${HAPAX_FUZZ_SECONDS:-1200}" ;;
    kill-matrix) ci/kill-matrix.sh ;;
    mutants) ci/mutants.sh ;;
    instructions) ci/instructions.sh ;;
    *)
        echo "there is no gate $1"
        return 1
        ;;
    esac
}

all="stress instructions asan schedules loom fuzz mutants kill-matrix"
passed=0 failed=0 report=""
for name in ${*:-$all}; do
    say "$name"
    started=$SECONDS
    if gate "$name"; then
        verdict=passed passed=$((passed + 1))
    else
        verdict=FAILED failed=$((failed + 1))
    fi
    took=$((SECONDS - started))
    report+=$(printf '%-14s %-8s %5d min %02d s' "$name" "$verdict" $((took / 60)) $((took % 60)))$'\n'
done
printf '\n%s%d passed, %d failed\n' "$report" "$passed" "$failed"
[ "$failed" -eq 0 ]
