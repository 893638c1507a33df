#!/bin/bash
# SPDX-License-Identifier: MIT
# redis.sh BUILD_DIR -- a server that somebody else wrote: watched, steered, killed, and read afterwards.
source "$(dirname "$0")/lib.bash"
command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null || exit 77
port=$((20000 + $$ % 20000))

LD_PRELOAD=$build/lib/libmallow.so redis-server --port "$port" --bind 127.0.0.1 --save '' \
    --appendonly no --dir "$work" >log 2>&1 &
pid=$!
started+=("$pid")
for _ in $(seq 100); do
    redis-cli -p "$port" ping >/dev/null 2>&1 && break
    sleep 0.1
done

# In bytes, from the report's line of totals.
report_total() {
    try 0 "$mallow" report "$pid"
    awk '/^Total:/ {
        factor["B"] = 1; factor["KiB"] = 1024; factor["MiB"] = 1024 ^ 2; factor["GiB"] = 1024 ^ 3
        printf "%.0f\n", $2 * factor[$3]
    }' out
}

status_field() {
    "$mallow" status --json "$pid" | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"
}

redis-benchmark -p "$port" -q -n 100000 -r 100000 -d 500 -t set >/dev/null || fail "redis-benchmark"
try 0 "$mallow" status "$pid"
says out "^redis-server \(pid $pid\): running"
live=$(status_field live_bytes)
[ "$live" -gt 10000000 ] || fail "only $live bytes are live"

# Orders are noticed at refills, of which an idle server makes few: this load goes on.
redis-benchmark -p "$port" -q -l -n 100000 -r 100000 -d 500 -t set >/dev/null 2>&1 &
load=$!
started+=("$load")
try 0 "$mallow" set "$pid" rate=256K
says out 'T = 256 KiB \(was 512 KiB\), sampling is on$'
try 0 "$mallow" stop "$pid"
says out 'off, T = 256 KiB \(was on since [^)]*\)$'
samples=$(status_field samples)
sleep 1
[ "$(status_field samples)" = "$samples" ] || fail "it samples although it is stopped"
try 0 "$mallow" start "$pid"
says out 'on, T = 256 KiB \(was off since [^)]*\)$'
sleep 1
[ "$(status_field samples)" -gt "$samples" ] || fail "it does not sample although it is on"
kill "$load"
wait "$load" 2>/dev/null
ok "a busy server notices orders at once"

live=$(status_field live_bytes)
kill -9 "$pid"
wait "$pid" 2>/dev/null
total=$(report_total)
awk "BEGIN { exit !($total > 0.95 * $live && $total < 1.05 * $live) }" ||
    fail "killed with $live live bytes, the report shows $total"
says out 'zmalloc'
ok "after kill -9 the report shows $total bytes, status said $live"
