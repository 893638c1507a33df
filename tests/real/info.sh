#!/bin/bash
# SPDX-License-Identifier: MIT
# info.sh BUILD_DIR -- malloc_info(), malloc_stats() and mallopt() look and answer as glibc's.
set -euo pipefail
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || exit 77
program=$build/tests/programs/info
"$program" shape >"$work/glibc" 2>"$work/glibc.stats"
LD_PRELOAD=$build/lib/libmallow.so "$program" shape >"$work/mallow" 2>"$work/mallow.stats"
python3 - "$work" <<'END'
import re
import sys
import xml.etree.ElementTree as tree

def shape(element, path, seen):
    """Elements, their attributes and fixed values; those of which there may be many count once."""
    key = (path + "/" + element.tag, element.get("type"), tuple(sorted(element.keys())))
    if key not in seen:
        seen.append(key)
    for child in element:
        shape(child, path + "/" + element.tag, seen)
    return seen

def read(name):
    text, options = open(f"{sys.argv[1]}/{name}").read().split("<options>\n")
    root = tree.fromstring(text)
    assert root.get("version") == "1"
    for heap in root.findall("heap"):
        rows = heap.findall("sizes/size")
        assert rows, "no free blocks are listed"
        for row in rows:
            low, high, total, count = (int(row.get(k)) for k in ("from", "to", "total", "count"))
            assert 0 < low <= high and count * low <= total <= count * (high + 16), row.attrib
    mapped = next(t for t in root.findall("total") if t.get("type") == "mmap")
    assert mapped.get("count") == "1" and int(mapped.get("size")) >= 20000000, mapped.attrib
    stats = open(f"{sys.argv[1]}/{name}.stats").read()
    totals = re.findall(r"^(Total.*|system bytes|in use bytes|max mmap \w+) *(?:= *\d+)?$",
                        stats[stats.index("Total"):], re.M)
    # glibc alone lists chunks that it has not sorted in yet.
    found = [s for s in shape(root, "", []) if s[0] != "/malloc/heap/sizes/unsorted"]
    return found, options, totals

glibc, mallow = read("glibc"), read("mallow")
for what, theirs, ours in zip(("malloc_info", "mallopt", "malloc_stats"), glibc, mallow):
    if theirs != ours:
        sys.exit(f"{what} differs from glibc's:\n{theirs}\n{ours}")
print("as glibc's:", len(mallow[0]), "kinds of elements,", mallow[1].count("\n"), "results")
END
