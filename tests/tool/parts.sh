#!/bin/bash
# SPDX-License-Identifier: MIT
# parts.sh BUILD_DIR -- threads that sample one stack have entries of their own for it; whoever reads sees one.
source "$(dirname "$0")/lib.bash"
cc -g -O1 -fno-builtin -pthread -o parts "$here/parts.c" || fail "cc"
mkfifo to from
MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./parts <to >from &
pid=$!
started+=("$pid")
# shellcheck disable=SC2034 # kept open: the program waits for its end
exec {to}>to {from}<from
read -r answer <&"$from"
[ "$answer" = ready ] || fail "the program did not start"

try 0 "$mallow" report --json --all --sample-type alloc_space "$pid"
python3 - out <<'END' || fail "the JSON is wrong"
import json, sys
stacks = json.load(open(sys.argv[1]))["stacks"]
shared = [s for s in stacks if any(f["function"] == "make_shared" for f in s["frames"])]
assert len(shared) == 1, len(shared)
shared = shared[0]
assert (shared["alloc_objects"], shared["inuse_objects"], shared["freed_objects"]) == (15000, 500, 14500), shared
# Of each thread's last hundred (turns 2900 to 2999) 33, 33 and 34 are of each size.
live = {s["size"]: s["objects"] for s in shared["sizes"]}
assert live == {48: 165, 112: 165, 1024: 170}, live
made = {s["size"]: s["objects"] for s in shared["alloc_sizes"]}
assert made == {48: 5000, 112: 5000, 1024: 5000}, made
assert sorted(t["objects"] for t in shared["threads"]) == [100] * 5, shared["threads"]
assert sum(l["objects"] for l in shared["lifetimes"]) == 14500, shared["lifetimes"]
assert 0 < shared["peak_objects"] <= 500, shared["peak_objects"]
END
try 0 "$mallow" status --json "$pid"
state=$(python3 -c 'import json; print(json.load(open("out"))["state_file"])')
# Each thread that samples much has an entry of its own in the file, and people are told of none of them.
python3 - "$state" out <<'END' || fail "the stacks are counted wrongly, or no thread has an entry of its own"
import json, struct, sys
# src/state/layout.h: from byte 64 on a description of each section; the stacks' is the fourth.
file = open(sys.argv[1], "rb").read()
offset, capacity, stride, firsts, first_offset = struct.unpack_from("<QQIIQ", file, 64 + 3 * 32)
wholes, parts = 0, 0
for i in range(1, 256):
    _, _, depth, flags = struct.unpack_from("<QIHH", file, (first_offset if i < firsts else offset) + i * stride)
    wholes, parts = wholes + (depth > 0 and flags >> 8 == 0), parts + (depth > 0 and flags >> 8 > 0)
shown = json.load(open(sys.argv[2]))["stacks"]
assert parts > 0 and shown == wholes, (wholes, parts, shown)
END
ok "five threads' entries are one stack"

# obey LETTER: what parts.c does for it.
obey() {
    printf %s "${1:-x}" >&"$to"
    read -r answer <&"$from"
}
try 0 "$mallow" stop --wait 0 "$pid"
obey
{
    sleep 0.3
    obey
} &
try 0 "$mallow" dump --in-process "$pid"
wait $!
own=$(sed -n 's/.*the process wrote \([^ ]*\.pb\).*/\1/p' err)
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
for type in alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space alloc_requested \
    inuse_requested alloc_samples inuse_samples freed_objects freed_elsewhere temporary_objects lifetime; do
    try 0 "$mallow" report --sample-type "$type" "$own"
    grep '^Total' out >own
    try 0 "$mallow" report --sample-type "$type" plain.pb.gz
    grep '^Total' out | cmp -s - own || fail "$type: the process's own dump says $(cat own), not $(grep '^Total' out)"
done
ok "a dump by the process itself says the same"

# agrees FILE BASE: for what jemalloc's format has, both files have the same totals.
agrees() {
    local type file
    for type in alloc_objects alloc_space inuse_objects inuse_space; do
        for file in "$1" "$2"; do
            try 0 "$mallow" top --sample-type "$type" --json "$file"
            python3 -c 'import json; print(json.load(open("out"))["total"])' >"total.$file"
        done
        cmp -s "total.$1" "total.$2" || fail "$type: $1 says $(cat "total.$1"), $2 $(cat "total.$2")"
    done
}
# counts TARGET ALLOCATED INUSE: objects that make_shared made.
counts() {
    try 0 "$mallow" report --json --all --sample-type alloc_space "$1"
    python3 - out "$2" "$3" <<'END' || fail "$1: the objects are wrong"
import json, sys
stacks = json.load(open(sys.argv[1]))["stacks"]
shared = [s for s in stacks if any(f["function"] == "make_shared" for f in s["frames"])]
found = [(s["alloc_objects"], s["inuse_objects"]) for s in shared]
assert found == [(int(sys.argv[2]), int(sys.argv[3]))], found
END
}
# in_process NAME PID: the process's own dump, in NAME.
in_process() {
    try 0 "$mallow" set dump_name="$work/own.%p.%n${1##*.}" "$2"
    obey
    {
        sleep 0.3
        obey
    } &
    try 0 "$mallow" dump --in-process "$2"
    wait $!
    cp "$(sed -n 's/.*the process wrote \([^ ]*\).*/\1/p' err)" "$1" || fail "no dump"
}
try 0 "$mallow" start --wait 0 "$pid"
obey
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
try 0 "$mallow" dump -o plain.heap "$pid"
agrees plain.heap plain.pb.gz
try 0 "$mallow" stop --wait 0 "$pid"
obey
in_process own.heap "$pid"
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
agrees own.heap plain.pb.gz
counts plain.heap 15000 500
counts own.heap 15000 500
ok "heap_v2, by the process and by the command"

try 0 "$mallow" start --wait 0 "$pid"
obey
{
    sleep 0.5
    obey w
} &
try 0 "$mallow" start --for 2 -o session.pb.gz "$pid"
wait $!
counts session.pb.gz 15000 500
counts "$pid" 30000 500
ok "a session has what was made within it"

try 0 "$mallow" start --wait 0 "$pid"
obey f
child=$answer
started+=("$child")
counts "$child" 45000 500
counts "$pid" 30000 500
try 0 "$mallow" dump --no-symbols -o child.pb.gz "$child"
try 0 "$mallow" dump -o child.heap "$child"
agrees child.heap child.pb.gz
ok "a fork's child goes on with the same"

try 0 "$mallow" reset --wait 0 "$pid"
obey
obey w
counts "$pid" 15000 500
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
try 0 "$mallow" dump -o plain.heap "$pid"
agrees plain.heap plain.pb.gz
in_process own.heap "$pid"
counts own.heap 15000 500
ok "after a reset all begin at nothing"

kill -9 "$pid"
wait "$pid" 2>/dev/null
try 0 "$mallow" report --json --all --sample-type alloc_space "$pid"
python3 - out <<'END' || fail "the sums are not what they were before the kill"
import json, sys
shared = [s for s in json.load(open(sys.argv[1]))["stacks"] if any(f["function"] == "make_shared" for f in s["frames"])]
assert len(shared) == 1 and shared[0]["alloc_objects"] == 15000 and shared[0]["inuse_objects"] == 500, shared
END
ok "after kill -9, too"

MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_log:true LD_PRELOAD=$build/lib/libmallow.so ./parts <<<w >/dev/null
python3 - ./*.json <<'END' || fail "the log"
import json, sys
log = json.load(open(sys.argv[1]))
traces = [tuple(trace) for trace in log["stack_traces"]]
assert len(traces) == len(set(traces)), (len(traces), len(set(traces)))
made = [traces[a["alloc_trace"]] for a in log["allocations"]]
assert max(made.count(trace) for trace in set(made)) == 29500, [made.count(trace) for trace in set(made)]
END
ok "the log of allocations has each trace once"
