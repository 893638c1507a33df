#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh [--installed] -- profiles a real program, redis-server, from the first allocation: looks
# at it while it runs, kills it with SIGKILL, and reads the profile it left behind.  Files go to
# build/demo/.  With --installed: the installed command and library, not those of this folder.
. "$(dirname "$0")/lib/common.sh"

if [ "${1:-}" = --installed ]; then # what is in PATH and where the loader looks
    mallow=$(command -v mallow)
    library=libmallow.so.1
else
    scripts/bootstrap.sh demo
    scripts/build.sh release mallow mallow_command
    mallow=$MALLOW_BUILD/bin/mallow
    library=$MALLOW_BUILD/lib/libmallow.so
fi
out=$MALLOW_BUILD/demo
rm -rf "$out"
mkdir -p "$out"
# A path to a unix socket may have 107 characters: the build's own may be longer.
socket=$(mktemp -u /tmp/mallow-demo.XXXXXX)
server=

cleanup() {
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
    rm -f "$socket"
}
trap cleanup EXIT

# Shows the command and runs it.
show() {
    printf '\n$ %s\n' "$(printf '%s ' "$@" | sed -e "s|$MALLOW_ROOT/||g" -e 's| $||')"
    "$@"
}

say "redis-server, with the library preloaded and nothing else changed; a load by redis-benchmark"
env -u MALLOC_CONF MALLOW_CONF=prof_sample:64K LD_PRELOAD="$library" \
    redis-server --port 0 --unixsocket "$socket" --save '' --daemonize no >"$out/redis.log" 2>&1 &
server=$!
for _ in $(seq 1 100); do
    if redis-cli -s "$socket" ping >/dev/null 2>&1; then
        break
    fi
    sleep 0.1
done
redis-cli -s "$socket" ping >/dev/null 2>&1 || {
    cat "$out/redis.log" >&2
    die "redis-server did not start; its log is $out/redis.log"
}
redis-benchmark -s "$socket" -q -n 50000 -r 50000 -d 300 -P 16 \
    -t set,lpush,sadd,hset,zadd >"$out/benchmark.log" 2>&1

show "$mallow" status "$server"
show "$mallow" report --top 12 "$server"

say "now it is killed, as the OOM killer would do it; its profile is still there"
kill -9 "$server"
wait "$server" 2>/dev/null || true
show "$mallow" report --cum --top 24 "$server"
show "$mallow" dump -o "$out/redis.pb.gz" "$server"
show "$mallow" dump --format jemalloc -o "$out/redis.heap" "$server"
server=

say "files written:"
for file in "$out"/redis.pb.gz "$out"/redis.heap "$out"/redis.log; do
    echo "  ${file#"$MALLOW_ROOT"/}"
done
say "your own program: ${mallow#"$MALLOW_ROOT"/} run -- PROGRAM ARGUMENT..."
