#!/bin/bash
# SPDX-License-Identifier: MIT
# redis.sh BUILD_DIR -- redis-server, which links jemalloc: the preloaded malloc must win.  A load
# by redis-benchmark over a unix socket, checked contents, a snapshot by a forked child, a clean
# end.
. "$(dirname "$0")/lib.sh"
need redis-server redis-cli redis-benchmark

socket=$work/redis.sock
options=(--port 0 --unixsocket "$socket" --dir "$work" --save '' --daemonize no --logfile \
    "$work/log")

# Binding of malloc, as the dynamic linker reports it at start.
LD_DEBUG=bindings LD_DEBUG_OUTPUT=$work/bindings LD_PRELOAD=$mallow_library redis-server --version \
    >/dev/null
grep -qE "binding file redis-server .* to $mallow_library .*symbol .malloc'" "$work"/bindings.* ||
    fail "redis-server's malloc is not mallow's"

start "$work/out" redis-server "${options[@]}"
server=$started
cli() {
    redis-cli -s "$socket" "$@"
}
wait_for 20 cli ping || fail "redis-server does not answer"
maps_mallow "$server" || fail "redis-server runs without mallow"

redis-benchmark -s "$socket" -q -n 40000 -r 20000 -d 200 -P 8 -c 20 \
    -t set,get,lpush,lpop,sadd,hset,zadd,lrange_100,mset >"$work/benchmark" 2>&1 ||
    fail "redis-benchmark: $(tail -n 3 "$work/benchmark")"
[ "$(grep -c 'requests per second' "$work/benchmark")" -ge 9 ] ||
    fail "redis-benchmark left tests out"

# 20,000 values that can be told from each other, overwritten by longer and shorter ones, then read.
for step in 1 2 3; do
    awk -v step="$step" 'BEGIN { for (i = 0; i < 20000; i++) {
        v = ""; for (j = 0; j < (i * step) % 40; j++) v = v "x" i
        printf "SET probe:%d v%d:%s\n", i, step, v } }' | cli --pipe >"$work/pipe" 2>&1 ||
        fail "loading: $(tail -n 2 "$work/pipe")"
done
digest=$(cli debug digest 2>/dev/null || true)
grep -q '^v3:' <<<"$(cli get probe:19999)" || fail "a value is not what was written"

# BGSAVE: the child walks the heap it was given by fork.
cli bgsave >/dev/null
has_saved() {
    grep -q 'rdb_bgsave_in_progress:0' <<<"$(cli info persistence)"
}
wait_for 30 has_saved ||
    fail "the snapshot does not end"
grep -q 'rdb_last_bgsave_status:ok' <<<"$(cli info persistence)" || fail "the snapshot failed"
keys=$(cli dbsize)
cli flushall >/dev/null
status=0
cli shutdown nosave || true
wait "$server" || status=$?
[ "$status" -eq 0 ] || fail "redis-server ended with status $status"

# What the snapshot holds can be read by a server without mallow.
redis-server "${options[@]}" >"$work/out" 2>&1 </dev/null &
later_kill "$!"
# It answers while it loads, but not about what it holds.
holds_keys() {
    [ "$(cli dbsize)" = "$keys" ]
}
wait_for 20 holds_keys || fail "the snapshot holds $(cli dbsize) keys, not $keys"
[ -z "$digest" ] || [ "$(cli debug digest 2>/dev/null || true)" = "$digest" ] ||
    fail "the snapshot differs from what was in memory"
cli shutdown nosave || true
echo "ok redis: $keys keys written, saved by a child and read back"
