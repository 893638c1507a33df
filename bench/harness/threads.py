#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""threads.py -- workloads in which threads free each other's blocks, on 1, 2, 4 and 8 threads.

Called by scripts/bench.sh threads.  The workloads' parameters are ranges, see
bench/workloads/seeded.h; turn t draws its points with the seed S + t, for all allocators alike.
Ratios are therefore taken within a turn; the tables show their medians over the turns."""
import argparse
import json
import os
import re
import statistics
import sys
import time

import measure
import peers as peer_list
from figures import geometric_mean, quartiles
from report import machine, revision
from workloads import Workload

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
THREADS = (1, 2, 4, 8)
RANGES = ("small", "mixed", "large")
ABOVE = 1.10  # of the best peer: listed and bold

# Name, program and arguments; the programs' first lines say what each does.
LOADS = [
    ("handover", "chains handover"),
    ("handover, sized delete", "chains handover --sized"),
    ("no handover", "chains alone"),
    ("short generations", "chains generations"),
    ("producer/consumer 1:1", "pipes pairs"),
    ("producer/consumer 1:n", "pipes spread"),
    ("producer/consumer n:1", "pipes gather"),
    ("bursts", "pipes bursts"),
    ("ring of batches", "ring"),
    ("waves of threads", "waves"),
    ("relay", "relay"),
    ("exchange table", "table"),
]


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh threads",
                                     description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="turns (default 5)")
    parser.add_argument("--quick", action="store_true",
                        help="2 turns, one point for each range of sizes instead of 2")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the first turn (1)")
    parser.add_argument("--only", metavar="REGEX", help="workloads whose name matches")
    parser.add_argument("--threads", default="1,2,4,8", metavar="LIST", help="default 1,2,4,8")
    parser.add_argument("--baseline", metavar="PATH",
                        help="another libmallow.so, to which ratios are shown as well")
    peer_list.add_arguments(parser)
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    return parser.parse_args()


def workload(folder, row, threads, seed, points):
    name, line = row
    words = line.split()
    command = [os.path.join(folder, "workloads", words[0])] + words[1:]
    command += ["--threads", str(threads), "--seed", str(seed), "--points", str(points)]
    return Workload(f"{name} x{threads}", "threads", command)


def find_peers(options):
    library = options.library or os.path.join(options.build, "lib", "libmallow.so")
    only = set(options.allocators.split(",")) if options.allocators else None
    peers = peer_list.find_peers(library, options.peer + [os.environ.get("PEER", "")], only)
    if not any(p.name == "mallow" for p in peers):
        sys.exit("mallow: --allocators: mallow must be among them")
    if options.baseline:
        path = os.path.abspath(options.baseline)
        if not os.path.isfile(path):
            sys.exit(f"mallow: --baseline {path}: no such library")
        peers.append(peer_list.Peer("baseline", path, is_mallow=True))
    return peers


def figures_of(one):
    """One run as a dict: seconds and KiB, of the whole process and of each range of sizes."""
    operations = sum(one.notes[f"{name}_operations"] for name in RANGES)
    result = {"cpu": one.cpu_s, "wall": one.wall_s, "peak": one.peak_kib,
              "ns": one.cpu_s * 1e9 / operations}
    for name in RANGES:
        result[f"cpu {name}"] = max(one.notes[f"{name}_cpu_us"], 1)
        result[f"peak {name}"] = one.notes[f"{name}_peak_kib"]
    return result


def run_all(rows, threads, peers, turns, options):
    """runs[name, threads][peer] is a list of figures_of(), one a turn."""
    folder = os.path.join(options.build, "bench")
    work = os.path.join(folder, "work")
    os.makedirs(work, exist_ok=True)
    runs = {(row[0], count): {p.name: [] for p in peers} for row in rows for count in threads}
    start = time.monotonic()
    for turn in range(turns):
        # Nobody is always first; the sums of one turn are compared with the first run's.
        order = peers[turn % len(peers):] + peers[:turn % len(peers)]
        expected = {}
        for row in rows:
            for count in threads:
                load = workload(folder, row, count, options.seed + turn, 1 if options.quick else 2)
                for peer in order:
                    one = measure.run(os.path.join(folder, "launch"), load, peer, work)
                    measure.check_sums(load, peer, one, expected)
                    runs[row[0], count][peer.name].append(figures_of(one))
        seconds = time.monotonic() - start
        print(f"== turn {turn + 1} of {turns} done after {seconds:.0f} s", flush=True)
    return runs


def ratios(cell, peer, metric, name="mallow"):
    """Turn by turn; None where one of the two is missing."""
    if peer not in cell or name not in cell:
        return None
    return [a[metric] / b[metric] for a, b in zip(cell[name], cell[peer])]


def ratio(cell, peer, metric, name="mallow"):
    values = ratios(cell, peer, metric, name)
    return None if values is None else statistics.median(values)


def rivals(peers, metric):
    """For memory glibc does not count, as in figures.py: it keeps next to no caches."""
    names = [p.name for p in peers if not p.is_mallow]
    if metric.startswith("peak") and len(names) > 1:
        names.remove("glibc")
    return names


def best(cell, peers, metric):
    """The peer to which mallow's ratio is the largest."""
    return max(rivals(peers, metric), key=lambda name: ratio(cell, name, metric))


def to_best(cell, peers, metric):
    return ratio(cell, best(cell, peers, metric), metric)


def shown(value):
    if value is None:
        return ""
    return f"**{value:.2f}**" if value > ABOVE else f"{value:.2f}"


def line(cells):
    return "| " + " | ".join(cells) + " |"


def median(cell, name, metric):
    return statistics.median(figures[metric] for figures in cell[name])


def columns(metric):
    """What is compared with the best peer: the whole process, then each range of sizes."""
    ranges = [f"{metric} {name}" for name in RANGES]
    return [metric] + ranges + (["wall"] if metric == "cpu" else [])


def others(peers):
    """Further libmallows that ratios are shown to, with the heads of their columns."""
    names = [p.name for p in peers]
    return [(name, head) for name, head in (("mallow-off", "sampling on to off"),
                                            ("baseline", "to baseline")) if name in names]


def detail_table(runs, peers, metric):
    unit = "CPU ns an operation" if metric == "cpu" else "MiB"
    heads = ["workload", "threads", unit, "to best", "quartiles", "best peer"] + list(RANGES)
    heads += (["wall"] if metric == "cpu" else []) + [head for _, head in others(peers)]
    lines = [line(heads), "|---" * len(heads) + "|"]
    for (name, threads), cell in runs.items():
        peer = best(cell, peers, metric)
        low, high = quartiles(ratios(cell, peer, metric))
        value = median(cell, "mallow", "ns")
        if metric == "peak":
            value = median(cell, "mallow", "peak") / 1024
        cells = [name, str(threads), f"{value:.1f}", shown(ratio(cell, peer, metric)),
                 f"{low:.2f}-{high:.2f}", peer]
        cells += [shown(to_best(cell, peers, m)) for m in columns(metric)[1:]]
        cells += [shown(ratio(cell, other, metric)) for other, _ in others(peers)]
        lines.append(line(cells))
    return lines


def mean_row(title, cells, peers):
    result = [title]
    for metric in ("cpu", "peak"):
        result += [f"{geometric_mean([to_best(c, peers, m) for c in cells]):.3f}"
                   for m in columns(metric)]
        result += [f"{geometric_mean([ratio(c, other, metric) for c in cells]):.3f}"
                   for other, _ in others(peers)]
    return line(result)


def mean_table(runs, peers):
    """Geometric means of the ratios to the best peer of each workload and number of threads."""
    heads = [""]
    for metric, title in (("cpu", "time"), ("peak", "peak memory")):
        heads += [title] + [f"{title}, {name}" for name in RANGES]
        heads += ["wall"] if metric == "cpu" else []
        heads += [f"{title}, {head}" for _, head in others(peers)]
    lines = [line(heads), "|---" * len(heads) + "|"]
    for count in sorted({threads for _, threads in runs}):
        cells = [cell for (_, threads), cell in runs.items() if threads == count]
        lines.append(mean_row(f"{count} thread{'' if count == 1 else 's'}", cells, peers))
    for name in dict.fromkeys(name for name, _ in runs):
        lines.append(mean_row(name, [c for (other, _), c in runs.items() if other == name], peers))
    lines.append(mean_row("**all**", list(runs.values()), peers))
    return lines


def plain_table(runs, peers, metric, scale):
    heads = ["workload", "threads"] + [p.name for p in peers]
    lines = [line(heads), "|---" * len(heads) + "|"]
    for (name, threads), cell in runs.items():
        lines.append(line([name, str(threads)] +
                          [f"{median(cell, p.name, metric) / scale:.1f}" for p in peers]))
    return lines


def above(runs, peers):
    found = []
    for (name, threads), cell in runs.items():
        for metric, title in (("cpu", "time"), ("peak", "peak memory")):
            value = to_best(cell, peers, metric)
            if value > ABOVE:
                found.append((value, f"- {name} x{threads}: {title} {value:.2f} of "
                                     f"{best(cell, peers, metric)}"))
    return [text for _, text in sorted(found, reverse=True)]


def report(runs, peers, turns, options):
    parts = ["# Blocks of other threads", "",
             f"{machine()}; mallow {revision(ROOT)}; {turns} turns, seeds {options.seed} to "
             f"{options.seed + turns - 1}.", "",
             "Medians of the ratios of each turn; below 1 is better.  The best peer is the one to "
             "which the ratio is the largest, in each column anew; for memory glibc does not "
             "count.  Time is processor time, user and system.  small, mixed, large: blocks of "
             "8 to 64, 8 to 1,000 and 64 to 8,000 bytes; the peak memory of a range is that of the "
             "process until the range ends.",
             "", "## Geometric means of the ratios to the best peer", ""]
    parts += mean_table(runs, peers)
    parts += ["", "## Time", ""] + detail_table(runs, peers, "cpu")
    parts += ["", "## Peak memory", ""] + detail_table(runs, peers, "peak")
    parts += ["", "## CPU ns an operation", ""] + plain_table(runs, peers, "ns", 1)
    parts += ["", "## Peak memory in MiB", ""] + plain_table(runs, peers, "peak", 1024)
    late = above(runs, peers)
    parts += ["", f"## More than {ABOVE:.2f} of the best peer", ""] + (late or ["none"])
    return "\n".join(parts) + "\n"


def write(runs, peers, turns, options):
    folder = os.path.join(options.build, "bench")
    text = report(runs, peers, turns, options)
    with open(os.path.join(folder, "threads.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, "threads.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": machine(), "revision": revision(ROOT), "seed": options.seed,
                   "rows": [{"workload": name, "threads": threads, "runs": cell}
                            for (name, threads), cell in runs.items()]}, file, indent=1)
        file.write("\n")
    return text


def main():
    options = arguments()
    options.build = os.path.abspath(options.build)  # the programs run elsewhere
    rows = [row for row in LOADS if not options.only or re.search(options.only, row[0])]
    threads = [int(word) for word in options.threads.split(",") if word.isdigit()]
    if not rows or not threads:
        sys.exit("mallow: nothing to run: see --list, --only and --threads")
    if options.list:
        print("\n".join(f"{name:24} {command}" for name, command in rows))
        return
    peers = find_peers(options)
    turns = options.runs or (2 if options.quick else 5)
    print(f"== {len(rows)} workloads on {options.threads} threads, {len(peers)} allocators, "
          f"{turns} turns")
    print(write(run_all(rows, threads, peers, turns, options), peers, turns, options))
    print("== written: build/bench/threads.md build/bench/threads.json")


if __name__ == "__main__":
    main()
