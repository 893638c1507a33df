#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pack_dwp.py PACKAGE FILE.dwo... -- a package (.dwp) of split units in DWARF 5.

binutils' dwp 2.40 makes an empty package of such units, and llvm-dwp 14 does not end with gcc's.
The strings are moved in the package, and each section but theirs begins with unused bytes, so that
a reader that leaves out an offset finds nothing.
"""
import struct
import sys

# Columns of the index: number of the section's kind in DWARF 5, 7.3.5.3.
COLUMNS = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_line.dwo": 4,
           ".debug_loclists.dwo": 5, ".debug_str_offsets.dwo": 6, ".debug_rnglists.dwo": 8}
STRINGS, INDEX = ".debug_str.dwo", ".debug_cu_index"


def sections_of(path):
    data = open(path, "rb").read()
    table, size, count, names = *struct.unpack_from("<Q", data, 40), *struct.unpack_from(
        "<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    start = headers[names][4]
    return {data[start + h[0]:data.index(b"\0", start + h[0])].decode(): data[h[4]:h[4] + h[5]]
            for h in headers}


def index_of(rows):
    slots = 2
    while slots < 2 * len(rows):
        slots *= 2
    numbers, places = [0] * slots, [0] * slots
    for row, (number, _) in enumerate(rows, 1):
        at = number & (slots - 1)
        while places[at]:
            at = (at + ((number >> 32 & (slots - 1)) | 1)) & (slots - 1)
        numbers[at], places[at] = number, row
    out = struct.pack("<HHIII", 5, 0, len(COLUMNS), len(rows), slots)
    out += struct.pack(f"<{slots}Q{slots}I", *numbers, *places)
    out += struct.pack(f"<{len(COLUMNS)}I", *COLUMNS.values())
    for which in 0, 1:
        for _, parts in rows:
            out += struct.pack(f"<{len(COLUMNS)}I", *(parts[name][which] for name in COLUMNS))
    return out


def main():
    whole = {name: b"\xff" * 16 for name in COLUMNS} | {STRINGS: b"moved\0"}
    rows = []
    for path in sys.argv[2:]:
        own = sections_of(path)
        offsets = own[".debug_str_offsets.dwo"]
        count = (len(offsets) - 8) // 4
        moved = [at + len(whole[STRINGS]) for at in struct.unpack_from(f"<{count}I", offsets, 8)]
        own[".debug_str_offsets.dwo"] = offsets[:8] + struct.pack(f"<{count}I", *moved)
        whole[STRINGS] += own[STRINGS]
        parts = {}
        for name in COLUMNS:
            parts[name] = len(whole[name]), len(own.get(name, b""))
            whole[name] += own.get(name, b"")
        rows.append((struct.unpack_from("<Q", own[".debug_info.dwo"], 12)[0], parts))
    whole[INDEX] = index_of(rows)
    whole[".shstrtab"] = b"\0" + b"".join(n.encode() + b"\0" for n in [*whole, ".shstrtab"])
    names, headers, body = whole[".shstrtab"], bytes(64), b""
    for name, data in whole.items():
        headers += struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"),
                               3 if data is names else 1, 0, 0, 64 + len(body), len(data), 0,
                               0, 1, 0)
        body += data
    with open(sys.argv[1], "wb") as out:
        out.write(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0,
                              64 + len(body), 0, 64, 0, 0, 64, len(whole) + 1, len(whole)))
        out.write(body + headers)


main()
