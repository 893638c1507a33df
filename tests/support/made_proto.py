#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""made_proto.py FILE SECONDS STACK=BYTES... -- writes a profile.proto of memory in use, of a time.

STACK is "main;parse", the outermost function first."""
import gzip
import sys


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


path, seconds, *stacks = sys.argv[1:]
strings = [""]


def text(word):
    if word not in strings:
        strings.append(word)
    return strings.index(word)


names = []
body = b"".join(message(1, number(1, text(kind)) + number(2, text(unit)))
                for kind, unit in (("inuse_objects", "count"), ("inuse_space", "bytes")))
for stack in stacks:
    frames, size = stack.rsplit("=", 1)
    frames = frames.split(";")
    names += [frame for frame in frames if frame not in names]
    ids = b"".join(varint(names.index(frame) + 1) for frame in reversed(frames))
    body += message(2, message(1, ids) + message(2, varint(1) + varint(int(size))))
for i, name in enumerate(names, 1):
    body += message(4, number(1, i) + number(3, 16 * i) + message(4, number(1, i)))
    body += message(5, number(1, i) + number(2, text(name)))
body += b"".join(message(6, word.encode()) for word in strings)
body += number(9, int(seconds) * 10**9)
with open(path, "wb") as file:
    file.write(gzip.compress(body))
