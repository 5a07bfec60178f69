#!/bin/sh
# Runs every test that needs a Redis server: the contract on Redis, the faults, and a
# storm of the example service on three processes of which some are killed on the way.
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

# The storm's server listens on a socket in a folder of its own: no port to be taken.
cargo build -p hapax-axum --example webhooks
dir=$(mktemp -d)
redis-server --port 0 --unixsocket "$dir/socket" --dir "$dir" --save "" \
    --appendonly yes --appendfsync everysec --maxmemory-policy noeviction \
    --loglevel warning >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
tries=0
until [ -S "$dir/socket" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
        echo "ci/redis.sh: the server does not start" >&2
        cat "$dir/log" >&2
        exit 1
    fi
    sleep 0.1
done
cargo run -q -p hapax-axum --example webhooks -- \
    --store "unix://$dir/socket" --storm 4000 --nodes 3 --kill-node 2
