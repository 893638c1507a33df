#!/bin/bash
# SPDX-License-Identifier: MIT
# survival.sh BUILD_DIR -- the profile of a process that was given no time: kill -9, the OOM killer,
# _exit, a crash inside malloc, a hang, a fork without exec; and what is kept of such files.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -pthread -o victim "$here/victim.c" || fail "cc"

# launch HOW [CONF]: its pid is in $pid, and it has filled its blocks.
launch() {
    rm -f said
    MALLOW_CONF=prof_sample:16K,prof_cost_limit:0,stale_files:256,${2:-} \
        LD_PRELOAD=$build/lib/libmallow.so \
        ./victim "$1" >said 2>"err.$1" &
    pid=$!
    started+=("$pid")
    await 60 grep -qs ready said
}

# About 30 MiB in `fill`: 10000 blocks of 3072 bytes, known to a few percent at T = 16 KiB.
check_profile() {
    try 0 "$mallow" report "$pid"
    says out '\bfill\b'
    "$mallow" status --json "$pid" >status.json || fail "status"
    python3 -c '
import json, sys
status = json.load(open("status.json"))
assert status["state"] == sys.argv[1], status["state"]
assert 27e6 < status["live_bytes"] + float(sys.argv[2]) < 35e6, status["live_bytes"]
' "$1" "${2:-0}" || fail "status.json: $(head -c 300 status.json)"
}

launch killed
kill -9 "$pid"
wait "$pid" 2>/dev/null
check_profile killed
try 0 "$mallow" report "$pid"
says out \
    '^Ended:   killed at 20[0-9-]+ [0-9:]+, or later if it was idle then; it did not call exit$'
# A dump made afterwards knows it, too.
try 0 "$mallow" dump -o killed.pb.gz "$pid"
try 0 "$mallow" report --json killed.pb.gz
says out '"killed": true'
ok "kill -9"

launch _exit
wait "$pid"
status=$?
[ "$status" = 3 ] || fail "_exit: $status"
check_profile _exit
try 0 "$mallow" report "$pid"
says_not out '^Ended'
"$mallow" ls --all >listed
grep -qE "^ +$pid _exit .*, last seen [0-9.]+ m?s ago$" listed ||
    fail "mallow ls --all: $(grep -w "$pid" listed)"
launch vfork
await 60 grep -q over said
kill -9 "$pid"
wait "$pid" 2>/dev/null
check_profile killed
ok "_exit, and that of vfork's child, which is not its parent's"

launch crash
wait "$pid" 2>/dev/null
status=$?
[ "$status" -gt 128 ] || fail "the crash ended with $status"
try 0 "$mallow" report --sample-type alloc_space "$pid"
says out '\bfill\b'
ok "a crash inside malloc, signal $((status - 128))"

launch abort crash_report:true
wait "$pid" 2>/dev/null
status=$?
[ "$status" = 134 ] || fail "abort: $status"
check_profile killed
grep -q '^mallow: signal 6: [0-9]* bytes are live (estimate); the stacks that hold most of them:$' \
    err.abort ||
    fail "no report of the crash: $(cat err.abort)"
# The largest first, its frames with their functions.
grep -q '^  #0 fill+0x[0-9a-f]* (/.*/victim+0x[0-9a-f]*)$' <<<"$(sed -n 3p err.abort)" ||
    fail "the stack of the crash: $(cat err.abort)"
ok "abort, with the text of the top stacks"

launch hang
check_profile running
kill -STOP "$pid"
await 60 grep -q '^State:.T' "/proc/$pid/status"
check_profile stopped
try 0 "$mallow" ls
says out "^ *$pid stopped "
try 0 "$mallow" dump -o hung.pb.gz "$pid"
try 2 "$mallow" stop --wait 0.1 "$pid"
says err 'the process is stopped'
kill -9 "$pid"
wait "$pid" 2>/dev/null
ok "a process that hangs, and one that is stopped"

# A program behind a link is called by the link's name, also where its functions have no names.
strip -o behind victim
ln -s behind as-started
MALLOW_CONF=prof_sample:16K,prof_cost_limit:0 LD_PRELOAD=$build/lib/libmallow.so ./as-started hang \
    >started-said 2>err.hang &
pid=$!
started+=("$pid")
await 60 grep -q ready started-said
try 0 "$mallow" report "$pid"
says out '^Program: as-started '
says out ' as-started@0x[0-9a-f]+$'
says_not out behind
whole="in stacks with 100 % of the bytes, build-id [0-9a-f]+"
says err "no symbols for ([0-9]+) of \\1 code addresses in as-started \\($whole\\)"
kill -9 "$pid"
wait "$pid" 2>/dev/null
# Processes of one program are told apart by their titles.
if command -v perl >/dev/null; then
    for title in writer reader; do
        # shellcheck disable=SC2016 # perl's variables
        MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so \
            perl -e '$0 = "server: '$title' of pages"; open(F, ">titled"); close(F); sleep 60' &
        started+=($!)
        await 60 test -e titled
        rm -f titled
    done
    try 0 "$mallow" ls
    says out "^ +${started[-2]} running .* server: writer of pages\$"
    says out "^ +${started[-1]} running .* server: reader of pages\$"
    try 0 "$mallow" ls --json
    says out '"title": "server: reader of pages"'
    try 0 "$mallow" report "${started[-1]}"
    says out '^Command: server: reader of pages$'
    # A forked process, as PostgreSQL's, has its title before it has a state file.
    cat >forks.pl <<'END'
$0 = "server: parent";
$pid = fork;
if (!$pid) {
    $0 = "server: child";
    @kept = map { "x" x 1000 } 1 .. 1000;
    print "$$\n";
    close(STDOUT);
    sleep 60;
}
waitpid($pid, 0);
END
    MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so \
        perl forks.pl >child &
    started+=($!)
    await 60 grep -q . child
    try 0 "$mallow" ls
    says out "^ +$(cat child) running .* server: child\$"
    kill "$(cat child)"
fi
ok "names of processes"

launch fork
child=
child_has_filled() {
    read -r child <"/proc/$pid/task/$pid/children"
    child=${child%% *}
    [ -n "$child" ] && grep -q child_fill <<<"$("$mallow" report "$child" 2>/dev/null)"
}
await 60 child_has_filled
started+=("$child")
check_profile running
try 0 "$mallow" report "$pid"
says_not out 'child_fill'
try 0 "$mallow" status "$child"
says out "forked +from pid $pid"
kill -9 "$pid" "$child"
wait "$pid" 2>/dev/null
ok "fork without exec: parent and child have numbers of their own"

# A memory cgroup of the test's own, of either version.
make_group() {
    local parent=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    if [ ! -d $parent ]; then
        parent=/sys/fs/cgroup
        limit=memory.max
        grep -qw memory $parent/cgroup.subtree_control 2>/dev/null || return 1
    fi
    group=$parent/$(basename "$work")
    mkdir "$group" 2>/dev/null || return 1
    at_end "rmdir '$group' 2>/dev/null"
    echo $((96 << 20)) >"$group/$limit" 2>/dev/null
}

if make_group; then
    dumps=dump_resident_percent:70,dump_min_ms:0,dump_name:$work/oom.%r.pb
    # shellcheck disable=SC2016
    MALLOW_CONF=prof_sample:16K,prof_cost_limit:0,$dumps \
        LD_PRELOAD=$build/lib/libmallow.so bash -c 'unset LD_PRELOAD; echo $$ >"$1"/cgroup.procs; \
        export LD_PRELOAD=$2; exec ./victim oom' - "$group" "$build/lib/libmallow.so" >/dev/null \
        2>err.oom &
    pid=$!
    started+=("$pid")
    wait "$pid" 2>/dev/null
    [ $? = 137 ] || fail "the OOM killer did not come: $(cat err.oom)"
    try 0 "$mallow" report "$pid"
    says out 'grow_without_end'
    "$mallow" status --json "$pid" | python3 -c '
import json, sys
status = json.load(sys.stdin)
assert status["state"] == "killed" and status["live_bytes"] > 60 << 20, status["live_bytes"]' ||
    fail "oom"
    try 0 "$mallow" report oom.resident.pb
    says out 'grow_without_end'
    ok "the OOM killer; and a dump when 70 % of the cgroup's limit were resident"
else
    leave_out "no memory cgroup can be made here: the OOM killer was not called"
fi
