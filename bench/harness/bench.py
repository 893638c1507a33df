#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench.py -- runs the workloads with each allocator, in turns, each as a whole process.

Called by scripts/bench.sh (make bench).  In every turn each workload runs once with each allocator,
one after the other, so that a change of the machine's pace meets all of them."""
import argparse
import os
import re
import sys
import time

import chart
import figures
import huge_pages
import inputs
import instructions
import measure
import peers as peer_list
import report
import workloads as workload_list

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="turns (default 7)")
    parser.add_argument("--quick", action="store_true", help="3 turns")
    parser.add_argument("--only", metavar="REGEX", help="workloads whose name or group matches")
    peer_list.add_arguments(parser)
    huge_pages.add_arguments(parser)
    parser.add_argument("--no-instructions", action="store_true", help="without callgrind's counts")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    return parser.parse_args()


def chosen(all_workloads, pattern):
    if not pattern:
        return all_workloads
    found = [w for w in all_workloads if re.search(pattern, w.name) or re.fullmatch(pattern,
                                                                                    w.group)]
    if not found:
        sys.exit(f"mallow: --only {pattern}: no workload matches; --list names them")
    return found


def run_all(workloads, peers, turns, launcher, folder):
    runs = {w.name: {p.name: [] for p in peers} for w in workloads}
    expected = {}
    start = time.monotonic()
    for turn in range(turns):
        for workload in workloads:
            # Nobody is always first; glibc is in the first turn, because its sums are compared
            # with.
            order = peers[turn % len(peers):] + peers[:turn % len(peers)]
            for peer in order:
                one = measure.run(launcher, workload, peer, folder)
                measure.check_sums(workload, peer, one, expected)
                runs[workload.name][peer.name].append(one)
        print(f"== turn {turn + 1} of {turns} done after {time.monotonic() - start:.0f} s",
              flush=True)
    return runs


def main():
    options = arguments()
    options.build = os.path.abspath(options.build)  # the programs run elsewhere
    folder = os.path.join(options.build, "bench")
    library = options.library or os.path.join(options.build, "lib", "libmallow.so")
    extra = options.peer + [os.environ.get("PEER", "")]
    only = set(options.allocators.split(",")) if options.allocators else None
    peers = peer_list.find_peers(library, extra, only)
    work = inputs.write_inputs(os.path.join(folder, "work"))
    workloads = chosen(workload_list.own_workloads(os.path.join(folder, "workloads")) +
                       workload_list.real_workloads(work), options.only)
    if options.list:
        for workload in workloads:
            print(f"{workload.group:9} {workload.name}")
        return
    turns = options.runs or (3 if options.quick else 7)
    with huge_pages.using(options.thp):
        print(f"== {len(workloads)} workloads, {len(peers)} allocators, {turns} turns, transparent "
              f"huge pages: {huge_pages.setting()}")
        runs = run_all(workloads, peers, turns, os.path.join(folder, "launch"), work)
        rows = figures.summarise(workloads, peers, runs)
        print(report.write(folder, rows, peers, turns, ROOT))
    files = [os.path.join(folder, "table.md"), os.path.join(folder, "results.json")]
    files += chart.write(folder, rows, peers)
    if not options.no_instructions and not options.only:
        files += instructions.write(folder, peers)
    print("== written: " + " ".join(os.path.relpath(f, ROOT) for f in files))


if __name__ == "__main__":
    main()
