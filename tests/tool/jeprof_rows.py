#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jeprof_rows.py text|dot THEIRS OURS: what jeprof and mallow under its name say of a profile of
inlined C++ or Rust code. jeprof knows inlined calls from line tables, names them without their
types, and sums those up; what is compared are functions that were called, and the calls between
them, where the name without types is one function's. Prints how many were equal; status 1: one is
not."""
import collections
import re
import sys


def bare(name):
    """Without template arguments, symbol versions and what jeprof marks inlined calls with."""
    name = re.sub(r"(?:::)?\(inline\)|@@.*", "", name).strip()
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name


def rows(text):
    for found in re.finditer(r"^ *(-?\d+) +\S+ +\S+ +(-?\d+) +\S+ (.*)$", text, re.M):
        yield bare(found[3]), int(found[2]), "(inline)" in found[3]


def nodes(text):
    """Number of the node, name, cumulative sum, whether inlined."""
    for number, label, rest in re.findall(r'^(N\d+) \[label="(.*?)"(.*)', text, re.M):
        tooltip = re.search(r'tooltip="(.*?)"', rest)
        *words, last = re.split(r"\\n(?!of )", label)
        name = re.sub(r" \(-?[.\d]+\w*\)$", "", tooltip[1]) if tooltip else "::".join(words)
        sums = re.findall(r"(-?\d+)B? \(", last)
        if sums:
            yield number, bare(name), int(sums[-1]), "(inline)" in name


def facts(view, text):
    """Name, or caller and callee: bytes of each; None if there are several or one was inlined."""
    if view == "text":
        found, edges = list(rows(text)), []
    else:
        known = list(nodes(text))
        found = [node[1:] for node in known]
        names = {number: name for number, name, *_ in known}
        edges = re.findall(r'^(N\d+) -> (N\d+) \[label="? ?(-?\d+)', text, re.M)
    count = collections.Counter(name for name, *_ in found)
    single = {name: total for name, total, inlined in found if count[name] == 1 and not inlined}
    for caller, callee, value in edges:
        if names.get(caller) in single and names.get(callee) in single:
            single[names[caller], names[callee]] = int(value)
    return single


view, *files = sys.argv[1:]
theirs, ours = (facts(view, open(file).read()) for file in files)
shared = [key for key in theirs if key in ours]
for key in shared:
    if theirs[key] != ours[key]:
        sys.exit(f"{key}: {ours[key]}, jeprof: {theirs[key]}")
print(len(shared))
