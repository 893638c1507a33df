#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""heap_profiler.py --build DIR [--turns N] [--pairs N] -- what HEAPPROFILE costs with mallow's
libtcmalloc.so.4 and with Debian's gperftools: the same program, side by side, in turns, with 1 and
8 threads.  Each takes its time without HEAPPROFILE off its time with it; medians of the wall clock
and of the processors' time.  Files at intervals are off.  Writes a table in Markdown."""
import argparse
import glob
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--pairs", type=int, default=3000000, help="pairs of malloc and free in all")
arguments = parser.parse_args()
build = os.path.abspath(arguments.build)
theirs = glob.glob("/usr/lib/*/libtcmalloc.so.4")
if not theirs:
    sys.exit("heap_profiler.py: no libtcmalloc.so.4 of Debian (libgoogle-perftools4)")
LIBRARIES = {"mallow": build + "/lib/mallow/compat/libtcmalloc.so.4", "gperftools": theirs[0]}
folder = tempfile.mkdtemp(prefix="mallow-heap-profiler.")


def seconds(library, threads, profiled):
    """Wall clock and processors' time of a run."""
    environment = {**os.environ, "LD_PRELOAD": library, "PERFTOOLS_VERBOSE": "-1",
                   "HEAP_PROFILE_ALLOCATION_INTERVAL": "0", "HEAP_PROFILE_INUSE_INTERVAL": "0"}
    environment.pop("HEAPPROFILE", None)
    if profiled:
        environment["HEAPPROFILE"] = folder + "/p"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([build + "/bench/bench_heap_profiler", str(threads),
                    str(arguments.pairs // threads)], env=environment, check=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if profiled and not glob.glob(folder + "/p*.heap"):
        sys.exit(f"heap_profiler.py: {library} wrote no profile")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


print("| threads | library | alone, s | profiled, s | added, wall clock | added, processors | "
      "of what gperftools adds: wall, processors |")
print("|---|---|---|---|---|---|---|")
for threads in (1, 8):
    runs = {(name, profiled): [] for name in LIBRARIES for profiled in (False, True)}
    for turn in range(arguments.turns + 1):
        for name, profiled in runs:
            took = seconds(LIBRARIES[name], threads, profiled)
            if turn > 0:  # the first is for caches
                runs[name, profiled].append(took)
    medians = {key: [statistics.median(column) for column in zip(*took)]
               for key, took in runs.items()}
    added = {name: [medians[name, True][i] - medians[name, False][i] for i in (0, 1)]
             for name in LIBRARIES}
    for name in LIBRARIES:
        share = [added[name][i] / added["gperftools"][i] for i in (0, 1)]
        print(f"| {threads} | {name} | {medians[name, False][0]:.3f} | "
              f"{medians[name, True][0]:.3f} | {added[name][0]:.3f} s | {added[name][1]:.3f} s | "
              f"{share[0]:.2f}, {share[1]:.2f} |", flush=True)
shutil.rmtree(folder)
