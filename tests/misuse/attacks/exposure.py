#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exposure.py PROGRAM [--runs N] [--price] NAME=LIBRARY[=OPTIONS]... -- how well an attacker can
foretell where each library puts blocks, and what a stale pointer still reads (exposure.c), as a
table. --price adds the instructions of malloc and free, counted by callgrind.
exposure.py PROGRAM --check LIBRARY -- status 1 unless the hardened library keeps its promises."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

# (row, name in the program's output, how the runs are summed up)
ROWS = [
    ("fresh blocks of 64 bytes right behind the one before, of 400", "neighbours_64", "mean"),
    ("the same, 1000 bytes", "neighbours_1000", "mean"),
    ("different low 22 bits of the first block's address", "place", "distinct"),
    ("allocations until a freed block of 64 bytes returns, median", "return_64", "median"),
    ("the same, 3000 bytes", "return_3000", "median"),
    ("bytes that a stale pointer reads, of 100", "readable_100", "most"),
    ("of 3000", "readable_3000", "most"),
    ("of 20,000", "readable_20000", "most"),
    ("of 200,000", "readable_200000", "most"),
]
PRICED_BYTES = [64, 1000, 8000, 60000]
FEW, MANY = 2000, 22000
# callgrind would count each byte that "rep stosb" stores as an instruction.
NO_REP = "glibc.cpu.x86_rep_stosb_threshold=1000000000"


def environment_of(library, options):
    environment = {k: v for k, v in os.environ.items() if k not in ("MALLOC_CONF", "MALLOW_CONF")}
    return environment | {"LD_PRELOAD": library, "MALLOW_CONF": options}


def values_of(program, library, options, runs):
    """What `runs` runs print: name to list."""
    values = {}
    for _ in range(runs):
        done = subprocess.run([program], env=environment_of(library, options), timeout=60,
                              capture_output=True, text=True, check=True)
        for name, value in re.findall(r"^(\w+) (\d+)$", done.stdout, re.M):
            values.setdefault(name, []).append(int(value))
    return values


def sum_up(values, how):
    if how == "distinct":
        return len(set(values))
    return {"mean": statistics.mean, "median": statistics.median, "most": max}[how](values)


def instructions(program, library, options, turns, size):
    """None: valgrind cannot run the program with this library (scudo reserves too much)."""
    environment = environment_of(library, options) | {"GLIBC_TUNABLES": NO_REP}
    with tempfile.NamedTemporaryFile("r") as log:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                               f"--log-file={log.name}", program, "loop", str(turns), str(size)],
                              env=environment, timeout=600, check=False, stderr=subprocess.DEVNULL)
        found = re.search(r"Collected : (\d+)", log.read())
        return int(found.group(1)) if found and done.returncode == 0 else None


def price(program, library, options, size):
    few, many = (instructions(program, library, options, n, size) for n in (FEW, MANY))
    return "-" if few is None or many is None else f"{(many - few) / (MANY - FEW):.0f}"


def check(program, library):
    """The promises of doc/user/safety.md that need more than one process to see."""
    values = values_of(program, library, "prof:false", 20)
    filled = values_of(program, library, "prof:false,fill_freed:true", 2)
    failed = []
    for name in ("neighbours_64", "neighbours_1000"):
        if statistics.mean(values[name]) > 160:
            failed.append(f"{name}: {values[name]}: blocks can be foretold")
    if len(set(values["place"])) < 15:
        failed.append(f"the first block's place repeats: {values['place']}")
    if min(values["return_64"]) < 8:
        failed.append(f"a freed block comes back after {min(values['return_64'])} others")
    for name, found in filled.items():
        if name.startswith("readable") and max(found) > 0:
            failed.append(f"fill_freed:true: {name}: {max(found)} bytes")
    print("\n".join(failed))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--price", action="store_true")
    parser.add_argument("--check")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.program, arguments.check)
    libraries = [(word.split("=", 2) + [""])[:3] for word in arguments.libraries]
    print("| | " + " | ".join(name for name, _, _ in libraries) + " |")
    print("|---" * (len(libraries) + 1) + "|")
    values = [values_of(arguments.program, library, options, arguments.runs)
              for _, library, options in libraries]
    for row, name, how in ROWS:
        print(f"| {row} | " + " | ".join(f"{sum_up(v[name], how):.0f}" for v in values) + " |")
    for size in PRICED_BYTES if arguments.price else []:
        print(f"| instructions of malloc({size}) and free | " + " | ".join(
            price(arguments.program, library, options, size)
            for _, library, options in libraries) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
