# SPDX-License-Identifier: MIT
"""wire.py -- protobuf's wire format, for scripts that write profiles or change them."""


def number(value):
    """Encodes an integer; a negative one as its 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def message(*fields):
    return b"".join(field(key, value) for key, value in fields)


def read_number(data, at):
    """Returns the integer at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def read_fields(data):
    """Yields each field's number, where it starts, and where its content starts and ends."""
    at = 0
    while at < len(data):
        start = at
        key, at = read_number(data, at)
        inside = at
        value, at = read_number(data, at)
        if key & 7 == 2:
            inside, at = at, at + value
        elif key & 7 != 0:
            raise ValueError(f"field {key >> 3} has type {key & 7}")
        yield key >> 3, start, inside, at
