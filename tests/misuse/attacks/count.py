#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""count.py PROGRAM [--runs N] [--least N] [--verbose] [--printed GROUP] NAME=LIBRARY[=OPTIONS]...

How many of the attacks (attacks.cc) each library catches, as a table.  A misuse is caught when the
process ends by a signal.  With --printed the program is suite.cc, and a misuse is caught unless the
process prints NOT_CAUGHT.  With --least, status 1 unless the last library catches so many cases in
all runs."""
import argparse
import os
import subprocess
import sys
from collections import defaultdict


def outcome(program, case, size, library, options, printed):
    environment = {k: v for k, v in os.environ.items() if k not in ("MALLOC_CONF", "MALLOW_CONF")}
    environment["LD_PRELOAD"] = library
    environment["MALLOW_CONF"] = options
    done = subprocess.run([program, case, size], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60, check=False)
    if done.returncode == 4:
        sys.exit(f"count.py: {case} {size}: no such case")
    if printed:
        return b"NOT_CAUGHT" not in done.stdout
    # Scudo ends some programs by exit status 1.
    return done.returncode < 0 or done.returncode == 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--least", type=int)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--printed", choices=["matrix", "death"])
    arguments = parser.parse_args()
    group = [arguments.printed] if arguments.printed else []
    lines = subprocess.run([arguments.program, *group], capture_output=True, text=True,
                           check=True).stdout
    cases = [line.split() for line in lines.splitlines()]
    libraries = [(word.split("=", 2) + [""])[:3] for word in arguments.libraries]
    caught = defaultdict(lambda: defaultdict(int))
    total = defaultdict(float)
    sure = 0
    for case, size in cases:
        for name, library, options in libraries:
            hits = sum(outcome(arguments.program, case, size, library, options,
                               arguments.printed)
                       for _ in range(arguments.runs))
            caught[name][case, size] = hits
            total[name] += hits / arguments.runs
            if name == libraries[-1][0]:
                sure += hits == arguments.runs
                if arguments.verbose and hits < arguments.runs:
                    print(f"missed: {case} {size}: {arguments.runs - hits} of {arguments.runs}")
    names = [name for name, _, _ in libraries]
    print("| misuse | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for case in dict.fromkeys(case for case, _ in cases):
        sizes = [size for name, size in cases if name == case]
        row = [sum(caught[name][case, size] for size in sizes) / arguments.runs for name in names]
        print(f"| {case.replace('_', ' ')} ({len(sizes)}) | " +
              " | ".join(f"{value:.1f}".removesuffix(".0") for value in row) + " |")
    print(f"| all {len(cases)} | " + " | ".join(f"{total[name]:.0f}" for name in names) + " |")
    if arguments.least is not None and sure < arguments.least:
        print(f"count.py: {sure} of {len(cases)} are caught in all runs, fewer than "
              f"{arguments.least}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
