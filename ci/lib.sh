# Sourced by every gate: strict shell, the repository's root, lean builds, and no tool that fetches
# a toolchain by itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-2}" RUSTUP_AUTO_INSTALL=0 CARGO_TERM_COLOR=never

say() { printf '\n== %s\n' "$*"; }

# Installs a Debian package unless its command is there.
need_package() { # command package
    command -v "$1" >/dev/null || {
        say "installing $2"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null
    }
}

# Installs a cargo tool unless it is there.
need_tool() { # command crate version
    command -v "$1" >/dev/null || {
        say "installing $2 $3"
        cargo install --locked --quiet "$2" --version "$3"
    }
}
