# SPDX-License-Identifier: MIT
"""report.py -- the tables, as Markdown, and the JSON file."""
import json
import os
import platform
import subprocess

import huge_pages
from figures import (against_best, best_mean, best_peer, counts_for, geometric_mean, means,
                     sampling_cost)

TITLES = {"wall_s": "Wall time", "cpu_s": "Processor time (user and system)",
          "peak_kib": "Peak resident memory"}


def machine():
    """One line: processor, cores, kernel, C library, load."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = os.getloadavg()[0]
    return (f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"{' '.join(platform.libc_ver())}, huge pages {huge_pages.setting()}, "
            f"load {load:.1f} at the end")


def revision(root):
    done = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def shown(value, metric):
    if metric == "peak_kib":
        return f"{value / 1024:.1f} MiB"
    return f"{value * 1000:.0f} ms"


def table(rows, peers, metric):
    """Ratios to glibc (median; for mallow the quartiles too), then mallow to the best peer."""
    has_mallow = any(p.name == "mallow" for p in peers)
    heads = ["workload", "glibc"] + [p.name for p in peers if p.name != "glibc"]
    if has_mallow:
        heads += ["quartiles", "best peer", "to best", "sampling"]
    lines = [f"### {TITLES[metric]}", "", "| " + " | ".join(heads) + " |",
             "|---" * len(heads) + "|"]
    for row in rows:
        if not counts_for(row, metric):
            continue
        cells = [row["name"], shown(row["peers"]["glibc"][metric]["median"], metric)]
        cells += [f"{row['peers'][p.name][metric]['ratio']:.2f}" for p in peers
                  if p.name != "glibc"]
        if has_mallow:
            low, high = row["peers"]["mallow"][metric]["quartiles"]
            ratio = against_best(row, peers, metric)
            cost = sampling_cost(row, metric)
            cells += [f"{low:.2f}-{high:.2f}", best_peer(row, peers, metric)[0],
                      f"**{ratio:.2f}**" if ratio > 1.1 else f"{ratio:.2f}",
                      "" if cost is None else f"{cost:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    average = means(rows, peers, metric)
    cells = ["geometric mean", "1.00"] + [f"{average[p.name]:.3f}" for p in peers
                                          if p.name != "glibc"]
    if has_mallow:
        best = best_mean(average, peers, metric)
        costs = [sampling_cost(row, metric) for row in rows if counts_for(row, metric)]
        cost = "" if None in costs else f"{geometric_mean(costs):.3f}"
        cells += ["", best, f"{average['mallow'] / average[best]:.3f}", cost]
    lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def notes_table(rows, peers):
    """What workloads said of their own: resident memory after all was freed, and the like."""
    lines = ["### What the workloads saw themselves: resident memory in KiB, counts", "",
             "| workload | figure | " + " | ".join(p.name for p in peers) + " |",
             "|---" * (len(peers) + 2) + "|"]
    found = False
    for row in rows:
        for key in row["peers"]["glibc"]["notes"]:
            found = True
            lines.append("| " + " | ".join([row["name"],
                                            key.replace("_kib", "").replace("_", " ")] + [
                str(row["peers"][p.name]["notes"].get(key, "")) for p in peers]) + " |")
    return "\n".join(lines) + "\n" if found else ""


def behind(rows, peers, metric, limit=1.1):
    """Lines naming where mallow is more than `limit` of the best peer, worst first."""
    if not any(p.name == "mallow" for p in peers):
        return []
    found = [(against_best(row, peers, metric), row) for row in rows if counts_for(row, metric)]
    return [f"{row['name']}: {ratio:.2f} of {best_peer(row, peers, metric)[0]} ({metric})"
            for ratio, row in sorted(found, key=lambda pair: -pair[0]) if ratio > limit]


def short_table(rows, peers, turns, root):
    """The table of doc/measurements/workloads.md: a row a workload, processor time, peak memory."""
    lines = [f"{machine()}; mallow {revision(root)}; {turns} turns.", "",
             "| workload | time to glibc | to the best peer | sampling on to off | "
             "peak memory to glibc | to the best peer | on to off |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["name"]]
        for metric in ("cpu_s", "peak_kib"):
            if not counts_for(row, metric):
                cells += ["", "", ""]
                continue
            best = best_peer(row, peers, metric)[0]
            cells += [f"{row['peers']['mallow'][metric]['ratio']:.2f}",
                      f"{against_best(row, peers, metric):.2f} ({best})",
                      f"{sampling_cost(row, metric):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["**geometric mean**"]
    for metric in ("cpu_s", "peak_kib"):
        average = means(rows, peers, metric)
        best = best_mean(average, peers, metric)
        cost = geometric_mean([sampling_cost(r, metric) for r in rows if counts_for(r, metric)])
        cells += [f"**{average['mallow']:.3f}**",
                  f"**{average['mallow'] / average[best]:.3f}** ({best})",
                  f"**{cost:.3f}**"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |"]) + "\n"


def write(folder, rows, peers, turns, root):
    """Writes table.md, short.md and results.json; returns the text of the first."""
    head = (f"# Benchmark\n\n{machine()}; mallow {revision(root)}; {turns} turns.\n\n"
            "Ratios are to glibc in the same turn: medians; below 1 is better.  `quartiles` are "
            "those of mallow's ratio, `to best` is mallow's median to the best peer's, `sampling` "
            "is mallow with sampling (the default) to mallow without.\n")
    parts = [head] + [table(rows, peers, metric) for metric in TITLES] + [notes_table(rows, peers)]
    late = behind(rows, peers, "cpu_s") + behind(rows, peers, "peak_kib")
    if late:
        parts.append("### More than 1.10 of the best peer\n\n" +
                     "".join(f"- {line}\n" for line in late))
    text = "\n".join(part for part in parts if part)
    with open(os.path.join(folder, "table.md"), "w", encoding="utf-8") as file:
        file.write(text)
    if {"mallow", "mallow-off"} <= {p.name for p in peers} and len(peers) > 3:
        with open(os.path.join(folder, "short.md"), "w", encoding="utf-8") as file:
            file.write(short_table(rows, peers, turns, root))
    data = {"machine": machine(), "revision": revision(root), "turns": turns,
            "means": {metric: means(rows, peers, metric) for metric in TITLES}, "rows": rows}
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    return text
