#!/bin/bash
# SPDX-License-Identifier: MIT
# details.sh BUILD_DIR -- what is known of each stack: sizes, threads, lifetimes, the peak,
# intervals; in the report, as JSON and in a dump.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -pthread -o details "$here/details.c" || fail "cc"
conf=prof_sample:1,prof_state_min:0,prof_bt_max:3 start_ready ./details

try 0 "$mallow" report --json --all --sample-type alloc_space "$pid"
python3 - out <<'END' || fail "the JSON is wrong"
import json, sys
report = json.load(open(sys.argv[1]))
def stack(function):
    found = [s for s in report["stacks"] if any(f["name"] == function for f in s["frames"])]
    assert len(found) == 1, (function, len(found))
    return found[0]
kept = stack("make_kept")
assert kept["inuse_objects"] == 300 and kept["freed_objects"] == 0, kept
assert kept["inuse_requested"] == 100 * 40 + 200 * 100, kept
assert kept["inuse_space"] == 100 * 48 + 200 * 112, kept
assert [(s["size"], s["objects"]) for s in kept["sizes"]] == [(112, 200), (48, 100)], kept["sizes"]
# Made before the 20 ms that the program sleeps.
assert sum(a["objects"] for a in kept["ages"]) == 300, kept["ages"]
assert not any("us" in a["age"] or a["age"].startswith("1 ms") for a in kept["ages"]), kept["ages"]
# The name came after the first sample, within the second before the next look at it.
assert len(kept["threads"]) == 1 and kept["threads"][0]["objects"] == 300, kept["threads"]
assert kept["interval"] == [kept["alloc_space"]] * 2, kept["interval"]
# Sizes of what is long freed, too: the classes hold one to sixteen of the program's sizes.
strings = stack("make_string")
def sizes(of):
    return {s["size"]: (s["objects"], s["bytes"]) for s in strings[of]}
live, made = sizes("sizes"), sizes("alloc_sizes")
ten = {size: (10 * objects, 10 * amount) for size, (objects, amount) in live.items()}
assert made == ten, (live, made)
assert sum(objects for objects, _ in made.values()) == strings["alloc_objects"] == 640, made
assert [s["objects"] for s in stack("make_kept")["alloc_sizes"]] == [200, 100], kept
brief = stack("make_brief")
assert brief["sizes"] == [], brief
assert brief["alloc_sizes"] == [{"size": 1024, "objects": 500, "bytes": 512000}], brief
assert brief["freed_objects"] == 500 and brief["temporary_objects"] == 500, brief
assert brief["freed_elsewhere"] == 0 and brief["inuse_objects"] == 0, brief
assert sum(l["objects"] for l in brief["lifetimes"]) == 500, brief["lifetimes"]
assert 0 < brief["lifetime"] < 500 * 10**8, brief["lifetime"]
handed = stack("make_handed")
assert handed["freed_elsewhere"] == 200 and handed["temporary_objects"] == 0, handed
assert handed["lifetime"] >= 200 * 20 * 10**6, handed["lifetime"]
assert not any("us" in l["lifetime"] for l in handed["lifetimes"]), handed["lifetimes"]
peak = stack("make_peak")
assert peak["inuse_objects"] == 0 and peak["freed_objects"] == 100, peak
assert 95 <= peak["peak_objects"] <= 100, peak
assert peak["peak_space"] == 10240 * peak["peak_objects"], peak
assert brief["peak_objects"] == 0, brief
END
ok "what became of each stack's blocks, as JSON"

try 0 "$mallow" report --stacks --sample-type alloc_space "$pid"
says out '^#1 +[0-9.]+ KiB'
says_not out ' $'
says out 'freed +500 objects after .* 100.0% temporary$'
says out 'freed +200 objects after .* 100.0% by another thread$'
says out 'sizes +82% 112 B, 18% 48 B$'
says out 'ages +[0-9]+% (10 ms|0.1 s|1 s|10 s|100 s) to'
says out 'all sizes +100% 1.00 KiB$'
try 0 "$mallow" sizes --alloc_space --unit B --focus make_brief "$pid"
says out '^ *512000B \(  100%\): 1024B$'
try 0 "$mallow" report --sample-type peak_space "$pid"
says out 'bytes in use at the peak'
says out '^ +[0-9.]+ KiB .*make_peak'
ok "the same as text"

try 0 "$mallow" dump --labels --no-symbols -o all.pb.gz "$pid"
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
for type in inuse_space inuse_objects alloc_space freed_objects peak_space; do
    try 0 "$mallow" report --sample-type "$type" all.pb.gz
    grep '^Total' out >all
    try 0 "$mallow" report --sample-type "$type" plain.pb.gz
    grep '^Total' out | cmp -s - all || fail "$type: labels change the total"
done
try 0 "$mallow" dump --labels -o all.heap "$pid"
try 0 "$mallow" report all.heap
ok "labels leave the sums alone"

# Without sampling that changes nothing.
try 0 "$mallow" stop --wait 0 "$pid"
dump_in_process "$pid"
try 0 "$mallow" dump --no-symbols -o plain.pb.gz "$pid"
same_totals "$own" plain.pb.gz
"$mallow" traces --sample-type alloc_space "$own" 2>/dev/null | sort >own.txt
"$mallow" traces --sample-type alloc_space plain.pb.gz 2>/dev/null | sort >plain.txt
grep -qF "[truncated]" own.txt || fail "no stack of the process's own dump is marked as cut"
diff own.txt plain.txt >&2 || fail "the process's own dump has other stacks"
ok "a dump by the process itself says the same"

try 0 "$mallow" report --interval "$pid"
says out '95% of flat'
try 2 "$mallow" report --interval all.heap
one_line_error
says err 'does not store the number of samples'
ok "intervals"
