#!/bin/bash
# SPDX-License-Identifier: MIT
# redis.sh BUILD_DIR -- a server that somebody else wrote: watched, steered, killed, and read
# afterwards.
source "$(dirname "$0")/lib.bash"
needs python3 redis-server redis-cli redis-benchmark
socket=$work/redis.sock

LD_PRELOAD=$build/lib/libmallow.so redis-server --port 0 --unixsocket "$socket" --save '' \
    --appendonly no --dir "$work" >log 2>&1 &
pid=$!
started+=("$pid")
answers() {
    redis-cli -s "$socket" ping >/dev/null 2>&1
}
await 60 answers

# In bytes, from the report's line of totals.
report_total() {
    try 0 "$mallow" report "$pid"
    awk '/^Total:/ {
        factor["B"] = 1; factor["KiB"] = 1024; factor["MiB"] = 1024 ^ 2; factor["GiB"] = 1024 ^ 3
        printf "%.0f\n", $2 * factor[$3]
    }' out
}

status_field() {
    "$mallow" status --json "$pid" | python3 -c \
        "import json, sys; print(json.load(sys.stdin)['$1'])"
}

redis-benchmark -s "$socket" -q -n 100000 -r 100000 -d 500 -t set >/dev/null ||
    fail "redis-benchmark"
try 0 "$mallow" status "$pid"
says out "^redis-server \(pid $pid\): running"
live=$(status_field live_bytes)
[ "$live" -gt 10000000 ] || fail "only $live bytes are live"

# Requests are seen at refills, of which an idle server makes few: this load goes on.
redis-benchmark -s "$socket" -q -l -n 100000 -r 100000 -d 500 -t set >/dev/null 2>&1 &
load=$!
started+=("$load")
try 0 "$mallow" set --wait 60 "$pid" rate=256K
says out 'T = 256 KiB \(was 512 KiB\), sampling is on$'
try 0 "$mallow" stop --wait 60 "$pid"
says out 'off, T = 256 KiB \(was on since [^)]*\)$'
samples=$(status_field samples)
# Each command allocates its value: 20,000 of them are some 40 samples.
commands() {
    redis-cli -s "$socket" info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'
}
before=$(commands)
goes_on() { [ "$(commands)" -gt $((before + 20000)) ]; }
await 60 goes_on
[ "$(status_field samples)" = "$samples" ] || fail "it samples although it is stopped"
try 0 "$mallow" start --wait 60 "$pid"
says out 'on, T = 256 KiB \(was off since [^)]*\)$'
more_samples() {
    [ "$(status_field samples)" -gt "$samples" ]
}
await 60 more_samples
kill "$load"
wait "$load" 2>/dev/null
ok "a busy server sees requests at once"

# Requests that the load left behind are served first.
is_idle() {
    before=$live
    live=$(status_field live_bytes)
    [ "$live" = "$before" ] && [ "$(redis-cli -s "$socket" client list | grep -c .)" = 1 ]
}
await 60 is_idle
kill -9 "$pid"
wait "$pid" 2>/dev/null
total=$(report_total)
awk "BEGIN { exit !($total > 0.95 * $live && $total < 1.05 * $live) }" ||
    fail "killed with $live live bytes, the report shows $total"
# Redis's wrappers of malloc are not shown by themselves.
says out 'processCommand'
says_not out '\bzmalloc'
try 0 "$mallow" report --wrappers "$pid"
says out 'zmalloc'
ok "after kill -9 the report shows $total bytes, status said $live"
