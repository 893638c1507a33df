#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rates.py BUILD_DIR [TURNS] -- what sampling costs: mallow at T = 64 KiB and T = 512 KiB, and jemalloc at
its T = 512 KiB, each on against off, in turns.  Instructions (perf stat; they repeat to a percent) and the
processor's time, medians, of bench/workloads' programs.  Writes a table in Markdown."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
mallow = build + "/lib/libmallow.so"
jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

WORKLOADS = ["slots 1 skewed", "slots 1 any", "slots 1 wide", "blocks 1", "containers maps", "containers words",
             "terms trees", "json"]
KINDS = {
    "mallow off": (mallow, "prof:false"),
    "mallow 64K": (mallow, "prof_sample:64K"),
    "mallow 512K": (mallow, "prof_sample:512K"),
    "jemalloc off": (jemalloc, "prof:false"),
    "jemalloc 512K": (jemalloc, "prof:true,lg_prof_sample:19"),
}


def measure(command, kind):
    """Instructions in user mode, and seconds of the processor."""
    library, options = KINDS[kind]
    with tempfile.NamedTemporaryFile("r") as counts:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "-o", counts.name, "env", "LD_PRELOAD=" + library,
                        "MALLOC_CONF=" + options, *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for line in counts:
            if "instructions" in line:
                return int(line.split(",")[0]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.exit("rates: perf counts no instructions here")


def mean(ratios):
    return statistics.geometric_mean(ratios)


print("| workload | mallow, 64 KiB: instructions | time | mallow, 512 KiB: instructions | time | jemalloc, 512 KiB: instructions | time |")
print("|---|---|---|---|---|---|---|")
columns = [("mallow 64K", "mallow off"), ("mallow 512K", "mallow off"), ("jemalloc 512K", "jemalloc off")]
sums = [[] for _ in range(2 * len(columns))]
for workload in WORKLOADS:
    words = workload.split()
    command = [os.path.join(build, "bench/workloads", words[0]), *words[1:]]
    results = {kind: [] for kind in KINDS}
    for _ in range(turns):
        for kind in KINDS:
            results[kind].append(measure(command, kind))
    medians = {kind: [statistics.median(r[k] for r in rows) for k in (0, 1)] for kind, rows in results.items()}
    ratios = [medians[on][k] / medians[off][k] for on, off in columns for k in (0, 1)]
    for total, ratio in zip(sums, ratios):
        total.append(ratio)
    print(f"| {workload} | " + " | ".join(f"{r:.3f}" for r in ratios) + " |", flush=True)
print("| geometric mean | " + " | ".join(f"{mean(total):.3f}" for total in sums) + " |")
