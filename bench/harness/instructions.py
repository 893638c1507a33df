# SPDX-License-Identifier: MIT
"""instructions.py -- instructions a turn of each fast path, for each allocator, by callgrind."""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

OPERATIONS = [
    ("malloc", "malloc(64), free"),
    ("calloc", "calloc(1, 64), free"),
    ("realloc", "realloc in place, 56 to 63 bytes"),
    ("aligned", "aligned_alloc(64, 192), free"),
    ("new", "operator new(64), sized delete"),
    ("1k", "malloc(1 KiB), free"),
    ("8k", "malloc(8 KiB), free"),
    ("32k", "malloc(32 KiB), free"),
    ("256k", "malloc(256 KiB), free"),
    ("queue", "the oldest of 1000 mixed small blocks replaced"),
]
FEW, MANY = 20000, 220000  # far enough apart that a refill or a sample more does not show


def total(program, operation, count, peer):
    environment = dict(os.environ, LD_PRELOAD=peer.preload, **peer.environment)
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           program, operation, str(count)],
                          capture_output=True, text=True, env=environment, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        print(done.stderr, file=sys.stderr)
        return None
    return int(found.group(1))


def count(program, operation, peer):
    few, many = (total(program, operation, n, peer) for n in (FEW, MANY))
    return None if few is None or many is None else (many - few) / (MANY - FEW)


def write(folder, peers):
    """Writes instructions.md and instructions.json, prints the table, returns the files' names."""
    program = os.path.join(folder, "instructions")
    if not shutil.which("valgrind"):
        print("== valgrind is not installed: no instruction counts")
        return []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # counts do not depend on the machine's load
        jobs = {(key, p.name): pool.submit(count, program, key, p)
                for key, _ in OPERATIONS for p in peers}
        counts = {key: job.result() for key, job in jobs.items()}
    lines = ["### Instructions a turn (callgrind)", "",
             "| | " + " | ".join(p.name for p in peers) + " |", "|---" * (len(peers) + 1) + "|"]
    for key, title in OPERATIONS:
        cells = [counts[key, p.name] for p in peers]
        lines.append(f"| {title} | " + " | ".join("failed" if c is None else f"{c:.1f}"
                                                  for c in cells) + " |")
    print("\n".join(lines) + "\n")
    paths = [os.path.join(folder, "instructions.md"), os.path.join(folder, "instructions.json")]
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(paths[1], "w", encoding="utf-8") as file:
        json.dump({key: {p.name: counts[key, p.name] for p in peers} for key, _ in OPERATIONS},
                  file, indent=1)
        file.write("\n")
    return paths
