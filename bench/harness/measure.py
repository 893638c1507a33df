# SPDX-License-Identifier: MIT
"""measure.py -- runs one workload with one allocator and returns what it took."""
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

TIME_LIMIT_S = 120  # a hundred times what a workload takes with the slowest allocator


@dataclass
class Measure:
    wall_s: float
    cpu_s: float
    system_s: float
    peak_kib: int
    faults: int
    sums: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)


def fail(workload, peer, why):
    sys.exit(f"mallow: benchmark '{workload.name}' with {peer.name}: {why}")


def clean_environment(workload, peer):
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("LD_PRELOAD", "MALLOC_CONF", "MALLOW_CONF")}
    environment.update({"LC_ALL": "C", "CCACHE_DISABLE": "1", "BENCH_PRELOAD": peer.preload})
    environment.update(workload.environment)
    environment.update(peer.environment)
    return environment


def read_report(path, workload, peer):
    with open(path, encoding="ascii") as file:
        words = file.read().split()
    if len(words) != 6:
        fail(workload, peer, "the launcher left no report")
    wall_ns, user_us, system_us, peak_kib, faults, status = map(int, words)
    if status != 0:
        fail(workload, peer, f"exit status {status}")
    return Measure(wall_ns / 1e9, (user_us + system_us) / 1e6, system_us / 1e6, peak_kib, faults)


def run(launcher, workload, peer, folder):
    if workload.server:
        return run_server(launcher, workload, peer, folder)
    report = os.path.join(folder, "report")
    done = subprocess.run([launcher, report] + workload.command, cwd=folder, text=True,
                          env=clean_environment(workload, peer), capture_output=True,
                          timeout=TIME_LIMIT_S, check=False)
    if done.returncode != 0:
        fail(workload, peer, done.stderr.strip() or f"exit status {done.returncode}")
    try:
        measure = read_report(report, workload, peer)
    except SystemExit:
        print(done.stderr.strip(), file=sys.stderr)
        raise
    measure.sums = re.findall(r"^sum\W+(\d+)$", done.stdout, re.M)
    measure.notes = {k: int(v) for k, v in re.findall(r"^note (\S+) (\d+)$", done.stdout, re.M)}
    return measure


def check_sums(workload, peer, one, expected):
    """A broken allocator shows: the sums over what was read back differ from glibc's."""
    if peer.is_mallow and one.notes.get("misaligned_blocks"):
        fail(workload, peer, "blocks are not aligned")
    if one.sums != expected.setdefault(workload.name, one.sums):
        fail(workload, peer, f"sum {one.sums}, glibc's was {expected[workload.name]}")


REDIS_LOAD = ["-n", "40000", "-r", "30000", "-d", "200", "-P", "16", "-c", "20", "-q",
              "-t", "set,get,lpush,lpop,sadd,hset,zadd,mset"]


def run_server(launcher, workload, peer, folder):
    """The server runs with the allocator; its clients do not.  The wall time is the clients'."""
    with tempfile.TemporaryDirectory() as place:
        socket = os.path.join(place, "socket")
        report = os.path.join(place, "report")
        server = subprocess.Popen(
            [launcher, report] + workload.command +
            ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", place],
            env=clean_environment(workload, peer), stdout=subprocess.DEVNULL)
        try:
            ask = ["redis-cli", "-s", socket]
            for _ in range(200):
                if subprocess.run(ask + ["ping"], capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.02)
            else:
                fail(workload, peer, "redis-server does not answer")
            start = time.monotonic()
            subprocess.run(["redis-benchmark", "-s", socket] + REDIS_LOAD, check=True,
                           stdout=subprocess.DEVNULL, timeout=TIME_LIMIT_S)
            wall_s = time.monotonic() - start
            subprocess.run(ask + ["shutdown", "nosave"], capture_output=True, check=False)
            server.wait(TIME_LIMIT_S)
        finally:
            if server.poll() is None:
                server.kill()
        measure = read_report(report, workload, peer)
        measure.wall_s = wall_s
        return measure
