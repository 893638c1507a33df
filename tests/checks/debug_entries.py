#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""debug_entries.py BUILD_DIR LEAST -- entries of ctest, which ctest itself reads: the release's
programs, torture tests and some real programs once more, each as debug/NAME, on the debug library
in the place of the plain one and on the hardened library with the debug library's checks in the
place of the hardened one.  They come last, where time is left (scripts/lib/tests.sh).  Left out is
what has neither of these libraries, such as programs linked with an archive, which would run a
second time as they are, and program/leak_steps, which is about the instructions of the libraries
that users have.  Fewer than LEAST entries: one more, which fails."""
import pathlib
import re
import sys

build, least = pathlib.Path(sys.argv[1]), int(sys.argv[2])
WANTED = re.compile(r"(program|torture|misuse/(secure-|attacks-|exposure-|guarded)"
                    r"|real/(redis|node|gcc))")
UNWANTED = "program/leak_steps"
# Libraries that another one takes the place of.
LIBRARY = re.compile(r"/lib/libmallow(_secure)?\.so")
# Real programs take the library from their environment; each of their blocks is sampled.
ENVIRONMENT = (f"MALLOW_TEST_LIBRARY={build}/lib/libmallow_debug.so;mallow_options=prof_sample:1;"
               "MALLOW_TEST_SECONDS=5")
ENTRY = re.compile(r"(add_test|set_tests_properties)\(\[=\[(.*?)\]=\](.*)")


hardened = set()  # entries that need the library which the release does not build


def changed(command, name, rest):
    rest = LIBRARY.sub(r"/lib/libmallow\1_debug.so", rest)
    if command == "set_tests_properties":
        # Of two values of a variable the later one counts: the entry's own.
        more = f'ENVIRONMENT "{ENVIRONMENT}'
        if " LABELS " not in rest:
            more = f"LABELS again {more}"
        rest = re.sub(r' LABELS "?(?!again)(\w+)"?', r' LABELS "\1;again"', rest)
        if name in hardened:
            more = f'FIXTURES_REQUIRED "debug_library" {more}'
        if ' ENVIRONMENT "' in rest:
            rest = rest.replace(' ENVIRONMENT "', f" {more};", 1)
        else:
            rest = rest.replace(" PROPERTIES ", f' PROPERTIES {more}" ', 1)
    return f"{command}([=[debug/{name}]=]{rest}"


lines = []
for folder in ("programs", "misuse", "guarded", "torture", "real"):
    lines += (build / "tests" / folder / "CTestTestfile.cmake").read_text().splitlines()
entries = [entry for entry in map(ENTRY.match, lines) if entry and WANTED.match(entry[2])]
# The scripts of real/ take a library from their environment.
replaced = {entry[2] for entry in entries
            if LIBRARY.search(entry[3]) or entry[2].startswith("real/")}
entries = [entry for entry in entries if entry[2] in replaced and UNWANTED not in entry[2]]
hardened.update(entry[2] for entry in entries if "libmallow_secure.so" in entry[3])
for one in entries:
    print(changed(*one.groups()))
count = sum(one[1] == "add_test" for one in entries)
if count < least:
    print(f'add_test([=[debug/{count} entries are selected, not {least}]=] "false")')
