#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures.py SOURCE_DIR -- figures in README.md, doc/user/production.md and
doc/measurements/goals.md are the ones of the pages of doc/measurements that they were taken from.

Three comparisons:
- SAME lists figures that stand in several files: the first place is the measurement, the others
  repeat it.  Each row of the table of figures in README.md needs a row here.
- WORKLOADS lists sections of goals.md; each `workload` with a ratio is looked up in the table of
  workloads.md.
- Each share in production.md ("0.2 %") is in SAME or in LIMITS.

translations.py compares the figures of Chinese pages with those of the English pages."""
import os
import re
import sys

README, PRODUCTION = "README.md", "doc/user/production.md"
PAGE = "doc/measurements/"
LIBRARY, GOALS = PAGE + "README.md", PAGE + "goals.md"
WORKLOAD_ROWS, RATIOS, READING = PAGE + "workloads.md", PAGE + "benchmark.md", PAGE + "reading.md"
N = r"([0-9.]+)"


def share(text):
    """A ratio on to off as a share: 1.002 is 0.2 %."""
    return f"{(float(text) - 1) * 100:.1f}"


def mean_row(after, columns):
    """The cells of the row of geometric means in the table behind this heading."""
    cells = [rf"\W*{N}[^|]*" if column else r"[^|]*" for column in columns]
    return re.escape(after) + r"(?:(?!\n#)[^\0])*?\| \W*geometric mean\W*\|" + r"\|".join(cells)


def mallow_last(mallow, *peers):
    """README.md's order of means in the order of benchmark.md's columns."""
    return (*peers, mallow)


# Each: the place of the measurement, then the places that repeat it.  A place is a file, a pattern
# whose groups are the figures, perhaps share or mallow_last for a repeated form, and perhaps which
# of the measured figures are repeated.
PAIR = r"\| malloc\(64\) and free, instructions: sampling off; on \| " + f"{N}; {N} "
SAME = [
    ((LIBRARY, PAIR), (README, PAIR)),
    ((LIBRARY, rf"\| the same: jemalloc [^|]*\| {N}; {N}; {N} "),
     (README, rf"\| jemalloc 5.3.0; mimalloc 2.0.9; mimalloc [^|]*\| {N}; {N}; {N} ")),
    ((LIBRARY, rf"\| free of another thread's block, [^|]*\| {N}; {N} "),
     (README, rf"\| free of another thread's block, [^|]*\| {N}; {N} ")),
    ((RATIOS, mean_row("### Processor time", (0, 1, 1, 1, 1))),
     (README, rf"\| processor time of \d+ workloads: [^|]*\| {N}; {N}; {N}; {N} of glibc",
      mallow_last)),
    ((RATIOS, mean_row("### Peak resident memory", (0, 1, 1, 1, 1))),
     (README, rf"\| peak memory of \d+ workloads, [^|]*\| {N}; {N}; {N}; {N} of glibc",
      mallow_last)),
    ((RATIOS, mean_row("### Processor time", (0, 0, 0, 0, 1))),
     (WORKLOAD_ROWS, mean_row("# Time and memory", (1,)))),
    ((RATIOS, mean_row("### Peak resident memory", (0, 0, 0, 0, 1))),
     (WORKLOAD_ROWS, mean_row("# Time and memory", (0, 0, 0, 1)))),
    ((WORKLOAD_ROWS, mean_row("# Time and memory", (1, 1, 0, 1, 1))),
     (GOALS, rf"processor time {N}\s+of glibc \(goal: [^)]*\) and {N} of the best peer",
      None, slice(0, 2)),
     (GOALS, rf"\n{N} of mimalloc in the geometric mean", None, slice(3, 4))),
    ((WORKLOAD_ROWS, mean_row("# Time and memory", (0, 0, 1))),
     (README, rf"\| processor time, sampling on to off \| {N} "),
     (GOALS, rf"Measured: {N} % \(geometric mean\)", share),
     (PRODUCTION, rf"against off: {N} % of processor time", share)),
    ((WORKLOAD_ROWS, mean_row("# Time and memory", (0, 0, 0, 0, 0, 1))),
     (GOALS, rf"Memory for samples is {N} %", share),
     (PRODUCTION, rf"and {N} % of peak memory", share)),
    ((GOALS, rf"Measured: processor time {N} and peak memory {N} of the best peer"),
     (README, rf"\| blocks freed by other threads: [^|]*\| {N}; {N} of the best peer")),
    ((GOALS, rf"- Above 1.00 in memory: bursts {N} "),
     (README, rf"take up to {N} times\s+the\s+best peer's memory")),
    *(((LIBRARY, rf"\n\| (?:time against glibc: )?{program} \| {N} "),
       (README, r"\| time of git; node; perl; redis-server; PostgreSQL \| " + before + f"{N}[; ]"))
      for program, before in (("git", ""), ("node", "[0-9.]+; "), ("perl", "(?:[0-9.]+; ){2}"),
                              ("redis-server, redis-benchmark", "(?:[0-9.]+; ){3}"),
                              ("PostgreSQL, pgbench", "(?:[0-9.]+; ){4}"))),
    ((LIBRARY, r"\| a process with one small block, [^|]*\| (\d+) to (\d+) KiB"),
     (README, r"\| resident memory of a process with one small block \| (\d+) to (\d+) KiB")),
    ((READING, rf"\| mallow, cold \| {N} [^\n]*\n\| mallow, warm \| {N} [^\n]*\n\| jeprof \| {N} "),
     (README, rf"\| 20,000 stacks named by line: [^|]*\| {N} s; {N} s; {N} s"),
     (LIBRARY, rf"\| 20,000 stacks of a program [^|]*\| {N} s; {N} s", None, slice(0, 2)),
     (LIBRARY, rf"\| jeprof on the same profile \| {N} s", None, slice(2, 3))),
]

# Heading in goals.md, column of workloads.md: the name is column 0.
WORKLOADS = [("At most 1.10 of the best peer in time", 2), ("Sampling at T = 512 KiB", 3),
             ("Peak memory of the best peer", 5)]
# Shares in production.md that are limits, not measurements: prof_cost_limit, prof_guard_gap.
LIMITS = {"0.5", "0.1"}
# In this sentence the shares name a range of workloads, which goals.md lists.
RANGE = r"on some of them [0-9]+ to [0-9]+ % of time"


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def find(name, pattern):
    """The only match, or None."""
    matches = list(re.finditer(pattern, read(name)))
    return matches[0] if len(matches) == 1 else None


def compare_same(bad, seen):
    for (source, pattern), *places in SAME:
        measured = find(source, pattern)
        if not measured:
            bad.append(f"{source}: no measurement, or several, for {pattern}")
            continue
        for name, where, *how in places:
            change, part = how[0] if how else None, how[1] if len(how) > 1 else slice(None)
            found = find(name, where)
            if not found:
                bad.append(f"{name}: no figure, or several, for {where}")
                continue
            seen.setdefault(name, []).append(found.span())
            values = measured.groups()[part]
            wanted, got = values, found.groups()
            if change is share:
                wanted = tuple(share(value) for value in values)
            elif change:
                got = change(*got)
            if wanted != got:
                bad.append(f"{name}: {'; '.join(got)}, but {source} has {'; '.join(wanted)}")


def workload_rows():
    rows = {}
    for line in read(WORKLOAD_ROWS).split("\n"):
        cells = [re.sub(r" \(.*", "", cell.strip()) for cell in line.strip("|").split("|")]
        if len(cells) == 7:
            rows[cells[0]] = cells
    return rows


def compare_workloads(bad):
    rows, text = workload_rows(), read(GOALS)
    for heading, column in WORKLOADS:
        begin = text.find("## " + heading)
        section = text[begin:text.find("\n## ", begin)]
        pairs = re.findall(rf"`([^`]+)`\s+{N}\b", section)
        pairs += re.findall(rf"\n\| ([a-z][^|]*) \| {N}[ |]", section)
        if begin < 0 or not pairs:
            bad.append(f"{GOALS}: no workload below: {heading}")
        for name, value in pairs:
            name, value = " ".join(name.split()), value.rstrip(".")
            if name not in rows:
                bad.append(f"{GOALS}: {name}: no such workload in {WORKLOAD_ROWS}")
            elif rows[name][column] != value:
                bad.append(f"{GOALS}: {name} {value}, but {WORKLOAD_ROWS} has "
                           f"{rows[name][column]}")


def compare_counts(bad):
    """README.md says of how many workloads its means are."""
    ratios = [row for name, row in workload_rows().items()
              if name != "workload" and not name.startswith(("-", "*"))]
    for what, column in (("processor time", 1), ("peak memory", 4)):
        count = sum(1 for row in ratios if row[column])
        found = find(README, rf"\| {what} of (\d+) workloads")
        if not found or int(found[1]) != count:
            bad.append(f"{README}: {what} is of {count} workloads in {WORKLOAD_ROWS}")


def find_unknown(bad, seen):
    """Figures that nothing was compared with."""
    text = read(README)
    table = text[text.find("<!-- figures:begin"):text.find("<!-- figures:end")]
    for line in table.split("\n")[4:]:
        start = text.find(line)
        if line and not any(start <= begin < start + len(line) for begin, _ in seen[README]):
            bad.append(f"{README}: not in figures.py: {line}")
    text = re.sub(RANGE, lambda match: " " * len(match[0]), read(PRODUCTION))
    for match in re.finditer(r"\b([0-9.]+) %", text):
        if match[1] not in LIMITS and not any(
                start <= match.start() < end for start, end in seen[PRODUCTION]):
            bad.append(f"{PRODUCTION}: not in figures.py: {match[0]}")


def main():
    os.chdir(sys.argv[1])
    bad, seen = [], {}
    compare_same(bad, seen)
    compare_workloads(bad)
    compare_counts(bad)
    find_unknown(bad, seen)
    print(*bad, sep="\n", end="\n" if bad else "")
    print(f"{sum(map(len, seen.values()))} repeated figures, {len(bad)} findings")
    return 1 if bad else 0


sys.exit(main())
