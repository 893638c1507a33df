#!/bin/bash
# SPDX-License-Identifier: MIT
# mappings.sh BUILD_DIR -- prof_mappings: what a program maps itself, in reports, dumps and
# `mallow status`; switched on and off in the live process.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -fno-builtin -fno-optimize-sibling-calls -o mappings "$here/mappings.c" || fail "cc"
mib=$((1 << 20))

# step LETTER...: makes the program take these steps, and waits for each
step() {
    local letter answer
    for letter in "$@"; do
        echo "$letter" >&"$to"
        read -r -t 60 answer <&"$from"
        [ "$answer" = "done" ] || fail "step $letter"
    done
}
# holds SOURCE TYPE FUNCTION VALUE: the sum over the stacks with that function
holds() {
    "$mallow" report --json --stacks --top 100 --sample-type "$2" "$1" >report.json 2>err ||
        fail "report of $1"
    python3 - "$@" <<'END' || fail "$2 of $3"
import json, sys
source, kind, function, wanted = sys.argv[1:]
report = json.load(open("report.json"))
assert report["type"] == kind, report["type"]
got = sum(stack[kind] for stack in report["stacks"]
          if function in [frame["name"] for frame in stack["frames"]])
assert got == int(wanted), f"{source}: {kind} of {function} is {got}, not {wanted}"
END
}
# all_hold SOURCE: after the steps w c f m d a
all_hold() {
    holds "$1" inuse_mapped map_whole $((24 * mib))
    holds "$1" inuse_mapped map_cut $((12 * mib))
    holds "$1" inuse_mappings map_cut 2
    holds "$1" alloc_mapped map_cut $((20 * mib))
    holds "$1" alloc_mappings map_cut 1
    holds "$1" inuse_mapped map_freed 0
    holds "$1" alloc_mapped map_freed $((9 * mib))
    holds "$1" inuse_mapped map_grown $((6 * mib))
    holds "$1" alloc_mapped map_grown $((8 * mib))
    holds "$1" inuse_mapped grow_data $((3 * mib))
    holds "$1" inuse_mapped allocate 0
    # The heap's types know nothing of it.
    holds "$1" inuse_space map_whole 0
    holds "$1" peak_space map 0
}

conf=prof_mappings:true,prof_state_min:0,prof_sample:1 start_ready ./mappings
step w c f m d a
all_hold "$pid"
try 0 "$mallow" dump --output saved.pb.gz "$pid"
all_hold saved.pb.gz
try 0 "$mallow" set --wait 60 "$pid" dump_name="$work/own.pb"
step a
try 0 "$mallow" status "$pid"
says out 'set +prof_mappings = true'
says out '^ +of what the program mapped, 4[0-9.]+ MiB were mapped by$'
says out '^ +24\.0 MiB +map \(mappings\.c:[0-9]+\) < map_whole < main'
says out '^ +12\.0 MiB +map \(mappings\.c:[0-9]+\) < map_cut < main'
says out '^ +6\.00 MiB +map_grown \(mappings\.c:[0-9]+\) < main'
try 0 "$mallow" status --json "$pid"
python3 - <<'END' || fail "status --json"
import json
status = json.load(open("out"))
assert status["memory"]["mapped"] >= 42 << 20, status["memory"]
owners = {owner["functions"][1]: owner["bytes"] for owner in status["mapped_by"]}
assert owners["map_whole"] == 24 << 20 and owners["map_cut"] == 12 << 20, owners
END
ok "reports, a dump, status"

# A reset forgets what was mapped; off, nothing counts as mapped.
try 0 "$mallow" reset --wait 60 "$pid"
step a w
holds "$pid" inuse_mapped map_whole $((24 * mib))
holds "$pid" alloc_mapped map_cut 0
try 0 "$mallow" set --wait 60 "$pid" prof_mappings=false
step a w
holds "$pid" inuse_mapped map_whole 0
holds "$pid" alloc_mapped map_whole $((24 * mib))
try 0 "$mallow" status "$pid"
says_not out 'were mapped by'
try 0 "$mallow" set --wait 60 "$pid" prof_mappings=true
step a c
holds "$pid" inuse_mapped map_cut $((12 * mib))
ok "reset, off and on"

# A dump that the process writes itself, in pprof's format.
conf=prof_mappings:true,prof_final:true,prof_sample:1,dump_name:own.pb start_ready ./mappings
step w c f m d a
exec {to}>&- {from}<&-
await 60 has_ended "$pid"
all_hold own.pb
ok "a dump of the process"

# Off, the profile has no such types.
conf=prof_state_min:0,prof_sample:1 start_ready ./mappings
step w a
try 0 "$mallow" report --json "$pid"
says_not out '_mapped'
try 2 "$mallow" report --sample-type inuse_mapped "$pid"
ok "off"

# A program that never allocates publishes its profile when it has mapped enough.
conf=prof_mappings:true,prof_state_min:20M start_ready ./mappings
has_published() { compgen -G "/dev/shm/mallow-$(id -u)/$pid.*" >/dev/null; }
step m d
has_published && fail "published at once"
step w
has_published || fail "a program that maps and does not allocate publishes nothing"
holds "$pid" inuse_mapped map_whole $((24 * mib))
ok "without allocations"
