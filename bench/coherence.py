#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coherence.py -- cache lines that move between processors, counted on a simulated machine.

Called by scripts/bench.sh coherence.  qemu-user runs bench/coherence/exchange_loads.c with each
allocator; the plugin bench/coherence/moved_lines.c lets the threads take turns as if each had a
processor.  Counts are nearly the same from run to run; times mean nothing there.  With --limit only
mallow is counted, in one small shape of each load, and more moves than the limits are an error;
exit status 77 (skipped) without qemu-user."""
import argparse
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench", "harness"))
import peers as peer_list  # noqa: E402
from report import machine, revision  # noqa: E402

LOADS = ("own", "exchange", "pairs")
TIME_LIMIT_S = 600


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh coherence",
                                     description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--threads", default="2,16,64", metavar="LIST", help="default 2,16,64")
    parser.add_argument("--operations", type=int, default=6000, metavar="N",
                        help="of each thread (6000)")
    parser.add_argument("--blocks", type=int, default=200, metavar="N", help="of each thread (200)")
    parser.add_argument("--limit", metavar="LOAD=MOVES,...",
                        help="most moves an operation; the first of --threads only")
    peer_list.add_arguments(parser)
    return parser.parse_args()


def count(options, peer, load, threads):
    """What the plugin printed of a run: counts by name, moves by line and by instruction, malloc's
    address."""
    folder = os.path.join(options.build, "bench", "coherence")
    command = ["qemu-x86_64", "-E", f"LD_PRELOAD={peer.preload}"]
    for name, value in peer.environment.items():
        command += ["-E", f"{name}={value}"]
    command += ["-plugin", os.path.join(folder, "moved_lines.so"),
                os.path.join(folder, "exchange_loads"), load, str(threads),
                str(options.operations), str(options.blocks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=TIME_LIMIT_S)
    counts = re.search(r"^moved_lines (.*)$", done.stderr, re.M)
    malloc = re.search(r"^malloc (0x[0-9a-f]+)$", done.stdout, re.M)
    if done.returncode != 0 or not counts or not malloc:
        sys.exit(f"mallow: {load} with {threads} threads and {peer.name}: {done.stderr.strip()}")
    words = counts.group(1).split()
    moves = {kind: {int(a, 16): int(m) for a, m in
                    re.findall(rf"^{kind} (0x[0-9a-f]+) (\d+)$", done.stderr, re.M)}
             for kind in ("line", "code")}
    return ({n: int(v) for n, v in zip(words[::2], words[1::2])}, moves,
            int(malloc.group(1), 16))


def per_operation(options, load, threads, counts, names):
    operations = options.operations * threads / (2 if load == "pairs" else 1)
    return sum(counts[n] for n in names) / operations


class Symbols:
    """Names of the data and functions of a library, which lies in the simulated memory
    somewhere."""

    def __init__(self, library, malloc):
        text = subprocess.run(["nm", "-n", library], capture_output=True, text=True,
                              check=True).stdout
        rows = [row.split() for row in text.splitlines()]
        found = [(int(r[0], 16), r[2]) for r in rows if len(r) == 3]
        self.starts = [start for start, _ in found]
        self.names = [name for _, name in found]
        self.base = malloc - next(start for start, name in found if name == "malloc")

    def name(self, address, other):
        offset = address - self.base
        if not self.starts or not self.starts[0] <= offset < self.starts[-1] + 65536:
            return other
        return self.names[bisect.bisect_right(self.starts, offset) - 1]


def by_symbol(title, moves_of, symbols, operations, other):
    moves = collections.Counter()
    for address, moved in moves_of.items():
        moves[symbols.name(address, other)] += moved
    rows = [f"| {title} | moves an operation |", "|---|---|"]
    for name, moved in moves.most_common(16):
        rows.append(f"| {name} | {moved / operations:.4f} |")
    return rows


def tables_by_symbol(moves, symbols, operations):
    return (by_symbol("data of the library", moves["line"], symbols, operations,
                      "other memory: chunks, heaps, stacks") + [""] +
            by_symbol("function", moves["code"], symbols, operations, "the program, libc"))


def table(options, peers, threads):
    rows = ["| lines moved an operation (atomic instructions; calls of the kernel) | " +
            " | ".join(p.name for p in peers) + " |", "|---|" + "---|" * len(peers)]
    for load in LOADS:
        for number in threads:
            if load == "pairs" and number % 2:
                continue
            cells = []
            for peer in peers:
                counts, _, _ = count(options, peer, load, number)
                moved, atomics, calls = (
                    per_operation(options, load, number, counts, names)
                    for names in (("reads", "writes"), ("atomics",), ("calls",)))
                cells.append(f"{moved:.2f} ({atomics:.2f}; {calls:.3f})")
            rows.append(f"| {load}, {number} threads | " + " | ".join(cells) + " |")
            print(rows[-1], flush=True)
    return rows


def check(options, mallow, threads):
    """Compares one shape with the limits; returns the exit status."""
    status = 0
    for word in options.limit.split(","):
        load, _, limit = word.partition("=")
        counts, moves, malloc = count(options, mallow, load, threads)
        moved = per_operation(options, load, threads, counts, ("reads", "writes"))
        print(f"{load}, {threads} threads: {moved:.3f} lines moved an operation (limit {limit})")
        if moved > float(limit):
            status = 1
            print("\n".join(tables_by_symbol(moves, Symbols(mallow.preload, malloc),
                                             options.operations * threads)))
    return status


def main():
    options = arguments()
    library = options.library or os.path.join(options.build, "lib", "libmallow.so")
    only = set(options.allocators.split(",")) if options.allocators else None
    peers = peer_list.find_peers(library, options.peer + [os.environ.get("PEER", "")], only)
    threads = [int(word) for word in options.threads.split(",")]
    mallow = next(p for p in peers if p.name == "mallow")
    if options.limit:
        if not shutil.which("qemu-x86_64"):
            print("skipped: qemu-x86_64 is not installed")
            sys.exit(77)
        sys.exit(check(options, mallow, threads[0]))
    text = [f"Cache lines that move between simulated processors, revision {revision(ROOT)}, "
            f"{machine()}.", ""]
    text += table(options, peers, threads)
    counts, moves, malloc = count(options, mallow, "own", threads[-1])
    operations = options.operations * threads[-1]
    moved = (counts["reads"] + counts["writes"]) / operations
    text += ["", f"Own blocks, {threads[-1]} threads: {moved:.3f} lines an operation, of which:",
             ""]
    text += tables_by_symbol(moves, Symbols(mallow.preload, malloc), operations)
    path = os.path.join(options.build, "bench", "coherence.md")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
