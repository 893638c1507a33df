#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpu_profiler.py --build DIR [--turns N] [--seconds N] -- what samples of CPU time cost: a program
of eight threads, python3 and redis-server with mallow at 100 and 1000 Hz, with mallow's and with
Debian's libprofiler, and under perf record where the kernel permits that, in turns.  The figure is
the processor time against that without samples: medians.  Then the cost of one sample with 30 warm
frames.  Writes tables in Markdown."""
import argparse
import glob
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
parser.add_argument("--turns", type=int, default=9)
parser.add_argument("--seed", type=int, default=1, help="of the order in each turn")
parser.add_argument("--seconds", type=float, default=2, help="of each run")
arguments = parser.parse_args()
random.seed(arguments.seed)
build = os.path.abspath(arguments.build)
mallow = build + "/lib/libmallow.so"
ours = build + "/lib/mallow/compat/libprofiler.so.0"
theirs = (glob.glob("/usr/lib/*/libprofiler.so.0") or [None])[0]
folder = tempfile.mkdtemp(prefix="mallow-cpu-profiler.")
python3 = subprocess.check_output([sys.executable, "-c",
                                   "import sys; print(sys.executable)"]).decode().strip()

WORK = f"""
import json, time
data = [{{"name": str(i), "list": list(range(20))}} for i in range(200)]
rounds = 0
for rounds in range({int(450 * arguments.seconds)}):
    json.loads(json.dumps(data))
    sum(i * i for i in range(20000))
"""


def perf_is_permitted():
    if not shutil.which("perf"):
        return False
    return subprocess.run(["perf", "record", "-e", "cpu-clock", "-g", "-o", folder + "/perf.data",
                           "true"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


# Environment, words before the program.
WAYS = {"mallow, no samples": ({"LD_PRELOAD": mallow}, [])}
for hz in (100, 1000):
    WAYS[f"mallow, {hz} Hz"] = ({"LD_PRELOAD": mallow, "MALLOW_CONF": f"prof_cpu:{hz}"}, [])
WAYS["no profiler"] = ({}, [])
for name, library in (("mallow's libprofiler", ours), ("gperftools' libprofiler", theirs)):
    for hz in (100, 1000) if library else ():
        WAYS[f"{name}, {hz} Hz"] = ({"LD_PRELOAD": library, "CPUPROFILE_FREQUENCY": str(hz),
                                     "CPUPROFILE": folder + "/profile"}, [])
if perf_is_permitted():
    for hz in (100, 1000):
        WAYS[f"perf record -g, {hz} Hz"] = ({}, ["perf", "record", "-e", "cpu-clock", "-g", "-F",
                                                 str(hz), "-o", folder + "/perf.data"])


def seconds_of(command, way):
    environment, before = WAYS[way]
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(before + command, env={**os.environ, **environment}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def threads(way):
    return seconds_of([build + "/bench/cpu_work", "8", str(arguments.seconds)], way)


def python(way):
    return seconds_of([python3, "-c", WORK], way)


def redis(way):
    """Processor time of a server for a fixed number of requests."""
    environment, before = WAYS[way]
    path = folder + "/redis.sock"
    server = subprocess.Popen(before + ["redis-server", "--port", "0", "--unixsocket", path,
                                        "--save", ""], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    while subprocess.run(["redis-cli", "-s", path, "ping"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).returncode != 0:
        time.sleep(0.02)
    subprocess.run(["redis-benchmark", "-s", path, "-n", str(int(250000 * arguments.seconds)), "-P",
                    "8", "-q", "-t", "set,lpush"], check=True, stdout=subprocess.DEVNULL)
    info = subprocess.check_output(["redis-cli", "-s", path, "info", "cpu"]).decode()
    used = {line.split(":")[0]: line.split(":")[1] for line in info.split() if ":" in line}
    if before:
        server.send_signal(signal.SIGINT)
    subprocess.run(["redis-cli", "-s", path, "shutdown", "nosave"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    server.wait()
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


PROGRAMS = {"eight threads": threads, "python3": python, "redis-server": redis}
print("| program | " + " | ".join(WAYS) + " |")
print("|---|" + "---|" * len(WAYS))
for program, run in PROGRAMS.items():
    took = {way: [] for way in WAYS}
    for turn in range(arguments.turns + 1):
        # In another order each turn: what runs after perf finds other caches.
        for way in random.sample(list(WAYS), len(WAYS)):
            seconds = run(way)
            if turn > 0:  # the first is for caches
                took[way].append(seconds)
    cells = []
    for way in WAYS:
        base = took["mallow, no samples" if way.startswith("mallow,") else "no profiler"]
        # Each run against the one without samples of its turn.
        ratio = statistics.median(a / b for a, b in zip(took[way], base))
        cells.append(f"{statistics.median(base):.2f} s" if took[way] is base
                     else f"{100 * (ratio - 1):+.1f} %")
    print(f"| {program} | " + " | ".join(cells) + " |", flush=True)
handler = subprocess.check_output(
    [build + "/bench/cpu_handler"],
    env={**os.environ, "LD_PRELOAD": mallow, "MALLOW_CONF": "prof_cpu:1"}).decode().strip()
print(f"\nA sample with 30 warm frames: {handler} us.")
shutil.rmtree(folder)
