#!/bin/bash
# SPDX-License-Identifier: MIT
# shared.sh BUILD_DIR -- five threads that sample one stack: its figures in every format, after a
# fork, a reset and a kill.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -pthread -o shared "$here/shared.c" || fail "cc"
conf=prof_sample:1,prof_state_min:0 start_ready ./shared

try 0 "$mallow" report --json --all --sample-type alloc_space "$pid"
python3 - out <<'END' || fail "the JSON is wrong"
import json, sys
stacks = json.load(open(sys.argv[1]))["stacks"]
shared = [s for s in stacks if any(f["name"] == "make_shared" for f in s["frames"])]
assert len(shared) == 1, len(shared)
shared = shared[0]
counts = tuple(shared[kind + "_objects"] for kind in ("alloc", "inuse", "freed"))
assert counts == (15000, 500, 14500), shared
# Of each thread's last hundred (turns 2900 to 2999) 33, 33 and 34 are of each size.
live = {s["size"]: s["objects"] for s in shared["sizes"]}
assert live == {48: 165, 112: 165, 1024: 170}, live
made = {s["size"]: s["objects"] for s in shared["alloc_sizes"]}
assert made == {48: 5000, 112: 5000, 1024: 5000}, made
assert sorted(t["objects"] for t in shared["threads"]) == [100] * 5, shared["threads"]
assert sum(l["objects"] for l in shared["lifetimes"]) == 14500, shared["lifetimes"]
assert 0 < shared["peak_objects"] <= 500, shared["peak_objects"]
END
ok "five threads count in one stack"

try 0 "$mallow" stop --wait 0 "$pid"
dump_in_process "$pid"
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
same_totals "$own" plain.pb.gz
ok "a dump by the process itself says the same"

# agrees FILE BASE: for what jemalloc's format has, both files have the same totals.
agrees() {
    local type file
    for type in alloc_objects alloc_space inuse_objects inuse_space; do
        for file in "$1" "$2"; do
            try 0 "$mallow" top --sample-type "$type" --json "$file"
            python3 -c 'import json; print(json.load(open("out"))["total"])' >"total.$file"
        done
        cmp -s "total.$1" "total.$2" ||
            fail "$type: $1 says $(cat "total.$1"), $2 $(cat "total.$2")"
    done
}
# counts TARGET ALLOCATED INUSE: objects that make_shared made.
counts() {
    try 0 "$mallow" report --json --all --sample-type alloc_space "$1"
    python3 - out "$2" "$3" <<'END' || fail "$1: the objects are wrong"
import json, sys
stacks = json.load(open(sys.argv[1]))["stacks"]
shared = [s for s in stacks if any(f["name"] == "make_shared" for f in s["frames"])]
found = [(s["alloc_objects"], s["inuse_objects"]) for s in shared]
assert found == [(int(sys.argv[2]), int(sys.argv[3]))], found
END
}
# in_process NAME PID: the process's own dump, in NAME.
in_process() {
    try 0 "$mallow" set --wait 60 dump_name="$work/own.%p.%n${1##*.}" "$2"
    dump_in_process "$2"
    cp "$own" "$1" || fail "no dump"
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
# The session has begun when the command waits for ^C, which ends it.
"$mallow" start --for 1h --wait 60 -o session.pb.gz "$pid" >out 2>err &
session=$!
await 60 waits_for_interrupt "$session"
obey w
kill -INT "$session"
wait "$session" || fail "the session ended with $?"
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
shared = [s for s in json.load(open(sys.argv[1]))["stacks"]
          if any(f["name"] == "make_shared" for f in s["frames"])]
assert len(shared) == 1, shared
assert shared[0]["alloc_objects"] == 15000 and shared[0]["inuse_objects"] == 500, shared
END
ok "after kill -9, too"

MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_log:true LD_PRELOAD=$build/lib/libmallow.so \
    ./shared <<<w >/dev/null
python3 - ./*.json <<'END' || fail "the log"
import json, sys
log = json.load(open(sys.argv[1]))
traces = [tuple(trace) for trace in log["stack_traces"]]
assert len(traces) == len(set(traces)), (len(traces), len(set(traces)))
made = [traces[a["alloc_trace"]] for a in log["allocations"]]
counts = [made.count(trace) for trace in set(made)]
assert max(counts) == 29500, counts
END
ok "the log of allocations has each trace once"
