# SPDX-License-Identifier: MIT
# gdb_stacks.py -- run by gdb: at each mw_compare_stop() of a program under libunwind_compare.so,
# compares the stack that mallow took with gdb's own.  The last line counts.
import gdb

STOPS = 20

for setting in (
    "pagination off",
    "confirm off",
    "backtrace past-main on",
    "backtrace past-entry on",
    "breakpoint pending on",
    "print thread-events off",
):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass", to_string=True)


def stack_of_gdb():
    """The PCs of real frames: an inlined function has none of its own, and one that ended in a
    jump to the next none any more, though debug data can tell that it was there."""
    pcs, frame = [], gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(frame.pc())
        frame = frame.older()
    return pcs


def stack_of_mallow():
    depth = int(gdb.parse_and_eval("*(unsigned *)&mw_compare_depth"))
    at = int(gdb.parse_and_eval("(unsigned long)&mw_compare_pcs"))
    data = gdb.selected_inferior().read_memory(at, depth * 8).tobytes()
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]


same = other = 0
distinct = set()
gdb.Breakpoint("mw_compare_stop")
gdb.execute("run")
while same + other < STOPS and gdb.selected_thread() is not None:
    ours, theirs = stack_of_mallow(), stack_of_gdb()
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
