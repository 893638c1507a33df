#!/bin/bash
# SPDX-License-Identifier: MIT
# keys.sh BUILD_DIR -- the JSON of malloc_stats_print() has all the keys that jemalloc's has, of the
# same types, and each letter leaves out what it leaves out there.
. "$(dirname "$0")/lib.sh"
need_reference
for letters in J Jg Jm Jd Ja Jb Jl Jx Je Jh Jgmdablxeh; do
    LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_keys" "$letters" >"$work/mallow.$letters"
    LD_LIBRARY_PATH=$reference "$build/tests/jemalloc_keys" "$letters" >"$work/jemalloc.$letters"
done
python3 - "$work" <<'EOS'
import glob, json, sys

def keys(value, path, found):
    """Paths of all leaves with the type of what is there; arenas by number count as one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            keys(inner, path + (("N",) if key.isdigit() else (key,)), found)
    elif isinstance(value, list):
        for inner in value[:1]:
            keys(inner, path + ("[]",), found)
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        kind = "number" if is_number else type(value).__name__
        found[".".join(path)] = kind
    return found

status = 0
counts = []
for path in sorted(glob.glob(sys.argv[1] + "/jemalloc.*")):
    letters = path.rsplit(".", 1)[1]
    theirs = keys(json.load(open(path)), (), {})
    ours = keys(json.load(open(path.replace("/jemalloc.", "/mallow."))), (), {})
    counts.append(f"{letters} {len(theirs)}")
    for key, kind in theirs.items():
        if ours.get(key) != kind:
            print(f"{letters}: {key} is a {kind}, here {ours.get(key)}")
            status = 1
    # A section that jemalloc leaves out is not here either.
    whole = keys(json.load(open(sys.argv[1] + "/jemalloc.J")), (), {})
    for key in set(whole) - set(theirs):
        if key in ours:
            print(f"{letters}: {key} should be left out")
            status = 1
print("ok keys:", ", ".join(counts)) if status == 0 else None
sys.exit(status)
EOS
