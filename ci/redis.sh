#!/bin/sh
# Runs every test that needs a Redis server: the contract on Redis, and the faults.
#
# Each test starts a server of its own, so none needs to be running. Installs the
# Debian packages where they are missing; where that cannot be done it says so and
# fails, so that nobody takes skipped tests for passed ones.
set -eu
cd "$(dirname "$0")/.."

need=""
command -v redis-server >/dev/null || need="$need redis-server"
# A node whose clock is an hour off.
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || need="$need faketime"
# Certificates for the server that speaks TLS.
command -v openssl >/dev/null || need="$need openssl"

if [ -n "$need" ]; then
    echo "ci/redis.sh: installing$need"
    # The service that the package starts is not used.
    if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y $need; }; then
        echo "ci/redis.sh: cannot install$need, so the Redis tests cannot run" >&2
        exit 1
    fi
fi
redis-server --version

cargo test -p hapax-redis -p hapax-store --features contract,hapax-redis/tls -- --include-ignored
