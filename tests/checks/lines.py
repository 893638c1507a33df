#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lines.py SOURCE_DIR -- no line of a text file is longer than 100 columns; a tab counts 8.

Not looked at: Markdown (documents.py has its rules), JSON (its strings cannot be broken), pictures,
and what programs wrote or read as it is: golden files, expected messages, inputs of tests, the
bundle of the page. A line that is one word without blanks may be longer."""
import os
import re
import subprocess
import sys

LIMIT = 100
LEFT_OUT = re.compile(r"\.(md|json|svg)$|^web/dist/|/(golden|corpus|found|data)/|"
                      r"/expected[a-z_]*\.txt$")


def texts():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True, text=True).stdout
    for name in sorted(set(names.split("\0")) - {""}):
        if LEFT_OUT.search(name) or not os.path.isfile(name):
            continue
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            yield name, text


def main():
    os.chdir(sys.argv[1])
    files = findings = 0
    for name, text in texts():
        files += 1
        for number, line in enumerate(text.split("\n"), 1):
            columns = len(line.expandtabs(8))
            if columns > LIMIT and len(line.split()) > 1:
                print(f"{name}:{number}: {columns} columns, more than {LIMIT}")
                findings += 1
    print(f"{files} files looked at, {findings} findings")
    return 1 if findings or not files else 0


sys.exit(main())
