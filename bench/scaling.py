#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scaling.py -- what threads share, and what many of them cost: the figures of
doc/measurements/scaling.md.

Called by scripts/bench.sh scaling.  The harness's server workload with 8, 64 and 512 threads: peak
resident memory and time with each allocator that is installed; and with a libmallow that counts
(bench/scaling/count.c) how often each lock is taken, and for how long it is held."""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench", "harness"))
import peers as peer_list  # noqa: E402

THREADS = (8, 64, 512)
# The same work whatever the number of threads: so many pairs of malloc and free in all, every
# thread of a chain doing a fifth of its chain's.
PAIRS = 10_240_000
GENERATIONS = 5
# Of the workload: blocks live in a chain's table, and their mean size.
TABLE_BLOCKS, MEAN_BYTES = 3000, 508


def run(launcher, command, peer, counting=False):
    """Wall seconds, CPU seconds, peak KiB, and what it wrote to stderr."""
    with tempfile.NamedTemporaryFile("r") as report:
        environment = dict(os.environ, BENCH_PRELOAD=peer.preload, **peer.environment)
        done = subprocess.run([launcher, report.name] + command, env=environment, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        words = report.read().split()
    if done.returncode != 0 or len(words) < 6 or words[5] != "0":
        sys.exit(f"mallow: {' '.join(command)} with {peer.name}: failed: {done.stderr.strip()}")
    wall_ns, user_us, system_us, peak_kib = (int(w) for w in words[:4])
    return wall_ns / 1e9, (user_us + system_us) / 1e6, peak_kib, done.stderr if counting else ""


def server(build, threads):
    turns = PAIRS // (threads * GENERATIONS)
    program = os.path.join(build, "bench", "workloads", "server")
    return [program, str(threads), str(turns), str(GENERATIONS)]


def memory_table(build, peers, runs):
    launcher = os.path.join(build, "bench", "launch")
    lines = ["| threads | live MiB | " + " | ".join(p.name for p in peers) + " |",
             "|---|---|" + "---|" * len(peers)]
    for threads in THREADS:
        cells = []
        results = {p.name: [] for p in peers}
        for turn in range(runs):
            for peer in peers[turn % len(peers):] + peers[:turn % len(peers)]:
                results[peer.name].append(run(launcher, server(build, threads), peer))
        for peer in peers:
            ordered = sorted(results[peer.name], key=lambda r: r[2])
            _, cpu, peak, _ = ordered[len(ordered) // 2]
            cells.append(f"{peak / 1024:.0f} MiB, {cpu:.1f} s")
        live = threads * TABLE_BLOCKS * MEAN_BYTES / 2**20
        lines.append(f"| {threads} | {live:.0f} | " + " | ".join(cells) + " |")
    return lines


def count_table(build, environment, commands):
    launcher = os.path.join(build, "bench", "launch")
    library = os.path.join(build, "bench", "libmallow_counting.so")
    peer = peer_list.Peer("counting", library, environment, is_mallow=True)
    lines = ["| load | lock | times per million mallocs | contended | held, mean ns "
             "| held, ns per malloc | held above 10 us |", "|---|---|---|---|---|---|---|"]
    for name, command, mallocs in commands:
        text = run(launcher, command, peer, counting=True)[3]
        for line in text.splitlines():
            words = line.split()
            if words[:1] != ["count"] or int(words[2]) == 0:
                continue
            times, contended, held, long_holds = (float(w) for w in words[2:6])
            if words[1] == "pushes":
                lines.append(f"| {name} | pushes to other threads' pages, {contended / times:.1f} "
                             f"blocks each "
                             f"| {times / mallocs * 1e6:.0f} | | | | |")
            else:
                lines.append(f"| {name} | {words[1]} | {times / mallocs * 1e6:.1f} "
                             f"| {contended / times * 100:.2f} % | {held / times:.0f} "
                             f"| {held / mallocs:.3f} | {long_holds:.0f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh scaling",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="turns of the table of memory (3)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    options = parser.parse_args()
    library = os.path.join(options.build, "lib", "libmallow.so")
    peers = peer_list.find_peers(library, [os.environ.get("PEER", "")], None)
    commands = [(f"server, {n} threads", server(options.build, n), PAIRS) for n in THREADS]
    parts = ["Locks, sampling on at T = 512 KiB", ""]
    parts += count_table(options.build, {}, commands)
    parts += ["", "Peak resident memory and CPU seconds", ""]
    parts += memory_table(options.build, peers, options.runs)
    text = "\n".join(parts) + "\n"
    with open(os.path.join(options.build, "bench", "scaling.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text, end="")


if __name__ == "__main__":
    main()
