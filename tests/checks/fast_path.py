#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fast_path.py SOURCE_DIR BUILD_DIR -- the disassembly of malloc and free holds nothing of the
profiler.

Whose a symbol is, the objects say: what those of src/prof, src/config, src/state and of the heap's
own sampling (countdowns, sampled-slot pages) define is the profiler's, and so are the words of
src/heap/sample/hooks.h. Every operand of malloc and free that has an address (calls, jumps, RIP-
relative data, what the global offset table leads to, thread-local offsets) is looked up in the
library's symbol table; one inside a symbol of the profiler fails. """
import glob
import os
import re
import subprocess
import sys

FAST = ["malloc", "free"]
OBJECTS = ["prof/**/*.o", "config/*.o", "__/compat/jemalloc/mallctl/*.o", "state/*.o",
           "heap/**/sampl*.o"]
# It does refer to the sampler: if nothing is found here, this check is blind.
SLOW = "mw_refill"
HEAP_WORDS = {"mw_heap_rate_generation", "mw_heap_poll_word"}
# The pair is about 50 instructions along the path taken; a body beyond this has swallowed a slow
# path.
MAX_INSTRUCTIONS = 120


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Symbol:
    def __init__(self, fields, source):
        self.start = int(fields[1], 16)
        self.end = self.start + max(int(fields[2], 0), 1)
        self.kind = fields[3]
        self.name = fields[7].split("@")[0]
        self.source = source  # base name of its source file when local, else None

    def covers(self, address):
        return self.start <= address < self.end


def read_symbols(path):
    """The table lists local symbols behind the FILE entry of their source."""
    symbols, source = [], None
    for line in run("readelf", "--wide", "--syms", path).split("'.symtab'")[-1].splitlines():
        fields = line.split()
        if len(fields) < 8 or not re.fullmatch(r"\d+:", fields[0]):
            continue
        if fields[3] == "FILE":
            source = fields[7]
        elif fields[6].isdigit():
            symbols.append(Symbol(fields, source if fields[4] == "LOCAL" else None))
    return symbols


def read_relocations(path):
    """Address of an entry of the global offset table -> (kind, operand)."""
    table = {}
    for line in run("readelf", "--wide", "--relocs", path).splitlines():
        found = re.match(r"^([0-9a-f]{8,16})\s+[0-9a-f]+\s+(R_\S+)\s+(.*)$", line)
        if found:
            table[int(found[1], 16)] = (found[2], found[3].split())
    return table


class Library:
    def __init__(self, path, objects):
        self.path = path
        self.symbols = read_symbols(path)
        self.relocations = read_relocations(path)
        shared, local = set(HEAP_WORDS), set()
        for name in objects:
            source = os.path.basename(name)[: -len(".o")]
            for line in run("nm", "--defined-only", name).splitlines():
                kind, symbol = line.split()[-2:]
                if kind.isupper():
                    shared.add(symbol)
                else:
                    local.add((source, symbol))
        # The linker lists hidden symbols behind no source or a wrong one: they are found by name.
        self.profiler = [s for s in self.symbols if s.name in shared or (s.source, s.name) in local]

    def profiler_at(self, address, thread_local):
        return {s.name for s in self.profiler if (s.kind == "TLS") == thread_local
                and s.covers(address)}

    def profiler_behind(self, address):
        names = self.profiler_at(address, False)
        kind, operand = self.relocations.get(address, (None, []))
        if kind and "TPOFF" in kind:
            # "symbol + addend" of a global, the plain offset of a local one.
            if operand[-1:] and re.fullmatch(r"[0-9a-f]+", operand[-1]) and len(operand) == 1:
                names |= self.profiler_at(int(operand[0], 16), True)
            names |= {s.name for s in self.profiler if s.kind == "TLS" and s.name in operand}
        elif kind and "RELATIVE" in kind:
            names |= self.profiler_at(int(operand[0], 16), False)
        elif kind:
            names |= {s.name for s in self.profiler if s.name in operand}
        return names

    def disassemble(self, function):
        symbol = next(s for s in self.symbols if s.name == function and s.kind == "FUNC")
        text = run("objdump", "--disassemble", "--no-show-raw-insn",
                   f"--start-address={symbol.start:#x}",
                   f"--stop-address={symbol.end:#x}", self.path)
        return [line for line in text.splitlines() if re.match(r"^\s*[0-9a-f]+:\t", line)]

    def findings(self, function):
        lines = self.disassemble(function)
        if not 2 <= len(lines) <= MAX_INSTRUCTIONS:
            yield f"{function}: {len(lines)} instructions, not between 2 and {MAX_INSTRUCTIONS}"
        for line in lines:
            operands = line.split("\t", 1)[1]
            # "call 1230 <name>", "lea 0x12(%rip),%rax  # 4560 <name>".  No immediate is an address:
            # the library's code is position independent.
            for word in re.findall(r"(?<![\w%$-])(?:0x)?([0-9a-f]{3,16})(?= <|$|,)", operands):
                for name in sorted(self.profiler_behind(int(word, 16))):
                    yield f"{function}: refers to {name}: {operands.strip()}"


def main():
    build = sys.argv[2]
    objects = []
    for pattern in OBJECTS:
        objects += glob.glob(f"{build}/src/CMakeFiles/mallow_objects.dir/{pattern}", recursive=True)
    if not objects:
        sys.exit(f"no objects of the profiler under {build}/src: nothing to look for")
    library = Library(f"{build}/lib/libmallow.so", objects)
    if not library.profiler:
        sys.exit("libmallow.so holds no symbol of the profiler: was it stripped?")
    if not any("refers to" in text for text in library.findings(SLOW)):
        sys.exit(f"{SLOW} does not refer to the profiler either: this check sees nothing")
    bad = [text for function in FAST for text in library.findings(function)]
    if bad:
        print("\n".join(bad))
    counts = ", ".join(f"{name} {len(library.disassemble(name))}" for name in FAST)
    print(f"instructions in the body: {counts}; {len(library.profiler)} symbols of the profiler "
          "looked for")
    sys.exit(1 if bad else 0)


main()
