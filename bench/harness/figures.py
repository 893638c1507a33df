# SPDX-License-Identifier: MIT
"""figures.py -- medians, quartiles, ratios and geometric means of what was measured."""
import math
import statistics

METRICS = ("wall_s", "cpu_s", "peak_kib")


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def summarise(workloads, peers, runs):
    """runs[workload][peer] is a list of measures, one a turn.  Returns a list of rows, each a dict:
    for each metric and peer the median, and the ratio to glibc in the same turn: its median and
    quartiles."""
    rows = []
    for workload in workloads:
        row = {"name": workload.name, "group": workload.group, "timed": workload.timed, "peers": {}}
        base = runs[workload.name]["glibc"]
        for peer in peers:
            measures = runs[workload.name][peer.name]
            cell = {"notes": measures[-1].notes,
                    "system_s": statistics.median(m.system_s for m in measures),
                    "faults": statistics.median(m.faults for m in measures)}
            for metric in METRICS:
                values = [getattr(m, metric) for m in measures]
                # The processor clock ticks in microseconds; a run of none is one of one.
                ratios = [max(getattr(m, metric), 1e-6) / max(getattr(b, metric), 1e-6)
                          for m, b in zip(measures, base)]
                cell[metric] = {"median": statistics.median(values), "all": values,
                                "ratio": statistics.median(ratios), "quartiles": quartiles(ratios)}
            row["peers"][peer.name] = cell
        rows.append(row)
    return rows


def counts_for(row, metric):
    return row["timed"] or metric == "peak_kib"


def means(rows, peers, metric):
    """Geometric mean of the ratios to glibc, for each peer."""
    return {p.name: geometric_mean([row["peers"][p.name][metric]["ratio"] for row in rows
                                    if counts_for(row, metric)]) for p in peers}


def rivals(peers, metric):
    """All but mallow.  For memory glibc does not count, if there are others: it keeps next to no
    caches, and pays for that in time."""
    names = [p.name for p in peers if not p.is_mallow]
    if metric == "peak_kib" and len(names) > 1:
        names.remove("glibc")
    return names


def best_peer(row, peers, metric):
    """The best rival: its name and median."""
    name = min(rivals(peers, metric), key=lambda n: row["peers"][n][metric]["median"])
    return name, row["peers"][name][metric]["median"]


def best_mean(average, peers, metric):
    """The best peer by geometric mean: its name."""
    return min(rivals(peers, metric), key=average.get)


def against_best(row, peers, metric, name="mallow"):
    best = best_peer(row, peers, metric)[1]
    return row["peers"][name][metric]["median"] / max(best, 1e-6)


def sampling_cost(row, metric):
    """mallow with sampling to mallow without, turn by turn: the median; None if one is missing."""
    if "mallow" not in row["peers"] or "mallow-off" not in row["peers"]:
        return None
    on = row["peers"]["mallow"][metric]["all"]
    off = row["peers"]["mallow-off"][metric]["all"]
    return statistics.median(max(a, 1e-6) / max(b, 1e-6) for a, b in zip(on, off))
