#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clang_sources.py SOURCE_DIR BUILD_DIR -- clang accepts every source of what is installed, with
the options of the preset clang and warnings as errors.  No code is made: the presets asan (all but
src/api and compat) and clang (by hand) do that.  Headers that a build makes are those of the
release.  Exit status 77 (skipped) without clang."""
import collections
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

FILES_AT_ONCE = 40
LEAST = 550


def kept(words):
    """Options that the front end of the compiler knows."""
    words = iter(words)
    for word in words:
        if word in ("-o", "-c"):
            next(words)
        elif word in ("-I", "-isystem", "-include", "-D"):
            yield word
            yield next(words)
        elif word.startswith(("-D", "-I", "-W", "-std=", "-f", "-m", "-O", "-p")):
            if not (word.startswith("-D") and word.endswith("_EXPORTS")) and word != "-fPIC":
                yield word


def groups(preset, release):
    """Sources by compiler and options, each with the first options that it is compiled with."""
    with open(os.path.join(preset, "compile_commands.json"), encoding="utf-8") as file:
        text = file.read().replace(preset + "/", release + "/")
    found, seen = collections.defaultdict(list), set()
    for entry in json.loads(text):
        words = shlex.split(entry["command"])
        if entry["file"] not in seen:
            seen.add(entry["file"])
            found[(words[0], *kept(words[1:]))].append(entry["file"])
    for options, files in found.items():
        for start in range(0, len(files), FILES_AT_ONCE):
            yield list(options), files[start:start + FILES_AT_ONCE]


def compile_all(task):
    options, files = task
    return subprocess.run(options + ["-fsyntax-only", "-Wno-unused-command-line-argument"] + files,
                          capture_output=True, text=True, check=False)


def main():
    source, release = (os.path.realpath(folder) for folder in sys.argv[1:3])
    if shutil.which("clang") is None:
        print("skipped: clang is not installed")
        return 77
    preset = os.path.join(release, "preset-clang")
    made = subprocess.run(["cmake", "--preset", "clang", "-B", preset, "-DMALLOW_TESTS=OFF"],
                          cwd=source, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(made.stdout[-2000:], made.stderr[-2000:])
        return 1
    tasks = list(groups(preset, release))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(compile_all, tasks))
    failed = [result for result in results if result.returncode != 0]
    for result in failed:
        print(result.stderr[:4000])
    count = sum(len(files) for _, files in tasks)
    print(f"{count} sources in {len(tasks)} runs of clang, {len(failed)} failed")
    return 1 if failed or count < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
