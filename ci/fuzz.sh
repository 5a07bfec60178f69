#!/bin/sh
# Fuzzes every target for a short, fixed time, starting from the committed seeds.
#
#   ci/fuzz.sh [SECONDS [TARGET...]]     default: 15 seconds each, every target
#
# Needs nothing but Rust and a C++ compiler: cargo-fuzz is installed if missing
# (about 45 s), and the pinned stable toolchain runs the targets without a
# sanitizer, since our own code has no unsafe in it. `concurrent` and `claims` are
# built with `--cfg hapax_shuttle`, in a folder of their own.
set -u
cd "$(dirname "$0")/.." || exit 1
export RUSTUP_AUTO_INSTALL=0

seconds=${1:-15}
[ $# -eq 0 ] || shift
targets=${*:-"ops checker concurrent claims request signature"}
toolchain=+1.95.0

if ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install --locked cargo-fuzz || {
        echo "fuzz: cargo-fuzz is missing and cannot be installed"
        echo "0 passed, 1 failed"
        exit 1
    }
fi

passed=0
failed=0
for target in $targets; do
    case $target in
    concurrent | claims)
        flags="--cfg hapax_shuttle"
        build=target/fuzz-shuttle
        ;;
    *)
        flags=""
        build=target/fuzz
        ;;
    esac
    # What is found while fuzzing stays out of the tree; seeds are only read.
    corpus=target/corpus/$target
    log=target/corpus/$target.log
    mkdir -p "$corpus" "fuzz/seeds/$target"
    if RUSTFLAGS="$flags" cargo $toolchain fuzz run --sanitizer none \
        --target-dir "$build" "$target" "$corpus" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=1024 -timeout=20 -rss_limit_mb=4096 \
        -print_final_stats=1 >"$log" 2>&1; then
        passed=$((passed + 1))
        speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        cover=$(sed -n 's/.*DONE *cov: \([0-9]*\) ft: \([0-9]*\).*/\1 edges, \2 features/p' "$log")
        echo "fuzz $target: ok, $runs runs, $speed a second, $cover"
    else
        failed=$((failed + 1))
        tail -n 60 "$log"
        echo "fuzz $target: FAILED; the input is in fuzz/artifacts/$target (fuzz/README.md says how to replay it)"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
