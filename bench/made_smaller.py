#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""made_smaller.py BUILD_DIR [TURNS] -- memory and time of blocks that realloc changes: blocks made
smaller and kept, redis-server after sets, hsets and lpushes, and a reader that makes a buffer
smaller and frees it soon.  Each with mallow and Debian's other allocators, as far as they are
installed.  Writes tables in Markdown."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from shutdown import end_server

build = os.path.abspath(sys.argv[1])
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
DEBIAN = "/usr/lib/x86_64-linux-gnu/"
LIBRARIES = {"mallow": build + "/lib/libmallow.so", "glibc": "",
             "jemalloc": DEBIAN + "libjemalloc.so.2", "mimalloc": DEBIAN + "libmimalloc.so.2.0",
             "tcmalloc": DEBIAN + "libtcmalloc_minimal.so.4"}
SHRINKS = [(100, 60), (300, 250), (1000, 520), (4096, 3072), (10_000, 8100), (60_000, 50_000),
           (100_000, 60_000)]
REQUESTS = 600_000


def figure(library, program, *arguments):
    return float(subprocess.run([program, *map(str, arguments)], check=True, text=True,
                                stdout=subprocess.PIPE,
                                env=dict(os.environ, LD_PRELOAD=library)).stdout)


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def redis(library):
    """redis-server's resident memory in MB after its load."""
    with tempfile.TemporaryDirectory(prefix="made_smaller.") as home:
        socket, quiet = home + "/sock", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with open(home + "/log", "wb") as log:
            server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket,
                                       "--save", "", "--dir", home], stdout=log,
                                      env=dict(os.environ, LD_PRELOAD=library))
            while not os.path.exists(socket) and server.poll() is None:
                time.sleep(0.05)
            subprocess.run(["redis-benchmark", "-s", socket, "-n", str(REQUESTS), "-r",
                            str(REQUESTS), "-d", "300", "-P", "16", "-t", "set,hset,lpush"],
                           check=True, **quiet)
            resident = resident_mb(server.pid)
            end_server(server, log)
    return resident


def row(name, cells):
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def main():
    libraries = {name: path for name, path in LIBRARIES.items()
                 if not path or os.path.exists(path)}
    with tempfile.TemporaryDirectory(prefix="made_smaller.") as folder:
        program = folder + "/made_smaller"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "made_smaller.c")
        subprocess.run(["gcc", "-O2", "-fno-builtin", "-D_GNU_SOURCE", "-o", program, source],
                       check=True)
        row("100 MiB of blocks made smaller, resident MiB", libraries)
        row("---", ["---"] * len(libraries))
        for sizes in SHRINKS:
            row("{} to {} bytes".format(*sizes),
                [f"{figure(path, program, *sizes):.0f}" for path in libraries.values()])
        # Debian's redis-server is linked with jemalloc: without a library it has that one.
        row("redis-server, MB", [f"{redis(path):.0f}" if path else "" for path in
                                 libraries.values()])
        print()
        row("a buffer read into, made smaller and freed, ns", libraries)
        row("---", ["---"] * len(libraries))
        for sizes in ((4096, 3072), (60_000, 40_000)):
            times = {name: [] for name in libraries}
            for _ in range(turns):
                for name, path in libraries.items():
                    times[name].append(figure(path, program, *sizes, 300_000))
            row("{} to {} bytes".format(*sizes),
                [f"{statistics.median(each):.0f}" for each in times.values()])


main()
