#!/bin/bash
# SPDX-License-Identifier: MIT
# resident.sh BUILD_DIR -- all views begin with what all of the resident memory is used for, in the
# same words: a program that maps most of it itself, one that never touches what it allocated, an
# interpreter; while they run, after they ended, and in files.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -o resident "$here/resident.c" || fail "cc"

# joined FILE: the sentence in one line, without what begins each line.
joined() {
    sed -E 's/^(mallow:|Memory: |  memory) +//' "$work/$1" | tr '\n' ' ' | tr -s ' ' >"$work/line"
}
# tells FILE PATTERN
tells() {
    joined "$1"
    grep -Eq -- "$2" "$work/line" || fail "std$1 does not tell '$2': $(head -c 900 "$work/line")"
}
narrow() {
    local begins='^(mallow:  |mallow: resident|Memory:|  memory|         (mapped|[a-z]+ \())'
    ! grep -E "$begins" "$work/$1" | grep -E '.{81}' ||
        fail "a line of the sentence has more than 80 columns"
}

# Most is mapped by the program itself.
self='9[0-9.]+ MiB mapped by the program itself \([89][0-9] %\)'
try 0 "$mallow" run -o self.pb.gz -- ./resident 8 96 0 exit
tells err "resident 1[01][0-9] MiB at the peak: [0-9.]+ MiB from malloc \((7|8|9|10) %\), $self"
says err 'MALLOW_CONF=prof_mappings:true names who'
narrow err
awk '/resident / { resident = NR } /live at the peak/ { live = NR }
    END { exit !(resident && resident < live) }' err || fail "the sentence does not come first"
try 0 "$mallow" report self.pb.gz
tells out "resident 1[01][0-9] MiB at the peak: .* from malloc .*, $self"
narrow out
try 0 "$mallow" report --json self.pb.gz
python3 - <<'END' || fail "report --json"
import json
resident = json.load(open("out"))["resident"]
parts, MIB = resident["parts"], 1 << 20
assert sum(parts.values()) == resident["bytes"] == resident["most_bytes"], resident
assert resident["at"] == "peak" and 96 * MIB <= parts["mapped"] < 98 * MIB, resident
assert 8 * MIB <= parts["malloc"] < 10 * MIB, resident
END
try 0 env MALLOW_CONF=prof_mappings:true "$mallow" run -o self.pb.gz -- ./resident 8 96 0 exit
says_not err 'prof_mappings:true'
try 0 "$mallow" report self.pb.gz
says out -- '--sample-type inuse_mapped shows who mapped'
ok "mapped by the program itself, in a run and a file"

conf=prof_state_min:0 start_ready ./resident 8 96 0
for view in status report; do
    try 0 "$mallow" $view "$pid"
    tells out "resident 1[01][0-9] MiB now: [0-9.]+ MiB from malloc .*, $self"
    narrow out
done
try 0 "$mallow" status --json "$pid"
cat out >now
try 0 "$mallow" report --json "$pid"
python3 - <<'END' || fail "status and report"
import json
MIB = 1 << 20
for name in ("now", "out"):
    resident = json.load(open(name))["resident"]
    assert resident["at"] == "now" and resident["arenas"] is None, resident
    assert sum(resident["parts"].values()) == resident["bytes"], resident
    assert 96 * MIB <= resident["parts"]["mapped"] < 98 * MIB, resident
    assert resident["parts"]["unexplained"] < 2 * MIB, resident
END
kill -9 "$pid"
await 60 has_ended "$pid"
try 0 "$mallow" report "$pid"
tells out "resident 1[01][0-9] MiB at the peak: [0-9.]+ MiB from malloc .*, $self"
try 0 "$mallow" status "$pid"
tells out "resident 1[01][0-9] MiB at the peak: .*, $self"
ok "while it runs, and after kill -9"

# Most of what is in use was never touched; a huge page would touch its neighbours.
try 0 env MALLOW_CONF=thp:never "$mallow" run -o pools.pb.gz -- ./resident 2 0 146 exit
tells err '; 14[6-9] MiB live, at most [2-6][0-9.]* MiB of it ever touched'
conf=prof_state_min:0,thp:never start_ready ./resident 2 0 146
for view in status report; do
    try 0 "$mallow" $view "$pid"
    tells out '; 14[6-9] MiB live, [2-4][0-9.]* MiB of it ever touched'
done
ok "never touched"

# A program that frees all before it ends; a child process that maps most of the run's memory.
try 0 "$mallow" run -o child.pb.gz -- bash -c './resident 8 96 0 exit; true'
says err 'the process that held the most memory was resident '
tells err "$self"
ok "the process of a run with most memory of its own"

# Interpreters are named by what they map.
if command -v python3 >/dev/null; then
    cp "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')" python3
    PYTHONHOME=$(python3 -c 'import sys; print(sys.base_prefix)') try 0 "$mallow" run \
        -o py.pb.gz -- ./python3 -c 'a = [str(i) for i in range(400000)]'
    tells err 'MiB mapped by the program itself, such as pymalloc.s arenas \([0-9]+ %\)'
else
    leave_out "python3 is not installed: no interpreter's arenas"
fi
ok "arenas of an interpreter"
