#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exact.py BUILD_DIR [TURNS] -- what it costs to record every allocation: mallow run --exact and
heaptrack on the same programs, in turns.  The processor's time of each run with all of its children
(heaptrack's interpreter, mallow's report) against that of the program alone, medians; and that of
the program's own processes under mallow, without the report.  Writes a table in Markdown."""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5

SQL = """CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO t SELECT i, i * 7919 % 1009 FROM n; CREATE INDEX x ON t(b);
SELECT count(*) FROM (SELECT group_concat(a) FROM t GROUP BY b); DELETE FROM t WHERE a % 3 = 0;"""
PERL = """my (%h, $t); for my $i (1 .. 300000) { push @{$h{"k" . $i % 977}}, "x" x ($i % 40) }
my $u = join ";", sort keys %h; $u =~ s/k(\\d)/<$1>/g; print length $u, "\\n" """
PYTHON = """import json
for k in range(3): json.loads(json.dumps([{"a": i, "b": [str(i)] * 9} for i in range(6000)]))"""
CC = """#include <iostream>
#include <map>
#include <regex>
int main() { std::map<std::string, int> m; m["a"] = 1; std::cout << m["a"] << std::regex_match("ab", std::regex("a+b")); }
"""

HEAPTRACK = "/usr/bin/heaptrack"
folder = tempfile.mkdtemp(prefix="mallow-exact.")


def kept(name, text):
    """A file: heaptrack cannot read arguments of several lines."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


PROGRAMS = [
    ("sqlite3", ["/usr/bin/sqlite3", "-batch", ":memory:", ".read " + kept("a.sql", SQL)]),
    ("perl", ["/usr/bin/perl", kept("a.pl", PERL)]),
    ("python3", ["/usr/bin/python3", kept("a.py", PYTHON)]),
    ("clang++ -O1", ["/usr/bin/clang++", "-O1", "-c", "-o", folder + "/a.o", kept("a.cc", CC)]),
]


def seconds(command, **more):
    """The processor's time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = dict(os.environ, PYTHONMALLOC="malloc", XDG_CACHE_HOME=folder, **more)
    subprocess.run(command, env=environment, check=True, cwd=folder, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def preloaded(options):
    return {"LD_PRELOAD": os.path.join(build, "lib/libmallow.so"), "MALLOC_CONF": options}


print("| program | alone | mallow, sampling off | exact, the program | `mallow run --exact` | heaptrack | added, to what heaptrack adds |")
print("|---|---|---|---|---|---|---|")
for name, command in PROGRAMS:
    kinds = {
        "alone": lambda: seconds(command),
        "off": lambda: seconds(command, **preloaded("prof:false")),
        "exact": lambda: seconds(command, **preloaded("prof_sample:1,prof_final:true")),
        "run": lambda: seconds([build + "/bin/mallow", "run", "--exact", "-o", folder + "/p.pb.gz", "--", *command]),
        "heaptrack": lambda: seconds([HEAPTRACK, "-o", folder + "/h", *command]),
    }
    times = {kind: [] for kind in kinds}
    for turn in range(turns + 1):
        for kind, run in kinds.items():
            took = run()
            if turn > 0:  # the first is for caches
                times[kind].append(took)
    alone, off, exact, run, heaptrack = (statistics.median(times[kind]) for kind in kinds)
    print(f"| {name} | {alone:.2f} s | {off / alone:.2f} | {exact / alone:.2f} | {run / alone:.2f} | {heaptrack / alone:.2f} "
          f"| {(run - alone) / (heaptrack - alone):.2f} |", flush=True)
shutil.rmtree(folder)
