#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""residual.py [TURNS] [--allocators NAMES] [--peer NAME=PATH] [--build FOLDER] -- resident memory
after all but a few of a million small blocks are freed (bench/workloads/residual.c), with each
allocator in turns.  Writes a table in Markdown: MiB, and seconds of processor time in brackets."""
import argparse
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))
from peers import add_arguments, find_peers  # noqa: E402

SHAPES = [("200", "200", "40", "random"), ("200", "200", "40", "even"),
          ("16", "400", "40", "random"), ("16", "512", "10", "random"),
          ("16", "512", "100", "even"), ("64", "64", "40", "random"), ("64", "64", "100", "even"),
          ("512", "512", "10", "random"), ("16", "16", "100", "random")]


def run(peer, program, shape):
    """Resident MiB after the frees, and seconds of processor time."""
    with subprocess.Popen([program, *shape], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, LD_PRELOAD=peer.preload,
                                   **peer.environment)) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{peer.name}: {program} ended with {process.returncode}")
    kib = int(re.search(r"note after_free_kib (\d+)", text)[1])
    return kib / 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", nargs="?", type=int, default=3)
    add_arguments(parser)
    chosen = parser.parse_args()
    only = chosen.allocators.split(",") if chosen.allocators else None
    library = chosen.library or os.path.join(chosen.build, "lib", "libmallow.so")
    peers = find_peers(library, chosen.peer, only)
    program = os.path.join(chosen.build, "bench", "workloads", "residual")
    print("| bytes | kept | which | " + " | ".join(peer.name for peer in peers) + " |")
    print("|---" * (3 + len(peers)) + "|")
    for shape in SHAPES:
        runs = {peer.name: [] for peer in peers}
        for _ in range(chosen.turns):
            for peer in peers:
                runs[peer.name].append(run(peer, program, shape))
        cells = ["{:.0f} ({:.2f})".format(*map(statistics.median, zip(*runs[peer.name])))
                 for peer in peers]
        least, most, keep, order = shape
        sizes = least if least == most else f"{least} to {most}"
        print(f"| {sizes} | 1 of {keep} | {order} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
