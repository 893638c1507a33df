#!/bin/bash
# SPDX-License-Identifier: MIT
# json.sh BUILD_DIR -- every view's --json: it is as doc/reference/mallow.schema.json says, which
# describes each member, and has the numbers of the program.
source "$(dirname "$0")/lib.bash"
needs python3

cat >made.c <<'CODE'
#include <stdlib.h>
void *keep(size_t size) { return malloc(size); }
int main(void) {
	for (int i = 0; i < 300; i++)
		if (keep(1000) == NULL || (i % 3 == 0 && (free(keep(100)), 0)))
			return 1;
	return 0;
}
CODE
cc -g -O0 -fno-builtin -o made made.c || fail "made.c does not compile"
MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_keep:true LD_PRELOAD=$build/lib/libmallow.so \
    ./made &
started+=("$!")
wait "$!" || fail "made does not run"
target=${started[0]}

cat >check.py <<'CODE'
import json, re, sys
view = sys.argv[1]
data = json.load(sys.stdin)
if view == "speedscope":
    assert data["profiles"][0]["endValue"] == sum(data["profiles"][0]["weights"]) > 300000
    sys.exit()
if view == "flame":
    assert len(data["parents"]) == len(data["labels"]) == len(data["values"][0])
    sys.exit()
assert data["view"] == view and data["program"] == "made", data
blocks = 300 * 1024
def entry(of, name):
    found = [e for e in data[of] if e["name"] == name]
    assert len(found) == 1, (name, data[of])
    return found[0]
if view in ("top", "tree", "peek", "graph"):
    keep = entry("rows" if view == "top" else "nodes", "keep")
    assert keep["flat"] == keep["cum"] == blocks, keep
if view in ("tree", "peek"):
    assert keep["callers"] == [{"value": blocks, "name": "main"}] and keep["callees"] == [], keep
if view == "graph":
    edge = [e for e in data["edges"] if e["callee"] == keep["id"]]
    assert edge == [{"caller": entry("nodes", "main")["id"], "callee": keep["id"],
                     "value": blocks}], edge
if view == "traces":
    stacks = [s for s in data["stacks"] if s["frames"][0]["name"] == "keep"]
    assert sum(s["value"] for s in stacks) == blocks, stacks
    assert stacks[0]["frames"][0]["line"] == 2 and stacks[0]["frames"][1]["name"] == "main", stacks
if view == "sizes":
    assert {"key": "bytes", "tag": 1024, "unit": "bytes", "value": blocks} in data["tags"], data
if view == "threads":
    assert data["tags"][0]["name"] == "made" and data["tags"][0]["value"] >= blocks, data
if view == "lifetimes":
    assert sum(t["value"] for t in data["tags"]) >= 100, data
if view == "disasm":
    function = data["functions"][0]
    assert function["name"] == "keep" and function["flat"] == function["cum"] == blocks, function
    held = [i for i in function["instructions"] if i["flat"]]
    assert len(held) == 1 and held[0]["flat"] == blocks and "<malloc@plt>" in held[0]["text"], held
    assert held[0]["line"] == 2 and held[0]["file"] == "made.c" and held[0]["name"] == "keep", held
if view in ("list", "weblist"):
    function = data["functions"][0]
    assert function["name"] == "keep" and function["cum"] == blocks, function
    line = next(line for line in function["lines"] if line["flat"] == blocks)
    assert line["line"] == 2 and line["text"] == open("made.c").read().split("\n")[1], line
if view == "weblist":
    assert sum(i["flat"] for i in line["instructions"]) == blocks, line
    assert len(line["instructions"]) > 3, line
    assert "note" not in data, data
if view == "raw":
    location = {l["id"]: l for l in data["locations"]}
    column = [t["type"] for t in data["types"]].index("inuse_space")
    top = [s["values"][column] for s in data["samples"]
           if location[s["locations"][0]]["lines"]
              and location[s["locations"][0]]["lines"][0]["name"] == "keep"]
    assert sum(top) == blocks, top
    assert all(int(l["address"], 16) >= 0 for l in data["locations"])
if view == "comments":
    assert "program: made" in data["comments"], data
CODE

python3 -c 'import jsonschema' 2>/dev/null || leave_out \
    "python3-jsonschema is not installed: no JSON was held against its schema"

# Of the table of views, so that none is forgotten.
mapfile -t views < <(sed -n 's/^MW_VIEW[A-Z_]*(\([a-z]*\),.*/\1/p' \
    "$here/../../tools/mallow/cmd/profile/views.def")
[ ${#views[@]} -gt 10 ] || fail "views.def is not as it was"
for view in "${views[@]}"; do
    words=("$view")
    case $view in
    list | peek | disasm | weblist) words+=('^keep$' "$target") ;;
    diff) words+=("$target" "$target") ;;
    callgrind | collapsed | proto | topproto)
        try 2 "$mallow" "$view" --json "$target"
        says err "$view has no JSON form; 'mallow [a-z]+ --json"
        continue
        ;;
    *) words+=("$target") ;;
    esac
    try 0 "$mallow" "${words[@]}" --json
    python3 check.py "$view" <out >checked 2>&1 || fail "$view: $(tail -2 checked)"
    [ "$view" = speedscope ] || valid "$view"
    cp out direct
    try 0 "$mallow" "${words[@]}" -o "out.$view.json"
    [ "$view" = speedscope ] || cmp -s direct "out.$view.json" ||
        fail "$view -o differs from --json"
done
ok "the JSON of every view"

# The ages are sums over bytes in use, of decades.
try 0 "$mallow" flame --ages --json "$target"
valid flame
python3 - out <<'END' || fail "ages"
import json, sys
data = json.load(open(sys.argv[1]))
live = data["values"][[one["name"] for one in data["types"]].index("inuse_space")]
assert len(data["ages"]) == len(live) and live[0] > 0
for age, bytes in zip(data["ages"], live):
    assert 0 <= age <= 10 * bytes, (age, bytes)
assert data["ages"][0] > 0
END
ok "the ages of frames"

# The times of allocation add up to what is in use, of each row and of all.
try 0 "$mallow" top --births --json "$target"
valid top
python3 - out <<'END' || fail "births"
import json, sys
data = json.load(open(sys.argv[1]))
assert data["births_from_ns"] < data["births_until_ns"] == data["time_ns"], data
for row in data["rows"][:20] + [{"births": data["births"], "flat": data["total"]}]:
    assert len(row["births"]) == 60 and row["births"] == sorted(row["births"]), row
    assert row["births"][-1] == row["flat"], row
assert all("births" not in row for row in data["rows"][20:])
END
try 0 "$mallow" top --json "$target"
says_not out births
ok "when the memory in use was allocated"

# Other subcommands.
page=$here/../../doc/reference
try 0 "$mallow" report --json "$target"
valid report
try 1 "$mallow" check --max-live 1000 --format json "$target"
valid check
try 0 "$mallow" ls --all --json
valid ls
try 0 "$mallow" status --json "$target"
valid status
try 0 "$mallow" map --json "$target"
valid map
"$mallow" advise --json "$target" >out 2>err
valid advise
"$mallow" doctor --json >out 2>err
valid doctor
try 0 "$mallow" timeline --json "$target"
valid timeline
ok "the JSON of report, check, ls, status, map, doctor and timeline"

# The JSON of what was sampled tells how accurate its total is.
MALLOW_CONF=prof_seed:5 "$mallow" run --rate 4K -o sampled.pb.gz -- ./made 2>err ||
    fail "made does not run"
try 0 "$mallow" top --focus keep --json sampled.pb.gz
valid top
python3 - <<'END' || fail "the interval of the total"
import json
d = json.load(open("out"))
assert d["mean_bytes"] == 4096 and d["time_ns"] > 1.7e18 and d["pid"] > 0, d
low, high = d["interval"]
assert low < d["selected"] <= high and low < 300 * 1024 < high, d
END
ok "the interval of a total"

# Each member of the schema is described there, and named on the page.
python3 - "$page" <<'END' >err 2>&1 || fail "the page and the schema"
import json, re, sys
folder = sys.argv[1]
named = set(re.findall(r"`([a-z_]+)`", open(f"{folder}/json.md").read()))
def walk(schema):
    if isinstance(schema, list):
        for entry in schema:
            walk(entry)
    if not isinstance(schema, dict):
        return
    for name, member in (schema.get("properties") or {}).items():
        assert name in named, f"json.md does not name {name}"
        described = member.get("description") or "const" in member
        assert described, f"the schema does not describe {name}"
    for member in schema.values():
        walk(member)
schema = json.load(open(f"{folder}/mallow.schema.json"))
walk(schema["$defs"])
assert len(schema["anyOf"]) > 20
END
ok "every member is described"
