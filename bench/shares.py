#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shares.py BUILD_DIR [OPTIONS] -- where the time that sampling takes goes: the share of the processor's
time that bench/workloads' programs spend in the functions of the profiler, by what they do.  By samples of
the program counter (perf record), so that it holds on a busy machine, where the time of one run to another's
says little.  What a program itself loses to colder caches is not in it.  OPTIONS are the library's, "" at first.
Writes a table in Markdown."""
import bisect
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
options = sys.argv[2] if len(sys.argv) > 2 else ""
library = build + "/lib/libmallow.so"

WORKLOADS = ["slots 1 any", "slots 2 any", "slots 1 wide", "slots 1 skewed", "large medium", "interfaces calloc", "handover pipe",
             "exchange wide", "threads leaving", "containers maps", "terms trees", "json", "bignum", "cubes"]
# What a source file of src/ has to do with sampling; those that are not here would run without it.
PARTS = {
    "walk": ["prof/unwind", "prof/unwind_trail", "prof/unwind_cache", "prof/watch", "os/stack", "prof/recall"],
    "rules": ["prof/unwind_resolve", "prof/unwind_rule", "prof/unwind_cfi", "prof/unwind_program", "prof/unwind_expr", "os/object",
              "os/object_loaded", "prof/modules", "prof/module_elf", "prof/depot", "prof/index"],
    "sums": ["prof/records", "prof/lives", "prof/peak", "prof/image", "prof/mirror", "prof/gate"],
    "places": ["heap/sampled", "heap/guarded"],
    "draws": ["prof/sampler", "base/math", "base/rng"],
    "around": ["prof/sample", "prof/prof", "prof/control", "prof/threads", "prof/triggers", "os/ticks", "os/clock"],
    "ticks": ["prof/journal", "prof/survey", "heap/survey", "heap/counts", "prof/state_file", "prof/stale", "os/proc"],
}
part_of_file = {file: part for part, files in PARTS.items() for file in files}


def names_of(path):
    """(address, name) of the functions, in order."""
    rows = subprocess.run(["nm", "-n", "--defined-only", path], check=True, capture_output=True, text=True).stdout.split("\n")
    return [(int(row.split()[0], 16), row.split()[2]) for row in rows if len(row.split()) == 3 and row.split()[1] in "tT"]


def parts_by_address():
    """The part that each function of the library belongs to.  Names that several files have are those of the
    file that the function before them is from: a file's functions lie together."""
    files = collections.defaultdict(set)
    for path in glob.glob(build + "/src/own_text/*.o"):
        for _, name in names_of(path):
            files[name].add(os.path.basename(path)[:-2].replace("_", "/", 1))
    last, result = "", {}
    for address, name in names_of(library):
        candidates = files.get(name, {last})
        last = last if last in candidates else sorted(candidates)[0]
        result[address] = part_of_file.get(last)
    return result


def program_counters(data):
    """(process, address, library's name) of each sample; and where each process has the library's code."""
    text = subprocess.run(["perf", "script", "-i", data, "--show-mmap-events", "-F", "comm,pid,ip,event,dso"], check=True,
                          capture_output=True, text=True).stdout
    samples, starts = [], {}
    for line in text.split("\n"):
        mapped = re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (\S+) .*r-xp .*libmallow", line)
        sampled = re.match(r"\s*(\S.*?)\s+(\d+) .*cpu-clock\S*\s+([0-9a-f]+).*\((\S*)\)$", line)
        if mapped:
            starts[int(mapped.group(1))] = int(mapped.group(2), 16) - int(mapped.group(3), 0)
        elif sampled:
            samples.append((sampled.group(1), int(sampled.group(2)), int(sampled.group(3), 16), sampled.group(4)))
    return samples, starts


def shares(command, parts):
    addresses = sorted(parts)
    with tempfile.TemporaryDirectory() as folder:
        data = folder + "/perf.data"
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", data, "--", "env", "LD_PRELOAD=" + library,
                        "MALLOC_CONF=" + options, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        samples, starts = program_counters(data)
    counts, total = collections.Counter(), 0
    for name, process, counter, where in samples:
        if name != os.path.basename(command[0])[:15]:
            continue
        total += 1
        if where.endswith("libmallow.so"):
            counts[parts[addresses[bisect.bisect(addresses, counter - starts[process]) - 1]]] += 1
    return {part: counts[part] / total for part in PARTS}


print("| workload | " + " | ".join(PARTS) + " | all |")
print("|---" * (len(PARTS) + 2) + "|")
parts = parts_by_address()
sums = []
for workload in WORKLOADS:
    words = workload.split()
    share = shares([os.path.join(build, "bench/workloads", words[0]), *words[1:]], parts)
    sums.append(sum(share.values()))
    print(f"| {workload} | " + " | ".join(f"{100 * share[part]:.1f}" for part in PARTS) + f" | {100 * sums[-1]:.1f} % |", flush=True)
print("| mean |" + " |" * len(PARTS) + f" {100 * sum(sums) / len(sums):.1f} % |")
