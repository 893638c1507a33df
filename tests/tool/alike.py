#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""alike.py VIEW FILE RESULT [FILE RESULT]...: writes to each RESULT what the view of pprof's,
jeprof's or mallow's in FILE says, a line a fact, sorted: how each of them words it, in which order
and with which numbers for nodes is left out."""
import collections
import re
import sys


def traces(text):
    """A stack a line: its labels, its value, its frames; without stacks of 0, which mallow leaves
    out."""
    for block in text.split("-" * 11 + "+" + "-" * 55 + "\n")[1:]:
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


def attributes(text):
    """Of a line of graphviz's: name="value" and name=value."""
    return {name: quoted or plain for name, quoted,
            plain in re.findall(r'(\w+) ?= ?(?:"((?:[^"\\]|\\.)*)"|([^\s\]"]+))', text)}


def looks(a, *names):
    return " ".join(f"{name}={a[name]}" for name in names if name in a)


def dot(text):
    """A line for each node, edge and box of labels (names, values, sizes, colours) and for each
    line of the legend."""
    names = {}
    for node, rest in re.findall(r"^(N\d+) \[(.*)\]$", text, re.M):
        a = attributes(rest)
        names[node] = re.sub(r" \([-.\d]+\w*\)$", "", a["tooltip"])
        found = re.search(r"(?:\\n|^)(-?[.\d]+[a-zA-Z]*)(?: \([-+.\de]+%\))?"
                          r"(?:(?:\\n| )of (-?[.\d]+[a-zA-Z]*) \([-+.\de]+%\))?$", a["label"])
        values = f"{found[1]} of {found[2] or found[1]}" if found else f"? {a['label']}"
        yield f"{names[node]}: {values} {looks(a, 'fontsize', 'color', 'fillcolor')}"
    for box, rest in re.findall(r"^(N\w+_\d+) \[(.*)\]$", text, re.M):
        a = attributes(rest)
        # pprof's label is whole, mallow's tooltip.
        names[box] = a["label"] if re.match(r"-?[.\d]+\w*$",
                                            a["tooltip"]) else re.sub(r" \([-.\d]+\w*\)$", "",
                                                                      a["tooltip"])
        if a["shape"] != "box3d" or a["fontsize"] != "8":
            yield f"{names[box]}: {looks(a, 'shape', 'fontsize')}"
    parents = {box: parent for parent, box in re.findall(r"^(N\w+) -> (N\w+_\d+) \[", text, re.M)}
    for caller, callee, rest in re.findall(r"^(N\w+) -> (N\w+) \[(.*)\]$", text, re.M):
        a = attributes(rest)
        # Nodes that -drop_negative leaves out are one without a name in pprof's pictures.
        if callee == "N0":
            continue
        if "_" in callee:
            on = f"{names[parents[caller]]}, {names[caller]}" if "_" in caller else names[caller]
            yield f"{on} has {names[callee]}: {a['label']} {looks(a, 'weight', 'style')}"
        else:
            yield (f"{names[caller]} -> {names[callee]}: {a['label']} {a['tooltip']} "
                   + looks(a, "weight", "penwidth", "color", "style", "minlen"))
    legend = re.search(r'^subgraph cluster_L \{.*? \[.*?label="((?:[^"\\]|\\.)*)"', text, re.M)[1]
    for line in re.split(r"\\l", legend):
        # pprof counts edges that it left out only where the number of nodes is limited.
        if re.match(r"Type|Active|   |Showing|Dropped .* nodes?", line):
            yield line


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
            line_at = line_at + int(
                number) if number[0] in "+-" else line_at if number == "*" else int(number)
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
        # Newer pprofs write a column, which mallow's profiles do not have.
        line = re.sub(r"(:\d+):0( s=\d+)", r"\1\2", " ".join(line.split()))
        yield line.replace(" ./", " ").replace(" M=0 ", " ")


facts = {"traces": traces, "dot": dot, "callgrind": callgrind, "raw": raw}[sys.argv[1]]
for source, result in zip(sys.argv[2::2], sys.argv[3::2]):
    with open(source) as text, open(result, "w") as lines:
        lines.write("\n".join(sorted(facts(text.read()))) + "\n")
