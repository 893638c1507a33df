#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rates.py BUILD_DIR [TURNS] -- what sampling costs: mallow at T = 64 KiB and T = 512 KiB, and
jemalloc at its T = 512 KiB, each on against off, in turns. The processor's time and, where it
counts them, instructions (perf stat; they repeat to a percent), medians, of bench/workloads'
programs. Writes a table in Markdown."""
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

WORKLOADS = ["slots 1 skewed", "slots 1 any", "slots 1 wide", "blocks 1", "containers maps",
             "containers words",
             "terms trees", "json"]
KINDS = {
    "mallow off": (mallow, "prof:false"),
    "mallow 64K": (mallow, "prof_sample:64K"),
    "mallow 512K": (mallow, "prof_sample:512K"),
    "jemalloc off": (jemalloc, "prof:false"),
    "jemalloc 512K": (jemalloc, "prof:true,lg_prof_sample:19"),
}


def instructions(command, environment):
    """In user mode; None where the processor has no counters, as in many virtual machines."""
    with tempfile.NamedTemporaryFile("r") as counts:
        subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "-o", counts.name, "env",
                        *environment, *command],
                       check=True, stdout=subprocess.DEVNULL)
        for line in counts:
            if "instructions" in line and line.split(",")[0].isdigit():
                return int(line.split(",")[0])
    return None


def seconds(command, environment):
    """Of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["env", *environment, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def mean(ratios):
    return statistics.geometric_mean(ratios)


MEASURES = {"time": seconds}
if instructions(["true"], []) is not None:
    MEASURES["instructions"] = instructions
COLUMNS = [("mallow 64K", "mallow off", "mallow, 64 KiB"),
           ("mallow 512K", "mallow off", "mallow, 512 KiB"),
           ("jemalloc 512K", "jemalloc off", "jemalloc, 512 KiB")]

heads = [f"{name}: {measure}" for *_, name in COLUMNS for measure in MEASURES]
print("| workload | " + " | ".join(heads) + " |")
print("|---" * (len(heads) + 1) + "|")
sums = [[] for _ in heads]
for workload in WORKLOADS:
    words = workload.split()
    command = [os.path.join(build, "bench/workloads", words[0]), *words[1:]]
    results = {kind: {measure: [] for measure in MEASURES} for kind in KINDS}
    for _ in range(turns):
        for kind, (library, options) in KINDS.items():
            environment = ["LD_PRELOAD=" + library, "MALLOC_CONF=" + options]
            for measure, take in MEASURES.items():
                results[kind][measure].append(take(command, environment))
    ratios = [statistics.median(results[on][measure]) / statistics.median(results[off][measure])
              for on, off, _ in COLUMNS for measure in MEASURES]
    for total, ratio in zip(sums, ratios):
        total.append(ratio)
    print(f"| {workload} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |", flush=True)
print("| geometric mean | " + " | ".join(f"{mean(total):.3f}" for total in sums) + " |")
