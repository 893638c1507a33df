# SPDX-License-Identifier: MIT
# gdb_stacks.py -- run by gdb: at each mw_compare_stop() of a program under libunwind_compare.so,
# compares the stack that mallow took with gdb's own.  The last line counts.
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_frames import real_pcs, words_at

STOPS = 20


def stack_of_mallow():
    depth = int(gdb.parse_and_eval("*(unsigned *)&mw_compare_depth"))
    return words_at(int(gdb.parse_and_eval("(unsigned long)&mw_compare_pcs")), depth)


same = other = 0
distinct = set()
gdb.Breakpoint("mw_compare_stop")
gdb.execute("run")
while same + other < STOPS and gdb.selected_thread() is not None:
    ours, theirs = stack_of_mallow(), real_pcs(gdb.newest_frame())
    # gdb's begins inside the comparing library, mallow's at malloc's caller.
    if ours[0] in theirs:
        theirs = theirs[theirs.index(ours[0]) :]
    distinct.add(tuple(ours))
    if ours == theirs:
        same += 1
    else:
        other += 1
        alike = 0
        while alike < min(len(ours), len(theirs)) and ours[alike] == theirs[alike]:
            alike += 1
        place = gdb.execute("info symbol %#x" % ours[alike - 1], to_string=True).strip()
        print("gdb: alike for %d of %d and %d frames, up to %s" % (alike, len(ours), len(theirs),
                                                                   place))
    gdb.execute("continue", to_string=True)
frames = sum(map(len, distinct)) / max(1, len(distinct))
print("gdb: %d same, %d other, %d distinct of %.1f frames" % (same, other, len(distinct), frames))
if gdb.selected_thread() is not None:
    gdb.execute("kill")
