# SPDX-License-Identifier: MIT
# hostile_profile.py OUTPUT PROGRAM ADDRESS SOURCE -- writes a profile.proto in which every text
# holds terminal controls. A text begins with the field's name in capitals, then has ESC, BEL, DEL,
# a C1 control in UTF-8 and as one byte, five characters that reorder a line, a carriage return and
# a new line.  One location is 8 bytes
# behind ADDRESS (hexadecimal) in PROGRAM, whose functions have such names too, and one function is
# in the source file SOURCE (both are paths in bytes, as the file system has them).
import os
import sys

from wire import field, message, number

output, program, address, source = sys.argv[1], os.fsencode(sys.argv[2]), int(sys.argv[3],
                                                                              16), os.fsencode(
                                                                                  sys.argv[4])
ORDER = b"\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8"
EVIL = b"\x1b]0;title\x07\x7f\xc2\x9b31m" + ORDER + b"\x9b\r\nINJECTED"


strings = [b""]


def text(value):
    if value not in strings:
        strings.append(value)
    return strings.index(value)


def evil(name):
    return text(name + EVIL)


fields = [
    (1, message((1, text(b"inuse_objects")), (2, text(b"count")))),
    (1, message((1, text(b"inuse_space")), (2, text(b"bytes")))),
    (1, message((1, evil(b"TYPE")), (2, evil(b"UNIT")))),
    (11, message((1, evil(b"PERIODTYPE")), (2, evil(b"PERIODUNIT")))),
    (12, 524288),
    (13, evil(b"COMMENT")),
    (14, text(b"inuse_space")),
    (3, message((1, 1), (2, 0x1000), (3, 0x9000), (5, evil(b"/MAPPING")), (6, evil(b"BUILDID")))),
    (3, message((1, 2), (2, 0x400000), (3, 0x800000), (5, text(program)))),
    (5, message((1, 1), (2, evil(b"NAME")), (3, evil(b"SYSTEMNAME")), (4, evil(b"/FILE")), (5, 1))),
    (5, message((1, 2), (2, evil(b"LISTED")), (3, evil(b"LISTED")), (4, text(source)), (5, 1))),
    (4, message((1, 1), (2, 1), (3, 0x1100), (4, message((1, 1), (2, 7))))),
    (4, message((1, 2), (2, 1), (3, 0x1200), (4, message((1, 2), (2, 2))))),
    (4, message((1, 3), (2, 1), (3, 0x1300))),
    (4, message((1, 4), (2, 2), (3, address + 8))),
]
labels = [
    (3, message((1, evil(b"KEY")), (2, evil(b"LABEL")))),
    (3, message((1, text(b"thread")), (2, evil(b"THREAD")))),
    (3, message((1, text(b"thread_id")), (3, 12))),
    (3, message((1, evil(b"NUMBERKEY")), (3, 4096), (4, evil(b"NUMBERUNIT")))),
    (3, message((1, text(b"bytes")), (3, 4096), (4, text(b"bytes")))),
]
for leaf in 1, 2, 3, 4:
    stack = b"".join(number(location) for location in (leaf, 1, 2, 3))
    values = b"".join(number(value) for value in (100, 1000000 * leaf, 77))
    fields.append((2, message((1, stack), (2, values), *labels)))
fields += [(6, value) for value in strings]
with open(output, "wb") as file:
    file.write(message(*fields))
