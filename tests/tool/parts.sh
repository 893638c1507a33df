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
python3 - out <<'END' || fail "no thread has an entry of its own"
import json, sys
assert json.load(open(sys.argv[1]))["stacks"] > 2, sys.argv
END
ok "five threads' entries are one stack"

obey() {
    printf x >&"$to"
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

kill -9 "$pid"
wait "$pid" 2>/dev/null
try 0 "$mallow" report --json --all --sample-type alloc_space "$pid"
python3 - out <<'END' || fail "the sums are not what they were before the kill"
import json, sys
shared = [s for s in json.load(open(sys.argv[1]))["stacks"] if any(f["function"] == "make_shared" for f in s["frames"])]
assert len(shared) == 1 and shared[0]["alloc_objects"] == 15000 and shared[0]["inuse_objects"] == 500, shared
END
ok "after kill -9, too"
