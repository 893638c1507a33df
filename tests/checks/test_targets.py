#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_targets.py BUILD_DIR LEAST [CTEST OPTION...] -- the targets of ninja that the selected tests
need, one a line, before anything is built: what the tests run, preload or are given by name.  Fewer
than LEAST tests: status 1, as a test that was renamed is in no list any more."""
import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    build, least, options = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    names = re.findall(r"^ *Test +#\d+: (.*)$",
                       run("ctest", "--test-dir", str(build), "-N", *options), re.M)
    names = [name.strip() for name in names]
    if len(names) < least:
        print(f"{len(names)} tests are selected, not {least}: {' '.join(options)}", file=sys.stderr)
        return 1
    outputs = {line.rpartition(": ")[0] for line in
               run("ninja", "-C", str(build), "-t", "targets", "all").splitlines()}
    wanted = set()
    # One a line; the name is in quotes or brackets, or stands alone.
    about_test = re.compile(r"(?:add_test|set_tests_properties)"
                            r"\((?:\[=*\[|\")?(.*?)(?:\]=*\]|\")?[ )]")
    inside = re.compile(re.escape(str(build)) + r"/([^\";=\]\s]+)")
    for file in build.rglob("CTestTestfile.cmake"):
        for line in file.read_text().splitlines():
            found = about_test.match(line)
            if found and found.group(1) in names:
                wanted.update(inside.findall(line))
                if f'"{build}"' in line:  # a script that finds the library itself
                    wanted.add("lib/libmallow.so")
    print("\n".join(sorted(wanted & outputs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
