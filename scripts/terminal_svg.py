#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal_svg.py TITLE <text >picture.svg -- draws what a terminal showed, for the README.

The pictures in doc/pictures are made from real output:
    scripts/demo.sh | sed -n '/report --top/,/more functions/p' | scripts/terminal_svg.py 'make
    demo' >... """
import sys
from xml.sax.saxutils import escape

FONT_PX, LINE_PX, CHAR_PX, MARGIN_PX, BAR_PX = 13, 17, 7.83, 16, 34
COLOURS = {"prompt": "#9ece6a", "heading": "#7aa2f7", "text": "#c9d1d9"}


def colour_of(line):
    if line.startswith("$ "):
        return COLOURS["prompt"]
    return COLOURS["heading"] if line.startswith("== ") or "flat%" in line else COLOURS["text"]


def main():
    title = sys.argv[1]
    lines = [line.rstrip("\n").expandtabs() for line in sys.stdin]
    width = int(max(map(len, lines)) * CHAR_PX + 2 * MARGIN_PX)
    height = len(lines) * LINE_PX + BAR_PX + MARGIN_PX
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
          f'width="{width}" height="{height}" '
          f'role="img" aria-label="{escape(title)}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>')
    for i, dot in enumerate(("#f7768e", "#e0af68", "#9ece6a")):
        print(f'<circle cx="{MARGIN_PX + 6 + i * 18}" cy="{BAR_PX // 2}" r="5" fill="{dot}"/>')
    style = f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="{FONT_PX}"'
    print(f'<text x="{width // 2}" y="{BAR_PX // 2 + 5}" {style} fill="#8b949e" '
          f'text-anchor="middle">{escape(title)}</text>')
    for i, line in enumerate(lines):
        if line:
            # textLength keeps the columns straight whatever font the reader has.
            print(f'<text x="{MARGIN_PX}" y="{BAR_PX + (i + 1) * LINE_PX - 4}" {style} '
                  f'fill="{colour_of(line)}" '
                  f'xml:space="preserve" textLength="{len(line) * CHAR_PX:.0f}">'
                  f'{escape(line)}</text>')
    print("</svg>")


main()
