# SPDX-License-Identifier: MIT
# gdb_frames.py -- what gdb_stacks.py and gdb_interrupted.py share: settings of gdb, made when this
# is imported, its frames, and memory of the program.
import gdb

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


def real_pcs(frame):
    """The PCs of real frames: an inlined function has none of its own, and one that ended in a
    jump to the next none any more, though debug data can tell that it was there."""
    pcs = []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(frame.pc())
        frame = frame.older()
    return pcs


def words_at(address, count):
    data = gdb.selected_inferior().read_memory(address, count * 8).tobytes()
    return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
