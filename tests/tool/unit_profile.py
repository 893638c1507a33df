# SPDX-License-Identifier: MIT
# unit_profile.py OUTPUT TYPE:UNIT:VALUE[,VALUE...]... [--label KEY:UNIT:NUMBER,...] -- writes a
# profile.proto with these sample types. The n-th sample is of function fn<n>, called by main, and
# has the n-th value of each type and, of each --label, the n-th number. An empty UNIT is left out.
import sys

from wire import field, message, number

strings = [b""]


def text(value):
    value = value.encode()
    if value not in strings:
        strings.append(value)
    return strings.index(value)


output, *rest = sys.argv[1:]
types, labels, into = [], [], "types"
for word in rest:
    if word == "--label":
        into = "labels"
        continue
    name, unit, numbers = word.split(":")
    entry = (name, unit, [int(n) for n in numbers.split(",")])
    (types if into == "types" else labels).append(entry)
    into = "types"

fields = [(1, message((1, text(name)), (2, text(unit)))) for name, unit, _ in types]
fields.append((3, message((1, 1), (2, 0x1000), (3, 0x9000), (5, text("/program")))))
count = len(types[0][2])
for i in range(count + 1):
    name = text("main" if i == 0 else f"fn{i}")
    fields.append((5, message((1, i + 1), (2, name), (3, name), (4, text("/program.c")))))
    fields.append((4, message((1, i + 1), (2, 1), (3, 0x1100 + 16 * i),
                              (4, message((1, i + 1), (2, 10 + i))))))
for i in range(count):
    marks = [(3, message((1, text(key)), (3, numbers[i]), *([(4, text(unit))] if unit else [])))
             for key, unit, numbers in labels]
    fields.append((2, message((1, number(i + 2) + number(1)),
                              (2, b"".join(number(values[i]) for _, _, values in types)), *marks)))
fields += [(6, value) for value in strings]
with open(output, "wb") as file:
    file.write(message(*fields))
