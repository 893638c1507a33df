# SPDX-License-Identifier: MIT
"""tutorial_heap.py PAGE [--record] -- replays doc/user/tutorial-heap.md in the current directory.

The page's C programs are written under the name in their first line, and its commands run one
after another in one shell.  A line "..." stands for any number of lines; numbers, times and
addresses may differ, every other word must be as the page has it.  TRUTH says how much a figure
must be: what the program allocated, within five standard deviations of sampling.
--record writes the output of the commands into the page instead."""
import glob
import math
import os
import re
import subprocess
import sys
import time

from tasks import PID, as_on_page, fits

# The current directory, as the page has it.
FOLDER = "/srv/shop"
T_BYTES = 512 << 10
CATALOG, RECEIPT, ORDER = (8192, 4096), (8000, 8192), (8000, 16384)
# Receipts among the 24 KiB of each order, in 128 MiB; a dump waits for the next sample.
BETWEEN_DUMPS, DUMP_DELAY_BYTES = (5461, 8192), 8 * T_BYTES
UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}
AMOUNT = r"\+?([\d.]+) ([KMG]?i?B)\b.*"
TABLE = r"(?m)^ *" + AMOUNT
# (command, pattern with number and unit, what the program allocated, further error in bytes)
TRUTH = [
    ("mallow run -o", TABLE + r"  print_receipt", [RECEIPT], 0),
    ("mallow run -o", TABLE + r"  load_catalog", [CATALOG], 0),
    ("mallow run -o", r"allocated: +" + AMOUNT, [CATALOG, RECEIPT, ORDER], 0),
    ("MALLOC_CONF=prof_leak", r"summary: ~([\d.]+) (b)ytes", [CATALOG, RECEIPT], 0),
    ("mallow top shop.pb.gz", TABLE + r"% +print_receipt$", [RECEIPT], 0),
    ("mallow top shop.pb.gz", TABLE + r"% +load_catalog$", [CATALOG], 0),
    ("mallow top --alloc-space", TABLE + r"% +check_order$", [ORDER], 0),
    ("mallow list", r"(?m)^ +" + AMOUNT + r":\treceipt = ", [RECEIPT], 0),
    ("mallow diff dumps/shop.0001", TABLE + r"% +\S+ MiB  print_receipt$", [BETWEEN_DUMPS],
     DUMP_DELAY_BYTES),
    ("mallow diff dumps/*", TABLE + r"% +\S+ MiB  print_receipt$", [BETWEEN_DUMPS],
     DUMP_DELAY_BYTES),
    ("./kept", TABLE + r"% +main$", [(1, 10 << 20)], 0),
    ("mallow top 4711", TABLE + r"% +print_receipt$", [(4000, 8192)], 0),
]
# Exact figures.
EXACT = [("mallow run --leaks", r": 7999 blocks leaked, 62\.5 MiB of 94\.5 MiB ")]


def deviation_bytes(objects, size):
    """The standard deviation of the estimate for so many objects of one size."""
    probability = 1 - math.exp(-size / T_BYTES)
    return size * math.sqrt(objects * (1 - probability) / probability)


class Shell:
    """A shell that stays for all commands, and the process that the page calls 4711."""

    def __init__(self):
        self.shell = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = None

    def run(self, command):
        if self.pid:
            command = re.sub(rf"\b{PID}\b", self.pid, command)
        end = "the end of the output"
        self.shell.stdin.write(f"{command}\necho; echo '{end}'\n" if not command.endswith("&") else
                               f"{command} echo [1] $!; echo; echo '{end}'\n")
        self.shell.stdin.flush()
        lines = []
        for line in iter(self.shell.stdout.readline, ""):
            if line.rstrip("\n") == end:
                break
            lines.append(line.rstrip("\n"))
        else:
            sys.exit(f"the shell ended at: {command}")
        while lines and not lines[-1]:
            lines.pop()
        if command.endswith("&"):
            self.pid = lines[0].split()[1]
        return [as_on_page(line.replace(os.getcwd(), FOLDER), self.pid or "no process")
                for line in lines]


def await_true(what, condition):
    last = time.monotonic() + 60
    while not condition():
        if time.monotonic() > last:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.02)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def is_served(number):
    with open("shop.log") as file:
        return file.read().count("served") == number


def follow(shell, command, served):
    """Waits until what the command asks of the shop is done.  Returns the batches served."""
    if command.endswith("&"):
        status = ["mallow", "status", shell.pid]
        await_true(command, lambda: subprocess.run(status, capture_output=True).returncode == 0)
    elif command == "echo 0 >orders":
        await_true(command, lambda: has_ended(shell.pid))
    elif command.endswith(" >orders"):
        served += 1
        await_true(command, lambda: is_served(served))
    elif command.startswith("kill "):
        await_true(command, lambda: glob.glob("shop.*.signal.pb"))
    return served


def check_figures(command, output):
    """Compares the figures of the output with TRUTH.  Returns how many there were."""
    text, count = "\n".join(output), 0
    for start, pattern, allocations, further_bytes in TRUTH:
        if not command.startswith(start):
            continue
        count += 1
        found = re.search(pattern, text)
        if not found:
            sys.exit(f"{command}: no figure for {pattern} in:\n{text}")
        got = float(found[1]) * 2 ** UNITS.get(found[2], 0)
        truth = sum(objects * size for objects, size in allocations)
        error = 5 * math.hypot(*(deviation_bytes(*one) for one in allocations)) + further_bytes
        if abs(got - truth) > error + 0.01 * truth:
            sys.exit(f"{command}: {got:.0f}, not {truth} within {error:.0f}: {found[0]}")
    for start, pattern in EXACT:
        if command.startswith(start):
            count += 1
            if not re.search(pattern, text):
                sys.exit(f"{command}: no {pattern} in:\n{text}")
    return count


def blocks(lines):
    """(language, first line, line behind the last) of each code block."""
    starts = [i for i, line in enumerate(lines) if line.startswith("```")]
    for first, last in zip(starts[::2], starts[1::2]):
        yield lines[first][3:], first + 1, last


def replay(shell, lines, record):
    """Replays a console block.  Returns its lines as they are now, and the figures compared."""
    steps = []
    for line in lines:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    written, figures = [], 0
    for command, expected in steps:
        got = shell.run(command)
        shell.served = follow(shell, command, shell.served)
        figures += check_figures(command, got)
        written += ["$ " + command, *got]
        if not record and not fits(expected, got):
            sys.exit(f"{command}\nthe page has:\n" + "\n".join(expected) +
                     "\nit printed:\n" + "\n".join(got))
    return written, figures


def main():
    page, record = sys.argv[1], "--record" in sys.argv
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    shell, figures, written, copied = Shell(), 0, [], 0
    shell.served = 0
    for language, first, last in blocks(lines):
        if language == "c":
            name = re.match(r"/\* (\w+\.c) ", lines[first])[1]
            with open(name, "w") as file:
                file.write("\n".join(lines[first:last]) + "\n")
        if language != "console":
            continue
        block, compared = replay(shell, lines[first:last], record)
        figures += compared
        written += lines[copied:first] + block
        copied = last
    if figures != len(TRUTH) + len(EXACT):
        sys.exit(f"{figures} figures compared, not {len(TRUTH) + len(EXACT)}")
    if record:
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(written + lines[copied:]))
    print(f"{figures} figures are within five standard deviations")


if __name__ == "__main__":
    main()
