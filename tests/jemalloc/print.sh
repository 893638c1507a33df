#!/bin/bash
# SPDX-License-Identifier: MIT
# print.sh BUILD_DIR -- malloc_stats_print() for people is jemalloc's, line by line: the same
# sections, headings and labels, columns that end in the same places, with each letter; only the
# numbers are mallow's.
. "$(dirname "$0")/lib.sh"
need_reference
# One arena at the start, as here.
export MALLOC_CONF=prof:true,narenas:1
for letters in all g m d a b l x e h gmd gma dablxeh gmdablxeh; do
    LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_keys" "${letters#all}" >"$work/mallow.$letters"
    LD_LIBRARY_PATH=$reference "$build/tests/jemalloc_keys" "${letters#all}" \
        >"$work/jemalloc.$letters"
done
python3 - "$work" <<'EOS'
import glob, re, sys

# Of later versions than the reference's.
NEWER = re.compile(r"^extents_pinned ")
SIZED = re.compile(r"^(bins:|large: +size|extents:|                size) .*")

def ends(line):
    return [match.end() for match in re.finditer(r"\S+", line)]

def value_kind(text):
    """true and false, numbers and quoted texts are one each; so are brackets behind them."""
    text = re.sub(r"\b(true|false)\b", "B", re.sub(r'"[^"]*"', "T", text))
    return re.sub(r'-?\b\d+\b', "N", text)

def shape(path):
    """Options in order of their names, and what each other line looks like."""
    options, lines, heading = {}, [], None
    for line in open(path):
        line = line.rstrip("\n")
        option = re.match(r"  ([a-z]+\.[a-z_.0-9]+): (.*)", line)
        numbers = re.fullmatch(r"[ 0-9.]+|  +---", line)
        if option:
            # 5.3.0 says stats_print twice.
            options[option[1]] = value_kind(option[2])
        elif heading and numbers and line.strip():
            # Which sizes there are is each library's own; where their figures stand is not.
            if "---" not in line and ends(line) != heading:
                sys.exit(f"{path}: not below its heading: {line}")
        elif SIZED.match(line):
            heading = ends(line)[line[0] != " ":]
            lines.append(line)
        elif not NEWER.match(line):
            heading = None
            words = re.sub(r'(Version: ).*', r"\1", line)
            words = re.sub(r'"(secondary|disabled)"', '"dss"', words)
            # Columns: where each ends; elsewhere numbers may have any length.
            columns = ends(line) if re.search(r"\S  +\S", line) else []
            lines.append((re.sub(r" +", " ", re.sub(r"\d+", "N", words)), columns))
    return options, lines

status = 0
total = 0
for theirs_path in sorted(glob.glob(sys.argv[1] + "/jemalloc.*")):
    letters = theirs_path.rsplit(".", 1)[1]
    theirs, their_lines = shape(theirs_path)
    ours, our_lines = shape(theirs_path.replace("/jemalloc.", "/mallow."))
    shared = [name for name in ours if name in theirs]
    if shared != list(theirs):
        print(f"{letters}: options in another order, or missing: "
              f"{[n for n in theirs if n not in ours]}")
        status = 1
    for name in shared:
        if ours[name] != theirs[name]:
            print(f"{letters}: {name}: {theirs[name]}, here {ours[name]}")
            status = 1
    for i in range(max(len(their_lines), len(our_lines))):
        pair = [lines[i] if i < len(lines) else None for lines in (their_lines, our_lines)]
        if pair[0] != pair[1]:
            print(f"{letters}: line {i}:\n  {pair[0]}\n  {pair[1]}")
            status = 1
            break
    total += len(our_lines) + len(shared)
assert total > 1000, total
if status == 0:
    print(f"ok {total} lines")
sys.exit(status)
EOS
