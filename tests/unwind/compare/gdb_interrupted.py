# SPDX-License-Identifier: MIT
# gdb_interrupted.py -- run by gdb: at each sample of CPU time of a program under libmallow.so,
# compares the stack that the handler took with gdb's own, from the interrupted instruction on.
# MW_SAMPLES in the environment: how many.  The last line counts.
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_frames import real_pcs, words_at

SAMPLES = int(os.environ["MW_SAMPLES"])
EXACT = 1 << 63


def stack_of_gdb():
    """The stack behind the handler's frames."""
    frame = gdb.newest_frame()
    while frame is not None and frame.type() != gdb.SIGTRAMP_FRAME:
        frame = frame.older()
    return real_pcs(frame.older()) if frame is not None else []


def stack_of_mallow():
    """At the call of mw_modules_encode_at_once(): the frames as the unwinder left them."""
    at, depth = int(gdb.parse_and_eval("(unsigned long)$rdi")), int(gdb.parse_and_eval("$esi"))
    return [word & ~EXACT for word in words_at(at, depth)]


def is_code(pc):
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
        for line in maps:
            first, last = (int(n, 16) for n in line.split()[0].split("-"))
            if first <= pc < last:
                return "x" in line.split()[1]
    return False


def without_data(pcs):
    """Behind the first function of ld.so gdb goes on into the program's arguments."""
    for i, pc in enumerate(pcs):
        if not is_code(pc):
            return pcs[:i]
    return pcs


def name_of(pc):
    return gdb.execute("info symbol %#x" % pc, to_string=True).strip()


same = other = 0
distinct = set()
gdb.Breakpoint("mw_modules_encode_at_once")
gdb.execute("run")
while same + other < SAMPLES and gdb.selected_thread() is not None:
    ours, theirs = stack_of_mallow(), stack_of_gdb()
    distinct.add(tuple(ours))
    if ours == theirs or ours == without_data(theirs):
        same += 1
    else:
        other += 1
        alike = 0
        while alike < min(len(ours), len(theirs)) and ours[alike] == theirs[alike]:
            alike += 1
        print("other: alike for %d of %d and %d frames" % (alike, len(ours), len(theirs)))
        for i in range(max(0, alike - 1), min(alike + 3, max(len(ours), len(theirs)))):
            print("other:   %s | %s" % tuple(name_of(s[i]) if i < len(s) else "-"
                                            for s in (ours, theirs)))
        print("other:   at %s" % gdb.execute("x/i %#x" % ours[0], to_string=True).strip())
    gdb.execute("continue", to_string=True)
frames = sum(map(len, distinct)) / max(1, len(distinct))
print("gdb: %d same, %d other, %d distinct of %.1f frames" % (same, other, len(distinct), frames))
if gdb.selected_thread() is not None:
    gdb.execute("kill")
