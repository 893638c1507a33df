# SPDX-License-Identifier: MIT
"""chart.py -- a chart of the ratios as SVG, and as PNG where rsvg-convert is installed."""
import math
import os
import shutil
import subprocess
from xml.sax.saxutils import escape

from figures import counts_for, means

COLOURS = {"jemalloc": "#c05020", "tcmalloc": "#3060b0", "mimalloc": "#309040",
           "mallow": "#000000", "mallow-off": "#909090"}
SPARE_COLOURS = ["#8040a0", "#b0a000", "#008090", "#d04080"]
ROW, LEFT, PLOT, GAP, TOP = 16, 170, 380, 30, 70
LEAST, MOST = 0.125, 4.0  # the axis; what lies beyond is drawn at the edge


def colour_of(names):
    result, spare = {}, iter(SPARE_COLOURS * 4)
    for name in names:
        result[name] = COLOURS.get(name) or next(spare)
    return result


def place(ratio, left):
    """A logarithmic axis: twice and half are as far from one."""
    ratio = min(max(ratio, LEAST), MOST)
    return left + PLOT * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def text(x, y, words, anchor="start", size=11, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>'
            f"{escape(words)}</text>")


def panel(rows, peers, metric, left, title, colours):
    height = ROW * (len(rows) + 1)
    parts = [text(left, TOP - 26, title, size=13, extra=' font-weight="bold"')]
    for tick in (0.125, 0.25, 0.5, 1, 2, 4):
        x = place(tick, left)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{TOP + height}" '
                     f'stroke="{"#808080" if tick == 1 else "#e0e0e0"}"/>')
        parts.append(text(x, TOP - 8, f"{tick:g}", "middle", 9))
    average = means(rows, peers, metric)
    lines = [({p.name: row["peers"][p.name][metric]["ratio"] for p in peers},
              counts_for(row, metric))
             for row in rows] + [(average, True)]
    for i, (ratios, counts) in enumerate(lines):
        y = TOP + ROW * i + ROW / 2
        if not counts:
            continue
        for peer in peers:
            if peer.name == "glibc":
                continue
            x, size = place(ratios[peer.name], left), 4 if peer.name == "mallow" else 3
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" '
                         f'fill="{colours[peer.name]}" fill-opacity="0.8"/>')
    return parts


def svg(rows, peers):
    colours = colour_of([p.name for p in peers if p.name != "glibc"])
    width, height = LEFT + 2 * PLOT + GAP + 20, TOP + ROW * (len(rows) + 1) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>']
    x = 10
    for name, colour in colours.items():
        parts.append(f'<circle cx="{x}" cy="14" r="4" fill="{colour}"/>' + text(x + 8, 18, name))
        x += 30 + 7 * len(name)
    parts.append(text(x + 8, 18, "glibc = 1; left is better"))
    for i, name in enumerate([row["name"] for row in rows] + ["geometric mean"]):
        bold = ' font-weight="bold"' if i == len(rows) else ""
        parts.append(text(LEFT - 10, TOP + ROW * i + ROW / 2 + 4, name, "end", extra=bold))
    parts += panel(rows, peers, "cpu_s", LEFT, "Processor time", colours)
    parts += panel(rows, peers, "peak_kib", LEFT + PLOT + GAP, "Peak resident memory", colours)
    return "\n".join(parts + ["</svg>\n"])


def write(folder, rows, peers):
    """Returns the names of the files written."""
    path = os.path.join(folder, "chart.svg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(rows, peers))
    if not shutil.which("rsvg-convert"):
        print("== rsvg-convert is not installed: no chart.png")
        return [path]
    picture = os.path.join(folder, "chart.png")
    subprocess.run(["rsvg-convert", "-o", picture, path], check=True)
    return [path, picture]
