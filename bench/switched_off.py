#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""switched_off.py BUILD_DIR TURNS LIBRARY... -- what a mechanism is worth: the processor's time of
programs with the first library, which has everything, against each other one, built with something
switched off, in turns.  Real programs with every allocation recorded (those of exact.py), workloads
of bench/workloads at the default rate.  Medians and their ratios, as a table in Markdown.
doc/measurements/mechanisms.md has the results."""
import os
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))
from recorded import programs, seconds  # noqa: E402

build, turns = os.path.abspath(sys.argv[1]), int(sys.argv[2])
libraries = [os.path.abspath(path) for path in sys.argv[3:]]
WORKLOADS = ["slots 1 any", "slots 2 any", "exchange wide", "containers maps", "json",
             "large medium", "handover pipe"]
folder = tempfile.mkdtemp(prefix="mallow-switched-off.")

rows = [(name + ", exact", command, "prof_sample:1") for name, command in programs(folder)
        if not name.startswith("clang")]
for workload in WORKLOADS:
    words = workload.split()
    rows.append((workload, [os.path.join(build, "bench/workloads", words[0]), *words[1:]], ""))

print("| program | seconds | " + " | ".join(os.path.basename(path) for path in libraries[1:])
      + " |")
print("|---" * (len(libraries) + 1) + "|")
for name, command, options in rows:
    results = {library: [] for library in libraries}
    for turn in range(turns):
        for library in libraries if turn % 2 == 0 else reversed(libraries):
            results[library].append(seconds(command, folder, LD_PRELOAD=library,
                                            MALLOC_CONF=options))
    medians = [statistics.median(results[library]) for library in libraries]
    ratios = " | ".join(f"{median / medians[0]:.3f}" for median in medians[1:])
    print(f"| {name} | {medians[0]:.3f} | {ratios} |", flush=True)
shutil.rmtree(folder)
