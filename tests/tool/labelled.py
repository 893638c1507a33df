#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""labelled.py SEED [STACKS [shrinks|recursive]] > FILE.pb: a profile.proto of stacks with labels of
every kind: none, one text, several, the same key twice; sizes with their unit, and numbers of other
units; values above 0 and, with "shrinks", below; inlined calls; with "recursive", functions that
call themselves and their callers."""
import random
import sys

from wire import field, number

choose = random.Random(int(sys.argv[1]))
strings = [""]


def packed(tag, values):
    return field(tag, b"".join(number(value) for value in values))


def text(value):
    if value not in strings:
        strings.append(value)
    return strings.index(value)


def labels():
    if choose.random() < 0.2:
        return []
    made = []
    for _ in range(choose.choice([0, 1, 1, 2])):
        key = choose.choice(["request", "tenant", "tenant"])
        made.append(field(1, text(key)) + field(2,
                                                text(choose.choice(["get", "put", "scan", "list",
                                                                    "idle", "sync"]))))
    if choose.random() < 0.8:
        made.append(field(1, text("bytes")) + field(3,
                                                    choose.choice([8, 16, 48, 64, 100, 512, 1024,
                                                                   1025, 4096, 70000, 1 << 20]))
                    + field(4, text("bytes")))
    if choose.random() < 0.3:
        made.append(field(1, text("age")) + field(3, choose.randrange(1, 10**10)) + field(4,
                                                                                          text(
                                                                                              "nanoseconds")))
        made.append(field(1, text("index")) + field(3, choose.randrange(1, 9)))
    return made


FUNCTIONS = 60
KIND = sys.argv[3] if len(sys.argv) > 3 else ""
out = b"".join(field(1, field(1, text(kind)) + field(2, text(unit)))
               for kind, unit in (("objects", "count"), ("space", "bytes")))
seen = set()
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 400):
    # A tree of calls that mostly goes on downwards, so that functions have callers and callees.
    stack, at = [], 1
    while at <= FUNCTIONS and len(stack) < 9:
        stack.append(at)
        if KIND == "recursive" and choose.random() < 0.3:
            at = max(1, at - choose.choice([0, 0, 1, 5]))
        else:
            at += choose.randrange(1, 3 + at // 2)
        if choose.random() < 0.1:
            break
    objects = choose.randrange(1, 50) * (-1 if KIND == "shrinks" and choose.random() < 0.2 else 1)
    place = packed(1, stack[::-1]) + b"".join(field(3, label) for label in sorted(labels()))
    # pprof sums up those of one place, and the total is of magnitudes.
    if place not in seen:
        out += field(2, place + packed(2, [objects, objects * choose.randrange(8, 9999)]))
    seen.add(place)
out += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x100000) + field(5,
                                                                            text("/bin/labelled")))
for i in range(1, FUNCTIONS + 1):
    lines = b"".join(field(4,
                           field(1, function) + field(2, 10)) for function in ([i,
                                                                                i % 7 + 1]
                                                                                if i % 5 == 0
                                                                                else [i]))
    out += field(4, field(1, i) + field(2, 1) + field(3, 0x1000 + 16 * i) + lines)
    out += field(5, field(1, i) + field(2, text(f"part{i % 3}::f{i}")) + field(4,
                                                                               text(
                                                                                   f"src/f{i}.cc")))
out += b"".join(field(6, value.encode()) for value in strings)
sys.stdout.buffer.write(out)
