#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""symbols.py --build DIR [--turns N] [--units N]: how fast a profile is read and named.

Side by side in one run: a profile of some 20,000 stacks from a program with 180 MB of DWARF, by
line, with mallow (without and with the symbols it kept), go tool pprof and jeprof; and a profile of
a million samples without symbols, with mallow and go tool pprof. The program is built once, which
takes minutes; a command that takes more than two is ended. Results go to build/bench/symbols.json,
a table of them to symbols.md beside it."""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time

TIMEOUT_S = 120


def peak_of_group(group):
    """MiB of the largest process of a group, so far."""
    peak = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                found = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
                peak = max(peak, int(found[1]) if found else 0)
        except (OSError, ProcessLookupError):
            continue
    return peak / 1024


def run(command, env=None):
    """Seconds by the clock and of the processors, and peak MiB; for a command that takes too long
    the peak MiB so far."""
    report = pathlib.Path("usage")
    start = time.monotonic()
    child = subprocess.Popen(["/usr/bin/time", "-f", "%U %S %M", "-o", report, *command], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    ended = []

    def end():
        # What it started too: it is the leader of a group of its own.
        ended.append(peak_of_group(child.pid))
        os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(TIMEOUT_S, end)
    timer.start()
    # Not wait(TIMEOUT_S), which looks every 50 ms.
    status = child.wait()
    seconds = time.monotonic() - start
    timer.cancel()
    if ended:
        return {"peak_mib": ended[0]}
    if status != 0:
        raise SystemExit(f"symbols.py: {' '.join(command)}: status {status}")
    user, system, kib = report.read_text().split()[-3:]
    return {"seconds": seconds, "processor_s": float(user) + float(system),
            "peak_mib": int(kib) / 1024}


def build_program(folder, units):
    program = folder / "program"
    here = pathlib.Path(__file__).parent
    subprocess.run(["python3", here / "symbols/generate.py", folder, str(units)], check=True)
    if not program.exists():
        names = [f"unit{n}" for n in range(units)] + ["main"]
        rules = [f"{n}.o: {n}.cc\n\tg++ -O2 -g -c {n}.cc\n" for n in names]
        objects = " ".join(f"{n}.o" for n in names)
        link = f"program: {objects}\n\tg++ -Wl,--build-id -o $@ {objects}\n"
        (folder / "Makefile").write_text(link + "".join(rules))
        subprocess.run(["make", "-C", folder, "-j2", "program"], check=True,
                       stdout=subprocess.DEVNULL)
    return program


def record(build, program, folder):
    """The program's profile, without symbols: for pprof, and for jeprof."""
    env = dict(os.environ, LD_PRELOAD=str(build / "lib/libmallow.so"),
               MALLOW_CONF="lg_prof_sample:0,prof_keep:true")
    child = subprocess.Popen([program], env=env)
    child.wait()
    mallow = build / "bin/mallow"
    for name in ("profile.pb.gz", "profile.heap"):
        subprocess.run([mallow, "dump", "--no-symbols", "-o", folder / name, str(child.pid)],
                       check=True,
                       stderr=subprocess.DEVNULL)
    subprocess.run([mallow, "clean", "--name", "^program$"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def write_million(path):
    """A million samples of 20 frames at 50,000 addresses, as profile.proto."""
    chance = random.Random(1)
    out = bytearray()
    for kind, unit in ((1, 2), (3, 4)):
        out += field(1, field(1, kind) + field(2, unit))
    out += field(3, field(1, 1) + field(2, 0x400000) + field(3, 0x4000000))
    for i in range(1, 50001):
        out += field(4, field(1, i) + field(2, 1) + field(3, 0x400000 + i * 37))
    for _ in range(1000000):
        frames = b"".join(varint(chance.randrange(1, 50001)) for _ in range(20))
        out += field(2, field(1, frames) + field(2, varint(1) + varint(100)))
    for text in ("", "inuse_objects", "count", "inuse_space", "bytes"):
        out += field(6, text.encode())
    path.write_bytes(out)


def as_markdown(table):
    lines = ["| | wall time, s | processor time, s | peak memory, MiB |", "|---|---|---|---|"]
    for name, row in table.items():
        if "seconds_above" in row:
            lines.append(f"| {name} | ended after {row['seconds_above']} | | "
                         f"{row['peak_mib']:.0f} |")
        else:
            lines.append(f"| {name} | {row['seconds']:.2f} | {row['processor_s']:.2f} | "
                         f"{row['peak_mib']:.0f} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--build", required=True, type=pathlib.Path)
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--units", type=int, default=20)
    options = arguments.parse_args()
    build = options.build.resolve()
    folder = build / "bench/symbols"
    folder.mkdir(parents=True, exist_ok=True)
    program = build_program(folder, options.units)
    os.chdir(folder)
    if not pathlib.Path("profile.heap").exists():
        record(build, program, folder)
    if not pathlib.Path("million.pb").exists():
        write_million(pathlib.Path("million.pb"))
    mallow = str(build / "bin/mallow")
    env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), PPROF_TMPDIR=str(folder),
               HOME=str(folder))
    lines = [mallow, "top", "--lines", "--alloc-space", "profile.pb.gz"]
    commands = {
        "mallow, cold": lines,
        "mallow, warm": lines,
        "go tool pprof": ["go", "tool", "pprof", "-top", "-lines", "-alloc_space", "profile.pb.gz"],
        "jeprof": ["jeprof", "--text", "--lines", "--alloc_space", str(program), "profile.heap"],
        "mallow, a million samples": [mallow, "report", "million.pb"],
        "go tool pprof, a million samples": ["go", "tool", "pprof", "-top", "-symbolize=none",
                                             "million.pb"],
    }
    results = {name: [] for name in commands}
    for turn in range(options.turns):
        for name, command in commands.items():
            # The peers take minutes: once is enough to know.
            if turn > 0 and not name.startswith("mallow"):
                continue
            if not shutil.which(command[0]):
                continue
            if name == "mallow, cold":
                shutil.rmtree("cache", ignore_errors=True)
            results[name].append(run(command, env))
    table = {}
    for name, runs in results.items():
        good = [r for r in runs if "seconds" in r]
        if good:
            table[name] = {key: statistics.median(r[key] for r in good) for key in good[0]}
        elif runs:
            table[name] = {"seconds_above": TIMEOUT_S, "peak_mib": max(r["peak_mib"] for r in runs)}
    (build / "bench/symbols.json").write_text(json.dumps(table, indent=2) + "\n")
    text = as_markdown(table)
    (build / "bench/symbols.md").write_text(text)
    print(text, end="")


main()
