#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""claims.py PROGRAM PLAIN SECURE -- what a wrong size or alignment in a sized free does, by option
on_misuse: nothing, a warning for each place of the program, or the end. The program is claims.cc.
It makes no difference whether a block is a sample."""
import os
import re
import signal
import subprocess
import sys

SAMPLING = {"off": "prof:false", "usual": "prof_sample:4096", "every block": "prof_sample:1",
            "guarded": "prof_sample:1,prof_guard:1,prof_guard_gap:0", "no lists": "tcache:false"}
faults = []


def run(program, library, options, functions, **more):
    environment = {k: v for k, v in os.environ.items() if k not in ("MALLOC_CONF", "MALLOW_CONF")}
    environment |= {"LD_PRELOAD": library, "MALLOW_CONF": options} | more
    return subprocess.run([program, *functions], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)


def expect(condition, *what):
    if not condition:
        faults.append(" ".join(str(word) for word in what))


def silent(done, *what):
    expect(done.returncode == 0, *what, "ended with", done.returncode, done.stderr[-300:])
    expect(not done.stderr, *what, "said", done.stderr[-300:])


def warned(done, functions, *what):
    """Each function is one place of the program, and has one line and a stack."""
    expect(done.returncode == 0, *what, "ended with", done.returncode, done.stderr[-300:])
    lines = re.findall(r"^mallow: (.*)\(0x[0-9a-f]+\): wrong (size|alignment) \d+ for a (.*)",
                       done.stderr, re.MULTILINE)
    expect(len(lines) == len(functions), *what, f"gave {len(lines)} warnings for",
           len(functions), "places:", done.stderr[-600:])
    stacks = re.findall(r"^mallow:   #0 (\S+) \(\S+claims\+0x", done.stderr, re.MULTILINE)
    expect(len(stacks) == len(lines), *what, f"gave {len(stacks)} stacks:", done.stderr[-600:])


def main():
    program, plain, secure = sys.argv[1:]
    functions = run(program, plain, "", []).stdout.split()
    for name, sampling in SAMPLING.items():
        silent(run(program, plain, sampling, functions), "plain,", name)
        for library, label in (plain, "plain,"), (secure, "secure,"):
            silent(run(program, library, f"{sampling},on_misuse:ignore", functions), label, name,
                   "ignore")
            warned(run(program, library, f"{sampling},on_misuse:warn", functions), functions,
                   label, name, "warn")
            for function in functions:
                done = run(program, library, f"{sampling},on_misuse:abort", [function])
                expect(done.returncode == -signal.SIGABRT and "wrong" in done.stderr, label, name,
                       "abort:", function, "ended with", done.returncode, done.stderr[-300:])
        for function in functions:
            done = run(program, secure, sampling, [function])
            expect(done.returncode == -signal.SIGABRT, "secure,", name + ":", function,
                   "ended with", done.returncode)
    for library, options, survives in ((plain, "", True), (plain, "on_misuse:abort", False),
                                    (secure, "", False), (secure, "on_misuse:ignore", True)):
        done = run(program, library, options, [], CLAIMS_AT_START="1")
        expect((done.returncode == 0) == survives, "at the start:", library, options, "ended with",
               done.returncode, done.stderr[-300:])
    warned(run(program, secure, "on_misuse:warn", [], CLAIMS_AT_START="1"), ["at_start"],
           "secure, at the start, warn")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
