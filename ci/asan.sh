#!/usr/bin/env bash
# Tests the set, the stores, the layer and the proofs under AddressSanitizer and LeakSanitizer.
# Budget: 12 minutes, cold.
#
# The pinned toolchain carries the sanitizer's runtime, and RUSTC_BOOTSTRAP lets it be switched on.
# Our own code has no unsafe in it: this looks for memory errors and leaks in the dependencies as we
# use them, arc-swap above all. The standard library is not instrumented, and a data race is not a
# memory error until it has made one.
source "$(dirname "$0")/lib.sh"

host=$(rustc -vV | sed -n 's/^host: //p')
if ! ls "$(rustc --print sysroot)/lib/rustlib/$host/lib/"librustc*_rt.asan.a >/dev/null 2>&1; then
    say "SKIPPED: AddressSanitizer (this toolchain has no runtime for it)"
    exit 0
fi
# With a target given, build scripts and macros stay without the sanitizer.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/asan"
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# Some tests ask for more memory than there is, and are right that they get none.
export ASAN_OPTIONS=allocator_may_return_null=1

say "the sanitizer finds a planted use after free"
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cat >"$planted/planted.rs" <<'RUST'
fn main() {
    let freed = { let boxed = Box::new(1u8); &*boxed as *const u8 };
    println!("{}", unsafe { freed.read_volatile() });
}
RUST
rustc --target "$host" -Zsanitizer=address -o "$planted/planted" "$planted/planted.rs"
if "$planted/planted" >/dev/null 2>&1; then
    echo "the sanitizer is silent about a use after free"
    exit 1
fi

say "tests under AddressSanitizer"
# What counts allocations brings an allocator of its own; the sanitizer must have its own too. And
# it reserves terabytes of address space, so a test that limits that cannot run.
tests() {
    cargo test --locked --target "$host" --lib --tests "$@" -- --skip allocat --skip without_memory
}
tests -p hapax -p hapax-store -p hapax-axum
# The scripts of the proofs forget leases on purpose, as a holder does who dies: that is a leak.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 tests -p hapax-proof
