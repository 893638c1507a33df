#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""folder_picture.py [--check] -- draws the folders of doc/ARCHITECTURE.md and their arrows.

The folders are the rows of scripts/layers.txt, the arrows the #includes of their files.  An arrow
that follows from others is left out: where A uses B and B uses C, none is drawn from A to C.
--check changes nothing; its exit status is 1 when the document's pictures are not these.
"""
import difflib
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/checks"))
sys.dont_write_bytecode = True
import layers as rules  # noqa: E402

DOCUMENT = "doc/ARCHITECTURE.md"
BEGIN = "<!-- folders:begin  Written by scripts/folder_picture.py. -->"
END = "<!-- folders:end -->"


def used_layers(layer_of):
    """For each layer the layers whose headers its files include."""
    used = {layer: set() for layer in layer_of.values()}
    for folder, layer in layer_of.items():
        for path in glob.glob(f"{folder}/*.[ch]") + glob.glob(f"{folder}/*.def"):
            for line in open(path, encoding="utf-8"):
                found = rules.INCLUDE.match(line)
                header = rules.full_name(found[1]) if found and "/" in found[1] else None
                owner = layer_of.get(os.path.dirname(header or ""))
                if owner and owner != layer:
                    used[layer].add(owner)
    return used


def reachable(used, layer):
    """All that a layer uses, also by way of others."""
    found, waiting = set(), [layer]
    while waiting:
        for other in used[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def without_implied(used):
    """The arrows that do not follow from others."""
    reach = {layer: reachable(used, layer) for layer in used}
    return {layer: {other for other in others
                    if not any(other in reach[between] for between in others - {other})}
            for layer, others in used.items()}


def draw(root, layer_of, arrows):
    names = [layer for layer in arrows if layer.startswith(root)]
    outside = sorted({other for name in names for other in arrows[name]} - set(names))
    # Identifiers that stay when a folder is added: git then merges the picture line by line.
    ident = {name: os.path.relpath(name, root).replace("../", "").replace("/", "_")
             for name in names + outside}
    lines = ["```mermaid", "flowchart TB"]
    for name in names + outside:
        folders = [folder for folder, layer in layer_of.items() if layer == name]
        shown = [folder if name in outside else os.path.relpath(folder, root)
                 for folder in folders]
        label = "<br>".join(shown)
        lines.append(f'    {ident[name]}["{label}"]')
    for name in names:
        to = " & ".join(ident[other] for other in sorted(arrows[name]))
        lines += [f"    {ident[name]} --> {to}"] if to else []
    return lines + ["```"]


def main():
    os.chdir(ROOT)
    _, layer_of, bad = rules.read_rows("scripts/layers.txt")
    if bad:
        sys.exit("\n".join(bad))
    arrows = without_implied(used_layers(layer_of))
    picture = [BEGIN, "", "The library, `src/`:", "", *draw("src", layer_of, arrows), "",
               "Other allocators' interfaces, `compat/`:", "",
               *draw("compat", layer_of, arrows), "",
               "The command, `tools/mallow/`:", "", *draw("tools/mallow", layer_of, arrows), "",
               END]
    text = open(DOCUMENT, encoding="utf-8").read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{DOCUMENT}: the marks '{BEGIN}' and '{END}' are not there once each")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = before + "\n".join(picture) + after
    if "--check" not in sys.argv:
        open(DOCUMENT, "w", encoding="utf-8").write(new)
        return
    for line in difflib.unified_diff((BEGIN + old + END).split("\n"), picture, DOCUMENT,
                                     "the folders as they are", lineterm="", n=1):
        print(line)
    print(f"{len(arrows)} layers looked at")
    if new != text:
        sys.exit(f"{DOCUMENT}: its pictures are not of the folders; run scripts/folder_picture.py")


main()
