#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_start_lines.py PROFILE... -- takes the lines at which functions begin out of profiles of
pprof's format. Tables of files have, in pprof, a row of a file for each of these lines."""
import gzip
import sys

FUNCTION, START_LINE = 5, 5  # fields of Profile and of Function (profile.proto)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields number, start, content's start and end of each field; varints and byte strings."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        inside = at
        value, at = varint(data, at)
        if key & 7 == 2:
            inside, at = at, at + value
        elif key & 7 != 0:
            raise ValueError(f"field {key >> 3} has type {key & 7}")
        yield key >> 3, start, inside, at


def encode(number):
    result = b""
    while number > 127:
        result += bytes([number & 127 | 128])
        number >>= 7
    return result + bytes([number])


def without(data):
    parts = []
    for number, start, inside, end in fields(data):
        if number == FUNCTION:
            function = data[inside:end]
            rest = b"".join(function[s:e] for n, s, _, e in fields(function) if n != START_LINE)
            parts.append(bytes([FUNCTION << 3 | 2]) + encode(len(rest)) + rest)
        else:
            parts.append(data[start:end])
    return b"".join(parts)


for path in sys.argv[1:]:
    with gzip.open(path) as file:
        profile = file.read()
    with gzip.open(path, "wb") as file:
        file.write(without(profile))
