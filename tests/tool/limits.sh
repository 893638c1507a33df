#!/bin/bash
# SPDX-License-Identifier: MIT
# limits.sh BUILD_DIR -- soft and hard limits of a real program, absolute and as shares of a
# cgroup's.
source "$(dirname "$0")/lib.bash"
python=/usr/bin/python3
needs "$python"
export LD_PRELOAD=$build/lib/libmallow.so

cat >grow.py <<'END'
import os, sys
print(os.getpid(), flush=True)
blocks = []
try:
    while len(blocks) < 200:
        blocks.append(bytearray(1 << 20))
except MemoryError:
    pass
print(len(blocks))
blocks = None
print(len([bytearray(1 << 20) for i in range(20)]))
END

# grow OPTIONS: runs it; the lines of ./out are its pid, the MiB it got, and those it got
# afterwards.
grow() {
    MALLOW_CONF=prof_state_min:0,prof_keep:true,$1 try 0 "$python" grow.py
    pid=$(sed -n 1p out) got=$(sed -n 2p out) again=$(sed -n 3p out)
    started+=("$pid")
    LD_PRELOAD='' try 0 "$mallow" status "$pid"
}

grow hard_limit:0
[ "$got" = 200 ] || fail "without a limit it got $got MiB"
says out 'hard_limit_bytes +0 B'

grow hard_limit:64M
((got >= 45 && got <= 63)) || fail "of 64 MiB it got $got"
[ "$again" = 20 ] || fail "after the refusal it got $again"
says out 'hard_limit_bytes +64.0 MiB'
says out 'hard_limit_refusals +[1-9]'
says out 'soft_limit_passes +0'
ok "a hard limit refuses, and the program goes on"

grow soft_limit:32M
[ "$got" = 200 ] || fail "a soft limit refused at $got MiB"
says out 'soft_limit_passes +[1-9]'
ok "a soft limit refuses nothing"

cat >paced.py <<'END'
import sys
blocks = []
for line in sys.stdin:
    before = len(blocks)
    try:
        while len(blocks) < before + int(line):
            blocks.append(bytearray(1 << 20))
    except MemoryError:
        pass
    print(len(blocks) - before, flush=True)
END

# take MIB: has the running paced.py take so much more; what it got is in $got.
take() {
    echo "$1" >&3
    read -r -t 30 got <&4 || fail "paced.py ended"
}

mkfifo orders answers
MALLOW_CONF=prof_state_min:0,hard_limit:200M "$python" paced.py <orders >answers 2>paced.err &
pid=$!
started+=("$pid")
exec 3>orders 4<answers
take 20
[ "$got" = 20 ] || fail "of 200 MiB it got $got"
LD_PRELOAD='' try 0 "$mallow" set --wait 60 "$pid" hard_limit=64M
says out 'hard_limit = 64.0 MiB \(was 200 MiB\)'
take 100
((got >= 25 && got <= 43)) || fail "of 44 MiB it got $got"
LD_PRELOAD='' try 0 "$mallow" status "$pid"
says out 'hard_limit_bytes +64.0 MiB'
says out 'hard_limit_refusals +[1-9]'
LD_PRELOAD='' try 0 "$mallow" set --wait 60 "$pid" hard_limit=0 soft_limit=32M
says out 'hard_limit = off \(was 64.0 MiB\)'
take 50
[ "$got" = 50 ] || fail "without a hard limit it got $got of 50"
LD_PRELOAD='' try 0 "$mallow" status "$pid"
says out 'hard_limit_bytes +0 B'
says out 'soft_limit_passes +1 '
LD_PRELOAD='' try 2 "$mallow" set "$pid" soft_limit_percent=101
one_line_error
exec 3>&- 4<&-
wait "$pid"
ok "limits of a running process are changed"

folder=/sys/fs/cgroup/memory
file=memory.limit_in_bytes
if [ ! -e "$folder/$file" ]; then
    folder=/sys/fs/cgroup file=memory.max
    echo +memory 2>/dev/null >"$folder/cgroup.subtree_control"
fi
group=$folder/$(basename "$work")
if ! mkdir "$group" 2>/dev/null || ! mkdir "$group/inner" || ! echo 256M >"$group/$file"; then
    rmdir "$group/inner" "$group" 2>/dev/null
    skip "no cgroup can be made here: shares of its limit were not tried"
fi
at_end "rmdir '$group/inner' '$group'"

# shellcheck disable=SC2016 # for the inner shell
MALLOW_CONF=prof_state_min:0,prof_keep:true,hard_limit_percent:25,soft_limit_percent:10 \
    try 0 bash -c 'echo $$ >"$1/inner/cgroup.procs" && exec "$2" grow.py' - "$group" "$python"
pid=$(sed -n 1p out) got=$(sed -n 2p out)
started+=("$pid")
((got >= 45 && got <= 63)) || fail "of a quarter of 256 MiB it got $got"
LD_PRELOAD='' try 0 "$mallow" status "$pid"
says out 'hard_limit_bytes +64.0 MiB'
says out 'soft_limit_bytes +25.6 MiB'
ok "shares of the limit of a cgroup around its own"
