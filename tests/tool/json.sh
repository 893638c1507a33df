#!/bin/bash
# SPDX-License-Identifier: MIT
# json.sh BUILD_DIR -- every view's --json: it has the members that all have and none that doc/reference/json.md does not
# name, and the numbers of the program.
source "$(dirname "$0")/lib.bash"

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
MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_keep:true LD_PRELOAD=$build/lib/libmallow.so ./made &
started+=("$!")
wait "$!" || fail "made does not run"
target=${started[0]}

cat >check.py <<'CODE'
import json, re, sys
page, view = sys.argv[1:]
known = set(re.findall(r"`([a-z_]+)`", open(page).read()))
def walk(value):
    if isinstance(value, dict):
        assert set(value) <= known, f"not in doc/reference/json.md: {set(value) - known}"
        value = list(value.values())
    for member in value if isinstance(value, list) else []:
        walk(member)
data = json.load(sys.stdin)
if view == "speedscope":
    assert data["profiles"][0]["endValue"] == sum(data["profiles"][0]["weights"]) > 300000
    sys.exit()
walk(data)
if view == "flame":
    assert len(data["parents"]) == len(data["labels"]) == len(data["values"][0])
    sys.exit()
assert data["view"] == view and data["program"] == "made", data
assert {"type", "unit", "total"} <= set(data)
blocks = 300 * 1024
def entry(of, name):
    found = [e for e in data[of] if e["name"] == name]
    assert len(found) == 1, (name, data[of])
    return found[0]
if view in ("top", "tree", "peek", "graph"):
    keep = entry("rows" if view == "top" else "nodes", "keep")
    assert keep["flat"] == keep["cum"] == blocks, keep
if view in ("tree", "peek"):
    assert keep["callers"] == [{"weight": blocks, "name": "main"}] and keep["callees"] == [], keep
if view == "graph":
    edge = [e for e in data["edges"] if e["callee"] == keep["id"]]
    assert edge == [{"caller": entry("nodes", "main")["id"], "callee": keep["id"], "weight": blocks}], edge
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
    assert sum(i["flat"] for i in line["instructions"]) == blocks and len(line["instructions"]) > 3, line
    assert "note" not in data, data
if view == "raw":
    location = {l["id"]: l for l in data["locations"]}
    column = [t["type"] for t in data["types"]].index("inuse_space")
    top = [s["values"][column] for s in data["samples"]
           if location[s["locations"][0]]["lines"] and location[s["locations"][0]]["lines"][0]["name"] == "keep"]
    assert sum(top) == blocks, top
    assert all(int(l["address"], 16) >= 0 for l in data["locations"])
if view == "comments":
    assert "program: made" in data["comments"], data
CODE

# Of the table of views, so that none is forgotten.
mapfile -t views < <(sed -n 's/^MW_VIEW\(_LIVE\)\?(\([a-z]*\),.*/\2/p' "$here/../../tools/mallow/cmd/profile/views.def")
[ ${#views[@]} -gt 10 ] || fail "views.def is not as it was"
for view in "${views[@]}"; do
    words=("$view")
    case $view in
    list | peek | disasm | weblist) words+=('^keep$' "$target") ;;
    diff) continue ;; # of two
    callgrind | collapsed | proto | topproto)
        try 2 "$mallow" "$view" --json "$target"
        says err "$view: there is no JSON of it; 'mallow [a-z]+ --json"
        continue
        ;;
    *) words+=("$target") ;;
    esac
    try 0 "$mallow" "${words[@]}" --json
    python3 check.py "$here/../../doc/reference/json.md" "$view" <out >checked 2>&1 || fail "$view: $(tail -2 checked)"
    cp out direct
    try 0 "$mallow" "${words[@]}" -o "out.$view.json"
    [ "$view" = speedscope ] || cmp -s direct "out.$view.json" || fail "$view -o differs from --json"
done
ok "the JSON of every view"

# Of other subcommands: a schema of types, and no member that the page does not name.
cat >schema.py <<'CODE'
import json, re, sys
page, what = sys.argv[1:]
known = set(re.findall(r"`([a-z_]+)`", open(page).read()))
number, text, flag = (int, float), str, bool
frame = {"name": text, "file?": text, "line?": number}
share = {"objects": number, "bytes?": number, "size?": number, "name?": text, "id?": number, "age?": text,
         "lifetime?": text}
stack = {t: number for t in ("inuse_objects inuse_space inuse_requested inuse_samples alloc_objects alloc_space "
         "alloc_requested alloc_samples peak_objects peak_space freed_objects freed_elsewhere temporary_objects "
         "lifetime pinned_space").split()}
stack |= {"interval?": [number], "frames": [frame], "sizes": [share], "alloc_sizes": [share], "threads": [share],
          "ages": [share], "lifetimes": [share]}
schemas = {
    "report": {"view": text, "program": text, "pid": number, "time": number, "killed": flag, "mean_bytes": number,
               "stops": number, "unseen_seconds": number, "seen_share": number, "type": text, "unit": text,
               "total": number, "interval?": [number], "stack_count": number, "stacks": [stack]},
    "check": {"profile": text, "passed": flag,
              "limits": [{"name": text, "passed": flag, "measured": number, "allowed": number, "low": number,
                          "high": number, "baseline?": number, "stack_count": number,
                          "stacks": [{"bytes": number, "frames": [frame]}]}],
              "suppressions": [{"pattern": text, "bytes": number, "objects": number}],
              "kept_by_libraries": [{"name": text, "bytes": number, "objects": number}]},
    "ls": [{"pid": number, "pid_namespace": number, "program": text, "title": text, "state": text, "active": flag,
            "mean_bytes": number, "live_bytes": number, "samples": number, "started": number, "updated": number,
            "uid": number, "session": text, "state_file": text}],
}
def check(value, schema, where):
    if isinstance(schema, dict):
        needed = {name for name in schema if not name.endswith("?")}
        allowed = {name.rstrip("?"): kind for name, kind in schema.items()}
        assert needed <= set(value) <= set(allowed), (where, needed ^ set(value))
        assert set(allowed) <= known, f"not in doc/reference/json.md: {set(allowed) - known}"
        for name in value:
            check(value[name], allowed[name], f"{where}.{name}")
    elif isinstance(schema, list):
        assert isinstance(value, list), where
        for entry in value:
            check(entry, schema[0], f"{where}[]")
    else:
        assert isinstance(value, schema) and (schema is bool or not isinstance(value, bool)), (where, value)
data = json.load(open("out"))
check(data, schemas[what], what)
assert data and (what != "report" or data["stacks"]) and (what != "check" or data["limits"][0]["stacks"])
CODE
page=$here/../../doc/reference/json.md
try 0 "$mallow" report --json "$target"
python3 schema.py "$page" report 2>err || fail "report --json"
try 1 "$mallow" check --max-live 1000 --format json "$target"
python3 schema.py "$page" check 2>err || fail "check --format json"
try 0 "$mallow" ls --all --json
python3 schema.py "$page" ls 2>err || fail "ls --json"
ok "the JSON of report, check and ls"
