#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers.py SOURCE_DIR [BUILD_DIR] -- folders use each other as scripts/layers.txt says, in no
ring.

Two things are looked at in src/, compat/ and tools/mallow/: each #include, and, with BUILD_DIR,
each symbol that an object file uses and another folder's object file defines.  A declaration marked
MW_HOOK in a header names what a folder above defines for the header's folder: calls from there, and
from folders that may use the header, may go up.
Each folder with headers has one door: the header to read first.
Exit status: 0 as the file says, 1 not, 77 the build's object files hold no symbols (link-time
optimisation) and the includes are as the file says.
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOTS = ("src", "compat", "tools/mallow")
# Folders of object files, and of their sources.  Variations of the library add sources of their
# own.
LIBRARY = {
    "src/CMakeFiles/mallow_objects.dir": "src",
    "src/CMakeFiles/mallow_objects_secure.dir": "src",
    "src/CMakeFiles/mallow_objects.dir/__/compat": "compat",
    "src/CMakeFiles/mallow_archive_objects.dir": "src",
    # Libraries of their own.
    "compat/mimalloc/CMakeFiles/mallow_mimalloc.dir": "compat/mimalloc",
    "compat/gperftools/CMakeFiles/mallow_gperftools.dir": "compat/gperftools",
    "compat/gperftools/CMakeFiles/mallow_gperftools.dir/__/leaks": "compat/leaks",
    "compat/lsan/CMakeFiles/mallow_lsan.dir": "compat/lsan",
}
COMMAND = {"tools/CMakeFiles/mallow_tool.dir/mallow": "tools/mallow"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
DOOR = re.compile(r"\b[Dd]oor of|door of this folder|[Tt]he folder's door")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
HOOK = re.compile(r"\bMW_HOOK\b[^;{]*?\b(\w+)\s*(?:\(|\[|;|=)")


def full_name(entry):
    """An entry's folder or header from the top: those of the library are relative to src/, those of
    the command to tools/mallow/, and those of compat/ begin so."""
    if entry.startswith("compat/"):
        return entry if os.path.exists(entry) else None
    found = [f"{root}/{entry}" for root in ("src", "tools/mallow")
             if os.path.exists(f"{root}/{entry}")]
    if len(found) > 1:
        sys.exit(f"scripts/layers.txt: {entry} is in both {' and '.join(found)}")
    return found[0] if found else None


def folders_of(entry):
    """The folders that an entry names: all below a folder that holds no files itself."""
    if os.path.isdir(entry):
        below = [folder for folder, _, files in os.walk(entry) if files]
        return below if entry not in below else [entry]
    return [entry]


def row_lines(path):
    """(line number, row) of each row: a line that begins with a blank continues the row before."""
    found = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace() and found:
            found[-1][1] += " " + line.strip()
        else:
            found.append([number, line.strip()])
    return found


def read_rows(path):
    """The folders and headers that each folder may use, the layer of each folder (the first folder
    of its row), and what is wrong with the rows."""
    rows, layers, bad = {}, {}, []
    for number, line in row_lines(path):
        names, _, entries = line.partition(":")
        used = {full_name(entry) for entry in entries.split()}
        if None in used:
            missing = [entry for entry in entries.split() if not full_name(entry)]
            bad.append(f"{path}:{number}: there is no {', '.join(missing)}")
        used = {folder for entry in used - {None} for folder in folders_of(entry)}
        for folder in names.split():
            if folder in rows:
                bad.append(f"{path}:{number}: {folder} has a row already")
            # Folders in front of one colon are one layer.
            rows[folder] = used | set(names.split())
            layers[folder] = names.split()[0]
    return rows, layers, bad


def folder_of(used):
    return os.path.dirname(used) if used.endswith((".h", ".def")) else used


def find_ring(rows, layers):
    """Layers that use each other in a ring, in order; empty where there is none."""
    arrows = collections.defaultdict(set)
    for folder, entries in rows.items():
        used = {layers[folder_of(entry)] for entry in entries if folder_of(entry) in rows}
        arrows[layers[folder]] |= used - {layers[folder]}
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return []
        path.append(folder)
        for used in sorted(arrows[folder]):
            ring = visit(used)
            if ring:
                return ring
        done.add(path.pop())
        return []

    for folder in sorted(arrows):
        ring = visit(folder)
        if ring:
            return ring
    return []


def check_doors(files):
    """Each folder with headers has one whose first comment says that it is the folder's door."""
    doors = collections.defaultdict(list)
    for path in files:
        if path.endswith(".h"):
            comment = COMMENT.search(open(path, encoding="utf-8").read())
            is_door = comment and DOOR.search(" ".join(comment[0].split()))
            doors[os.path.dirname(path)] += [path] if is_door else []
    for folder, paths in sorted(doors.items()):
        if len(paths) != 1:
            yield f"{folder}: {len(paths)} headers say that they are its door, not one"


def check_includes(files, rows):
    for path in files:
        folder = os.path.dirname(path)
        if folder not in rows:
            yield f"{path}: its folder has no row in scripts/layers.txt"
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            found = INCLUDE.match(line)
            # Without a folder: generated at build time.
            if not found or "/" not in found[1]:
                continue
            if "../" in found[1]:
                yield f"{path}:{number}: \"{found[1]}\": no relative paths upwards"
                continue
            used = full_name(found[1])
            owner = os.path.dirname(used or "")
            if used and owner != folder and not {used, owner} & rows[folder]:
                yield f"{path}:{number}: {folder} may not include \"{found[1]}\""


def read_symbols(build, program):
    """The sources that define each symbol, and the symbols that each source uses."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    objects = {}
    for folder, root in program.items():
        for path in glob.glob(f"{build}/{folder}/**/*.o", recursive=True):
            source = re.sub(r"\.o$", "", root + path[len(f"{build}/{folder}"):])
            # One of a file that has been moved may still be there.
            if os.path.exists(source):
                objects[path] = source
    if not objects:
        sys.exit(f"no object files under {build}")
    listing = subprocess.run(["nm", "-A", "-P", *sorted(objects)], check=True,
                             capture_output=True, text=True).stdout
    for line in listing.splitlines():
        path, rest = line.rsplit(": ", 1)
        symbol, kind = rest.split()[:2]
        if kind in "Uw":
            used[objects[path]].add(symbol)
        elif kind.isupper():
            defined[symbol].add(objects[path])
    return defined, used


def public_names():
    """What the library exports: libraries of compat/ call it as any program does."""
    found = set()
    for path in ["src/api/exports.map", *glob.glob("compat/*/exports.txt")]:
        if os.path.exists(path):
            found.update(re.findall(r"^\t?(\w+)\b", open(path, encoding="utf-8").read(), re.M))
    return found


def check_calls(files, rows, build, program):
    public = public_names()
    hooks, words = collections.defaultdict(set), {}
    for path in files:
        if path.endswith(".h"):
            text = COMMENT.sub("", open(path, encoding="utf-8").read())
            for symbol in HOOK.findall(text):
                hooks[symbol] |= {path, os.path.dirname(path)}
            words[path] = set(re.findall(r"\w+", text))
    # A symbol that no header declares replaces one of libc's, which any folder may use.
    declared = set().union(*words.values())
    defined, used = read_symbols(build, program)
    if not defined:
        print("the object files hold no symbols: calls are not looked at")
        sys.exit(77)
    for source in sorted(used):
        folder = os.path.dirname(source)
        allowed = rows.get(folder, set())
        for symbol in sorted(used[source] & set(defined) & declared):
            owners = {os.path.dirname(path) for path in defined[symbol]}
            if folder in owners or owners & allowed or hooks[symbol] & (allowed | {folder}):
                continue
            if source.startswith("compat/") and symbol in public:
                continue
            if any(symbol in words.get(header, ()) for header in allowed):
                continue
            sources = ", ".join(sorted(defined[symbol]))
            yield f"{source}: {folder} may not use {symbol} of {sources}"


def main():
    os.chdir(sys.argv[1])
    files = sorted(path for root in ROOTS for kind in ("c", "h", "def")
                   for path in glob.glob(f"{root}/**/*.{kind}", recursive=True)
                   if "/include/" not in path)
    if not files:
        sys.exit(f"no sources in {sys.argv[1]}")
    rows, layers, bad = read_rows("scripts/layers.txt")
    missing = [folder for folder in rows if not os.path.isdir(folder)]
    bad += [f"scripts/layers.txt: there is no {folder}" for folder in missing]
    ring = find_ring(rows, layers)
    if ring:
        bad.append("scripts/layers.txt: a ring: " + " uses ".join(ring))
    bad += check_doors(files)
    bad += check_includes(files, rows)
    if not bad and len(sys.argv) > 2:
        for program in (LIBRARY, COMMAND):
            bad += check_calls(files, rows, sys.argv[2], program)
    summary = f"{len(files)} files in {len(rows)} folders looked at, {len(bad)} findings"
    print(*bad, summary, sep="\n")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
