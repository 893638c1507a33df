#!/bin/bash
# SPDX-License-Identifier: MIT
# live.sh BUILD_DIR -- requests to a live process, its profile while it runs and after kill -9.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -o phases "$here/phases.c" || fail "cc"

# launch CONF: starts ./phases under mallow; its pid is in $pid.
launch() {
    conf=$1 start_piped phases ./phases
}

tell() {
    local answer
    printf '%s' "$1" >&"$to"
    read -r answer <&"$from"
    [ "$answer" = "done" ] || fail "the program did not answer"
}

# request STATUS PATTERN COMMAND...: sends a request while the program allocates, so that it is
# seen.
request() {
    local want=$1 pattern=$2
    shift 2
    try "$want" "$mallow" "$@" --wait 0
    tell t
    says out "$pattern"
}

launch prof_active:false,prof_sample:1,prof_state_min:0
tell a
request 0 "pid $pid: already off since [0-9:]+, T = 1 \(exact\); nothing changed" stop "$pid"
request 0 "pid $pid: on, T = 1" start "$pid"
request 0 "pid $pid: already on since [0-9:]+, T = 1 \(exact\); nothing changed" start "$pid"
tell b
request 0 "pid $pid: off, T = 1 .*was on since" stop "$pid"
request 0 "already off since .*nothing changed" stop "$pid"
tell a
try 0 "$mallow" report "$pid"
says out 'phase_b'
says_not out 'phase_a'
ok "start twice, stop twice; only what was allocated while on is in the profile"

request 0 "pid $pid: T = 64 KiB \(was 1 \(exact\)\), sampling is off" set "$pid" rate=64K
request 0 "T is already 64 KiB.*nothing changed" set "$pid" rate=65536
request 0 "T = 1 \(exact\)" set "$pid" rate=1
request 0 "counters set to zero" reset "$pid"
try 0 "$mallow" report "$pid"
says_not out 'phase_b'
request 0 "on, T = 1" start "$pid"
tell a
try 0 "$mallow" report --sample-type inuse_objects "$pid"
says out '\b64\b.*phase_a'
ok "set and reset"

try 0 "$mallow" stop "$pid" --wait 0
says out 'pending; takes effect once the process allocates'
try 0 "$mallow" stop "$pid" --wait 0
says out 'already pending'
try 0 "$mallow" status "$pid"
says out 'pending +off'
try 0 "$mallow" set "$pid" dump_signal=12 --wait 0
says err "pid $pid: mallow does not handle signal 12 yet"
try 0 "$mallow" status "$pid"
says_not out 'dump_signal'
try 0 "$mallow" start "$pid" --wait 0
tell t
try 0 "$mallow" status "$pid"
says out 'set +dump_signal = 12'
try 0 "$mallow" set "$pid" dump_signal=0 --wait 0
says_not err 'until then'
tell t
try 0 "$mallow" status "$pid"
says out "phases \(pid $pid\): running"
says out 'sampling +on since'
says_not out 'pending'
ok "requests to an idle process stand"

try 0 "$mallow" ls
says out "^ +$pid running .*phases$"
try 0 "$mallow" ls --json
python3 -c '
import json, sys
entry = [e for e in json.load(sys.stdin) if e["pid"] == int(sys.argv[1])][0]
assert entry["program"] == "phases" and entry["state"] == "running", entry
assert entry["mean_bytes"] == 1 and entry["live_bytes"] >= 64 * 4096, entry
' "$pid" <out || fail "ls --json"
try 0 "$mallow" status --json "$pid"
python3 -c '
import json, sys
status = json.load(sys.stdin)
assert status["pid"] == int(sys.argv[1]) and status["active"] is True, status
assert status["live_objects"] >= 64 and status["flags"] == [], status
assert status["heap"]["mapped_bytes"] > 0, status
' "$pid" <out || fail "status --json"
ok "ls and status, also as JSON"

try 0 "$mallow" dump "$pid" -o now.pb.gz
says err 'profile written: now\.pb\.gz'
try 0 "$mallow" dump "$pid" -o now.pb --no-symbols
grep -q '1f 8b' <<<"$(head -c 2 now.pb.gz | od -An -tx1)" || fail "now.pb.gz is not gzip"
grep -q '1f 8b' <<<"$(head -c 2 now.pb | od -An -tx1)" && fail "now.pb is gzip"
try 0 "$mallow" dump "$pid" -o now.heap
grep -q '^heap_v2/1$' <<<"$(head -1 now.heap)" || fail "now.heap: $(head -1 now.heap)"
try 0 "$mallow" dump "$pid" -o now.txt --format gperftools
grep -q '^heap profile:' <<<"$(head -1 now.txt)" || fail "now.txt"
try 0 bash -c "'$mallow' dump $pid -o - >piped.pb.gz"
for file in now.pb.gz now.pb now.heap piped.pb.gz; do
    try 0 "$mallow" report "$file"
    says out 'phase_a'
done
ok "dump in all formats, and report reads them"

before=$("$mallow" status --json "$pid" | python3 -c \
    'import json,sys; print(json.load(sys.stdin)["live_bytes"])')
kill -9 "$pid"
wait "$pid" 2>/dev/null
try 0 "$mallow" status --json "$pid"
after=$(python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["live_bytes"], d["state"])' \
    <out)
[ "$after" = "$before killed" ] || fail "before the kill $before, after it $after"
try 0 "$mallow" report "$pid"
says out 'phase_a'
# Of those that have ended it shows a few, and others end meanwhile.
try 0 "$mallow" ls --all
says out "^ +$pid killed .*phases, last seen [0-9.]+ m?s ago$"
try 2 "$mallow" start "$pid"
one_line_error
says err 'the process has ended'
# A process that was killed while it made its file, before it wrote the header.
blank=/dev/shm/mallow-$(id -u)/$pid.1.1
head -c 8192 /dev/zero >"$blank"
try 0 "$mallow" ls --all
says err \
    "note: $blank: its process ended before it wrote a profile; 'mallow clean' removes the file"
try 2 "$mallow" report "$blank"
try 0 "$mallow" clean
[ ! -e "$blank" ] || fail "clean left $blank"
# A live process that makes its file, and has not locked it yet.
sleep 1000 &
maker=$!
started+=("$maker")
blank=/dev/shm/mallow-$(id -u)/$maker.$(sed 's/.*) //' "/proc/$maker/stat" | cut -d' ' -f20)
blank+=.$(stat -Lc %i /proc/self/ns/pid)
for bytes in 0 8192; do
    head -c $bytes /dev/zero >"$blank"
    try 0 "$mallow" ls --all
    says_not err "$blank"
    try 0 "$mallow" clean
    [ -e "$blank" ] || fail "clean removed the file of $bytes bytes that a process makes"
done
kill "$maker"
wait "$maker" 2>/dev/null
try 0 "$mallow" clean
[ ! -e "$blank" ] || fail "clean left $blank"
ok "kill -9: the profile is there, $before bytes"
