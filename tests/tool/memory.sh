#!/bin/bash
# SPDX-License-Identifier: MIT
# memory.sh BUILD_DIR -- `mallow status` accounts for all of the resident memory, and for the parts
# of a program that are known; which stacks keep free memory from going back.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -pthread -o memory "$here/memory.c" || fail "cc"
conf=prof_sample:16K,prof_cost_limit:0,dirty_decay_ms:-1,prof_seed:3 start_ready ./memory

# The walk before may have been too short a time ago for another one, and made before the program
# freed its arrays of pointers, 3 MiB.
is_walked() {
    try 0 "$mallow" status --json "$pid"
    python3 -c 'import json
memory = json.load(open("out"))["memory"]
exit(memory["free_in_pages"] < 16 << 20 or memory["blocks"] > 30 << 20)'
}
await 60 is_walked
resident=$(awk '/^Rss:/ { sum += $2 } END { print sum * 1024 }' "/proc/$pid/smaps")
python3 - out "$resident" <<'END' || fail "the account is wrong"
import json, sys
memory = json.load(open(sys.argv[1]))["memory"]
resident = int(sys.argv[2])
names = "live rounding free_in_pages kept metadata profiler stacks".split()
names += "files shared mapped other".split()
print({name: memory[name] >> 10 for name in names + ["blocks"]})
total = sum(memory[name] for name in names)
assert total == memory["resident"], (total, memory["resident"])
assert abs(total - resident) < 0.02 * resident, (total, resident)
MIB = 1 << 20
# 40,000 of 112 B, 10,000 of 512 B, 40 of 200,704 B, 2 of 6 MiB.
blocks = 40000 * 112 + 10000 * 512 + 40 * 200704 + 12 * MIB
assert abs(memory["blocks"] - blocks) < 0.03 * blocks, (memory["blocks"], blocks)
assert abs(memory["live"] + memory["rounding"] - blocks) < 0.05 * blocks, (memory, blocks)
# 160,000 of 112 B, freed beside others.
assert abs(memory["free_in_pages"] - 160000 * 112) < 0.05 * 160000 * 112, memory["free_in_pages"]
assert 6 * MIB <= memory["kept"] <= 10 * MIB, memory["kept"]
assert 600 << 10 <= memory["stacks"] <= 2 * MIB, memory["stacks"]
# The mapping, and the arrays of pointers.
assert 7 * MIB <= memory["mapped"] <= 10 * MIB, memory["mapped"]
assert memory["metadata"] < 2 * MIB and memory["profiler"] < 2 * MIB, memory
assert memory["ranges_missing"] == 0
END
cat out >json
try 0 "$mallow" status "$pid"
says out 'resident +[0-9.]+ MiB now, of which \(the heap as of'
says out '^ +[0-9.]+ MiB +[0-9.]+%  free blocks in the same pages$'
ok "resident memory by use"

try 0 "$mallow" map --json "$pid"
python3 - out <<'END' || fail "the map is wrong"
import json, sys
map = json.load(open(sys.argv[1]))
size = {one["block_bytes"]: one for one in map["sizes"]}
near = lambda value, right: abs(value - right) <= 0.05 * right
assert near(size[112]["used_bytes"], 40000 * 112), size[112]
assert near(size[112]["free_bytes"], 160000 * 112), size[112]
assert size[112]["sparse"] >= 0.95 * size[112]["pages"], size[112]
assert near(size[512]["used_bytes"], 10000 * 512) and size[512]["sparse"] < 20, size[512]
assert map["sizes"][0]["block_bytes"] == 112
assert near(map["large_bytes"], 40 * 200704), map["large_bytes"]
kinds = "".join(chunk["kinds"] for chunk in map["chunks"])
assert len(kinds) == 63 * (map["chunks_in_all"] - map["free_chunks"])
assert kinds.count("p") == sum(one["pages"] for one in map["sizes"]), kinds
assert kinds.count("l") == 40 and kinds.count("r") >= 40 * 3, kinds
END
chunks=$(python3 -c 'import json; map = json.load(open("out")); print(len(map["chunks"]))')
try 0 env LC_ALL=C "$mallow" map "$pid"
says out "^pid $pid memory: [0-9]+ chunks.*; the heap as of"
[ "$(grep -cE '^ *[0-9a-f]{8,} {2}.{63}$' out)" = "$chunks" ] || fail "a line for each chunk"
says out '^ +112 B +[0-9]+ +4\.[0-9]+ MiB +1[67]\.[0-9] MiB'
says out 'Llll'
try 0 "$mallow" map --top 1 "$pid"
says out ', the 1 with most free memory are shown;'
ok "chunks, pages and sums of the map"

try 0 "$mallow" report --sample-type pinned_space "$pid"
says out 'Total: +1[5-9].*MiB'
says out '^ +1[5-9][0-9.]* MiB +(9[5-9]|100)[.0-9]*% .*make_scattered'
ok "the stack that keeps free memory from going back"

try 0 "$mallow" dump -o memory.heap "$pid"
try 2 "$mallow" map memory.heap
says err "memory.heap: this is not a state file; 'mallow map' takes a pid or a state file"
kill -9 "$pid"
wait "$pid" || true
try 0 "$mallow" map "$pid"
says out "^pid $pid memory: [0-9]+ chunks.*; the heap as of"
ok "the last map of a process that was killed"
