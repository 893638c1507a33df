#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""includes.py SOURCE_DIR BUILD_DIR [FILE...] -- no file includes a header of the project without
using it.  With files, relative to SOURCE_DIR, only these are looked at.

include-what-you-use finds such lines, in a source and in the header of its name in one run; other
headers have a run of their own.  A file of the library is looked at as the plain, the hardened and
the debug library have it, and as another processor's compiler sees it where its headers are
installed: a line counts if it is superfluous in all of them.  A file that the tool would also add
headers to is left out, because a header may come by way of another.
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
         "-DMALLOW_BUILT_IN_CONF=\"\"", "-Iinclude", "-Isrc", "-I.",
         "-Icompat/jemalloc/include", "-Icompat/mimalloc/include", "-Icompat/gperftools/include"]
OTHER_PROCESSOR = "aarch64-linux-gnu"
VARIATIONS = [[], ["-DMW_HARDENED=1"], ["-DMW_DEBUG=1", "-DMW_TESTING=1"]]
if shutil.which(f"{OTHER_PROCESSOR}-gcc"):
    VARIATIONS.append([f"--target={OTHER_PROCESSOR}"])
PART = re.compile(r"^(\S+) should add these lines:\n(.*?)^\S+ should remove these lines:\n(.*?)"
                  r"^The full include-list", re.M | re.S)
REMOVED = re.compile(r'^- #include "([^"]+)"', re.M)


def superfluous(path, flags):
    """(file, header) of each include line that is not needed, in the file and in its header."""
    said = subprocess.run([TOOL, *FLAGS, *flags, path], stderr=subprocess.PIPE, text=True,
                          check=False).stderr
    if "file not found" in said:
        sys.exit(f"{path} cannot be looked at {flags}: {said}")
    looked_at = {path, re.sub(r"\.c$", ".h", path)}
    found = set()
    for name, added, removed in PART.findall(said):
        name = os.path.relpath(name)
        # A header that is not used itself may stand for one that is.
        if name in looked_at and '#include "' not in added:
            found |= {(name, header) for header in REMOVED.findall(removed)}
    return found


def look_at(path, build):
    if path.startswith("tools/"):
        generated = {os.path.dirname(header)
                     for header in glob.glob(f"{build}/tools/**/*.pb-c.h", recursive=True)}
        return superfluous(path, ["-Itools/mallow", *(f"-I{folder}" for folder in generated),
                                  "-DMALLOW_PAGES=\"\""])
    found = superfluous(path, VARIATIONS[0])
    for flags in VARIATIONS[1:]:
        if found:
            found &= superfluous(path, flags)
    return found


def main():
    os.chdir(sys.argv[1])
    build = sys.argv[2]
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is not installed")
        return 77
    files = {kind: {path for root in ("src", "compat", "tools/mallow")
                    for path in glob.glob(f"{root}/**/*.{kind}", recursive=True)}
             for kind in "ch"}
    if len(sys.argv) > 3:
        files = {kind: paths & set(sys.argv[3:]) for kind, paths in files.items()}
    alone = {path for path in files["h"] if path[:-1] + "c" not in files["c"]}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        findings = set().union(*pool.map(lambda path: look_at(path, build),
                                         sorted(files["c"] | alone)))
    for name, header in sorted(findings):
        print(f'{name}: "{header}" is not used')
    print(f"{len(files['c'])} sources and {len(files['h'])} headers looked at, "
          f"{len(findings)} findings")
    return 1 if findings or not files["c"] | files["h"] else 0


sys.exit(main())
