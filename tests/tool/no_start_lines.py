#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_start_lines.py PROFILE... -- takes the lines at which functions begin out of profiles of
pprof's format. Tables of files have, in pprof, a row of a file for each of these lines."""
import gzip
import sys

from wire import field, read_fields

FUNCTION, START_LINE = 5, 5  # fields of Profile and of Function (profile.proto)


def without(data):
    parts = []
    for number, start, inside, end in read_fields(data):
        if number == FUNCTION:
            function = data[inside:end]
            kept = [function[s:e] for n, s, _, e in read_fields(function) if n != START_LINE]
            parts.append(field(FUNCTION, b"".join(kept)))
        else:
            parts.append(data[start:end])
    return b"".join(parts)


for path in sys.argv[1:]:
    with gzip.open(path) as file:
        profile = file.read()
    with gzip.open(path, "wb") as file:
        file.write(without(profile))
