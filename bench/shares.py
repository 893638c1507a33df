#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shares.py BUILD_DIR [OPTIONS] -- what sampling spends its time on: the share of the processor's
time that bench/workloads' programs spend in the functions of the profiler, by purpose.  Measured by
samples of the program counter (perf record): shares hold on a busy machine, where a comparison of
two run times says little.  Time that a program loses to colder caches is not included.  OPTIONS are
the library's, "" if left out.
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

WORKLOADS = ["slots 1 any", "slots 2 any", "slots 1 wide", "slots 1 skewed", "large medium",
             "interfaces calloc", "handover pipe", "exchange wide", "threads leaving",
             "containers maps", "terms trees", "json", "bignum", "cubes"]
# What a source file of src/ has to do with sampling; those that are not here would run without it.
PARTS = {
    "walk": ["prof/unwind/unwind", "prof/unwind/walk_cache", "prof/unwind/rule/rule_cache",
             "prof/sample/program_hooks", "os/unwind/stack"],
    "rules": ["prof/unwind/resolve", "prof/unwind/rule/rule", "prof/unwind/cfi/cfi",
              "prof/unwind/cfi/cfi_program", "prof/unwind/cfi/cfi_expr", "os/unwind/object",
              "os/unwind/object_loaded", "prof/modules/modules", "prof/modules/module_elf",
              "prof/table/depot", "prof/store/index"],
    "sums": ["prof/table/records", "prof/table/lifetimes", "prof/table/peak", "prof/store/store",
             "prof/store/published", "prof/store/table_lock"],
    "places": ["heap/sample/sampled", "heap/sample/slot_cache", "heap/misuse/guarded"],
    "draws": ["prof/sample/sampler", "base/math", "base/rng"],
    "around": ["prof/sample_hooks", "prof/prof", "prof/control/control", "prof/sample/threads",
               "prof/control/triggers", "os/time/ticks", "os/time/clock"],
    "ticks": ["prof/store/event_log", "prof/control/heap_walk", "heap/stats/heap_walk",
              "heap/local/counts", "prof/store/state_file", "prof/store/cleanup", "os/file/proc"],
}
for listed in sum(PARTS.values(), []):
    if not os.path.exists(os.path.join(os.path.dirname(__file__), "..", "src", listed + ".c")):
        sys.exit(f"shares.py: src/{listed}.c does not exist: correct its path in the table PARTS")
part_of_file = {file: part for part, files in PARTS.items() for file in files}
# prof/unwind/cfi/cfi becomes the object prof_unwind_cfi_cfi.o.
file_of_object = {file.replace("/", "_"): file for file in part_of_file}


def names_of(path):
    """(address, name) of the functions, in order."""
    listing = subprocess.run(["nm", "-n", "--defined-only", path], check=True, capture_output=True,
                             text=True).stdout
    rows = [row.split() for row in listing.split("\n")]
    return [(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tT"]


def parts_by_address():
    """The part that each function of the library belongs to.  A name that several files have counts
    for the file of the function before it: a file's functions lie together."""
    files = collections.defaultdict(set)
    for path in glob.glob(build + "/src/own_text/*.o"):
        for _, name in names_of(path):
            files[name].add(file_of_object.get(os.path.basename(path)[:-2], ""))
    last, result = "", {}
    for address, name in names_of(library):
        candidates = files.get(name, {last})
        last = last if last in candidates else sorted(candidates)[0]
        result[address] = part_of_file.get(last)
    return result


def program_counters(data):
    """(process, address, library's name) of each sample; and where the library's code lies in each
    process."""
    text = subprocess.run(["perf", "script", "-i", data, "--show-mmap-events", "-F",
                           "comm,pid,ip,event,dso"], check=True,
                          capture_output=True, text=True).stdout
    samples, starts = [], {}
    for line in text.split("\n"):
        mapped = re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ (\S+) "
                           r".*r-xp .*libmallow", line)
        sampled = re.match(r"\s*(\S.*?)\s+(\d+) .*cpu-clock\S*\s+([0-9a-f]+).*\((\S*)\)$", line)
        if mapped:
            starts[int(mapped.group(1))] = int(mapped.group(2), 16) - int(mapped.group(3), 0)
        elif sampled:
            samples.append((sampled.group(1), int(sampled.group(2)), int(sampled.group(3), 16),
                            sampled.group(4)))
    return samples, starts


def shares(command, parts):
    addresses = sorted(parts)
    with tempfile.TemporaryDirectory() as folder:
        data = folder + "/perf.data"
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", data, "--",
                        "env", "LD_PRELOAD=" + library, "MALLOC_CONF=" + options, *command],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        samples, starts = program_counters(data)
    counts, total = collections.Counter(), 0
    for name, process, counter, where in samples:
        if name != os.path.basename(command[0])[:15]:
            continue
        total += 1
        if os.path.basename(where).startswith("libmallow.so"):
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
    print(f"| {workload} | " + " | ".join(f"{100 * share[part]:.1f}" for part in PARTS) +
          f" | {100 * sums[-1]:.1f} % |", flush=True)
print("| mean |" + " |" * len(PARTS) + f" {100 * sum(sums) / len(sums):.1f} % |")
