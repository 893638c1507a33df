#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exact.py BUILD_DIR [TURNS] -- what it costs to record every allocation: mallow run --exact and
heaptrack on the same programs, in turns.  The processor's time of each run with all of its children
(heaptrack's interpreter, mallow's report) against that of the program alone, medians; and that of
the program's own processes under mallow, without the report.  Writes a table in Markdown."""
import os
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))
from recorded import programs, seconds  # noqa: E402

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
HEAPTRACK = "/usr/bin/heaptrack"
folder = tempfile.mkdtemp(prefix="mallow-exact.")


def timed(command, options=None):
    """The processor's time; with options under mallow."""
    preloaded = {} if options is None else {"LD_PRELOAD": build + "/lib/libmallow.so",
                                            "MALLOC_CONF": options}
    return seconds(command, folder, XDG_CACHE_HOME=folder, **preloaded)


print("| program | alone | mallow, sampling off | exact, the program | `mallow run --exact` "
      "| heaptrack | added, to what heaptrack adds |")
print("|---|---|---|---|---|---|---|")
for name, command in programs(folder):
    record = [build + "/bin/mallow", "run", "--exact", "-o", folder + "/p.pb.gz", "--"]
    kinds = {
        "alone": lambda: timed(command),
        "off": lambda: timed(command, "prof:false"),
        "exact": lambda: timed(command, "prof_sample:1,prof_final:true"),
        "run": lambda: timed([*record, *command]),
        "heaptrack": lambda: timed([HEAPTRACK, "-o", folder + "/h", *command]),
    }
    times = {kind: [] for kind in kinds}
    for turn in range(turns + 1):
        for kind, run in kinds.items():
            took = run()
            if turn > 0:  # the first is for caches
                times[kind].append(took)
    alone, off, exact, run, heaptrack = (statistics.median(times[kind]) for kind in kinds)
    print(f"| {name} | {alone:.2f} s | {off / alone:.2f} | {exact / alone:.2f} "
          f"| {run / alone:.2f} | {heaptrack / alone:.2f} "
          f"| {(run - alone) / (heaptrack - alone):.2f} |", flush=True)
shutil.rmtree(folder)
