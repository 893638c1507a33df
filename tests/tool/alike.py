#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""alike.py VIEW FILE: what a view of pprof's, jeprof's or mallow's says, a line a fact, sorted: how each of
them words it, in which order and with which numbers for nodes is left out."""
import collections
import re
import sys


def traces(text):
    """A stack a line: its labels, its value, its frames.  Stacks of 0, which mallow leaves out, are left out."""
    for block in text.split("-----------+-------------------------------------------------------\n")[1:]:
        labels, value, frames = [], None, []
        for line in block.splitlines():
            label = re.match(r" *(\S+):  (.*)$", line)
            if value is None and label:
                labels.append(f"{label[1]}={label[2].strip()}")
            elif line[:10].strip() and value is None:
                value = line[:10].strip()
                frames.append(line[13:])
            elif line.strip():
                frames.append(line.strip())
        if value not in (None, "0"):
            yield " | ".join([",".join(sorted(labels)), value, *frames])


def dot(text):
    """A node a line: name, flat, cum; and an edge a line: caller, callee, value."""
    names = {}
    for node, label, tooltip in re.findall(r'^(N\d+) \[label="(.*?)" .*?tooltip="(.*?)"', text, re.M):
        names[node] = re.sub(r" \([-.\d]+\w*\)$", "", tooltip)
        found = re.search(r"(?:\\n|^)(-?[.\d]+[a-zA-Z]*)(?: \([-.\d]+%\))?(?:(?:\\n| )of (-?[.\d]+[a-zA-Z]*) \([-.\d]+%\))?$", label)
        yield f"{names[node]}: {found[1]} of {found[2] or found[1]}" if found else f"{names[node]}: ? {label}"
    for caller, callee, label in re.findall(r'^(N\d+) -> (N\d+) \[label=" ?(.*?)(?:\\n \(inline\))?"', text, re.M):
        yield f"{names[caller]} -> {names[callee]}: {label}"


def place(file, function, line):
    """What has no name is worded in three ways."""
    has_name = not re.search(r"\[[^]]+\]$", function)
    return f"{'' if file in (None, '???') else file}:{function if has_name else ''}:{line}"


def callgrind(text):
    """A line of source a line: what it holds; and a call a line: caller, callee, value."""
    known = collections.defaultdict(dict)
    at, sums, line_at, wants_call = {}, collections.Counter(), 0, None
    for line in text.splitlines():
        pair = re.match(r"(\w+)=(?:\((\d+)\))? ?(.*)$", line)
        if pair and pair[1] in ("fl", "fn", "cfl", "cfi", "cfn"):
            key = {"cfi": "cfl"}.get(pair[1], pair[1])
            if pair[2] is not None and pair[3]:
                known[key[-2:]][pair[2]] = pair[3]
            at[key] = known[key[-2:]][pair[2]] if pair[2] is not None else pair[3]
        elif line.startswith("calls="):
            wants_call = int(line.split()[-1])
        elif re.match(r"[-+*\d]", line):
            *_, number, value = line.split()
            line_at = line_at + int(number) if number[0] in "+-" else line_at if number == "*" else int(number)
            here = place(at.get("fl"), at["fn"], line_at)
            if wants_call is not None:
                here += " -> " + place(at.get("cfl", at.get("fl")), at["cfn"], wants_call)
            sums[here] += int(value)
            wants_call = None
    for where, value in sums.items():
        if value != 0:
            yield f"{where} {value}"


def raw(text):
    """A sample a line: its values and locations; a location a line without its number's width."""
    for line in text.splitlines():
        sample = re.match(r"([\d\s-]+):((?: \d+)*)\s*$", line)
        if sample:
            yield " ".join(sample[1].split()) + ":" + sample[2]
    for line in text[text.index("\nLocations"):text.index("\nMappings")].splitlines()[2:]:
        yield " ".join(line.split()).replace(" ./", " ").replace(" M=0 ", " ")


print("\n".join(sorted({"traces": traces, "dot": dot, "callgrind": callgrind, "raw": raw}[sys.argv[1]](open(sys.argv[2]).read()))))
