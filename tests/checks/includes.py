#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""includes.py SOURCE_DIR BUILD_DIR -- no source file includes a header of the project without using
it.

include-what-you-use finds such lines.  A source of the library is looked at as the plain, the
hardened and the debug library have it: a line counts if it is superfluous in all of them.  A file
that the tool would also add headers to is left out, because a header may come by way of another.
Exit status: 0 none, 1 some, 77 the tool is not installed."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

TOOL = "include-what-you-use"
FLAGS = ["-Xiwyu", "--no_fwd_decls", "-std=gnu11", "-D_GNU_SOURCE", "-DMALLOW_VERSION=\"\"",
         "-DMALLOW_BUILT_IN_CONF=\"\"", "-Iinclude", "-Isrc"]
VARIATIONS = [[], ["-DMW_HARDENED=1"], ["-DMW_DEBUG=1", "-DMW_TESTING=1"]]
PART = re.compile(r"^(\S+) should add these lines:\n(.*?)^\S+ should remove these lines:\n(.*?)"
                  r"^The full include-list", re.M | re.S)
REMOVED = re.compile(r'^- #include "([^"]+)"', re.M)


def superfluous(source, flags):
    """(source, header) of each include line of the source that is not needed."""
    said = subprocess.run([TOOL, *FLAGS, *flags, source], stderr=subprocess.PIPE, text=True,
                          check=False).stderr
    found = set()
    for name, added, removed in PART.findall(said):
        # A header that is not used itself may stand for one that is.
        if os.path.relpath(name) == source and '#include "' not in added:
            found |= {(source, header) for header in REMOVED.findall(removed)}
    return found


def look_at(source, build):
    if source.startswith("tools/"):
        generated = {os.path.dirname(path)
                     for path in glob.glob(f"{build}/tools/**/*.pb-c.h", recursive=True)}
        return superfluous(source, ["-Itools/mallow", *(f"-I{path}" for path in generated),
                                    "-DMALLOW_PAGES=\"\""])
    found = superfluous(source, VARIATIONS[0])
    for flags in VARIATIONS[1:]:
        if found:
            found &= superfluous(source, flags)
    return found


def main():
    os.chdir(sys.argv[1])
    build = sys.argv[2]
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is not installed")
        return 77
    sources = sorted(path for root in ("src", "tools/mallow")
                     for path in glob.glob(f"{root}/**/*.c", recursive=True))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        findings = set().union(*pool.map(lambda source: look_at(source, build), sources))
    for name, header in sorted(findings):
        print(f'{name}: "{header}" is not used')
    print(f"{len(sources)} sources looked at, {len(findings)} findings")
    return 1 if findings or not sources else 0


sys.exit(main())
