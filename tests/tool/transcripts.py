# SPDX-License-Identifier: MIT
"""transcripts.py -- replays a page's programs and commands in the current directory.

The page's C programs are written under the name in their first line, and its commands run one
after another in one shell.  A line "..." stands for any number of lines; numbers, times and
addresses may differ, every other word must be as the page has it.  Figures are compared with what
the programs do: allocations within five standard deviations of sampling."""
import math
import os
import re
import subprocess
import sys
import time

from tasks import PID, as_on_page, fits

T_BYTES = 512 << 10
UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}
AMOUNT = r"\+?([\d.]+) ([KMG]?i?B)\b.*"
# An amount at the beginning of a table's line.
TABLE = r"(?m)^ *" + AMOUNT


def deviation_bytes(objects, size):
    """The standard deviation of the estimate for so many objects of one size."""
    probability = 1 - math.exp(-size / T_BYTES)
    return size * math.sqrt(objects * (1 - probability) / probability)


def await_true(what, condition):
    last = time.monotonic() + 60
    while not condition():
        if time.monotonic() > last:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.02)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        # The first thread may have ended before the others.
        return fields[0] == "Z" and fields[17] == "1"
    except FileNotFoundError:
        return True


def blocks(lines):
    """(language, first line, line behind the last) of each code block."""
    starts = [i for i, line in enumerate(lines) if line.startswith("```")]
    for first, last in zip(starts[::2], starts[1::2]):
        yield lines[first][3:], first + 1, last


class Transcripts:
    """A page's commands, the shell in which they run, and the process that the page calls 4711.
    A page has a class of its own, which sets what is empty here."""

    folder = "/srv"  # the current directory, as the page has it
    # (command, pattern with number and unit, what the program allocated, further error in bytes)
    truth = []
    # (command, pattern of a figure that is exact)
    exact = []

    def __init__(self):
        self.shell = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = None
        self.figures = 0

    def before(self, command):
        """Is called before each command."""

    def after(self, command, output):
        """Waits until what the command asks of the program is done."""

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
            if not line.startswith("mallow: note: no symbols for "):
                lines.append(line.rstrip())
        else:
            sys.exit(f"the shell ended at: {command}")
        while lines and not lines[-1]:
            lines.pop()
        if command.endswith("&") and not self.pid:
            self.pid = lines[0].split()[1]
        return [as_on_page(line.replace(os.getcwd(), self.folder), self.pid or "no process")
                for line in lines]

    def compare(self, what, got, truth, error):
        self.figures += 1
        if abs(got - truth) > error:
            sys.exit(f"{what}: {got:g}, not {truth:g} within {error:g}")

    def figure(self, command, output, pattern):
        """The match of a pattern in the command's output."""
        found = re.search(pattern, "\n".join(output))
        if not found:
            sys.exit(f"{command}: no figure for {pattern} in:\n" + "\n".join(output))
        return found

    def check_figures(self, command, output):
        for start, pattern, allocations, further_bytes in self.truth:
            if command.startswith(start):
                found = self.figure(command, output, pattern)
                truth = sum(objects * size for objects, size in allocations)
                error = 5 * math.hypot(*(deviation_bytes(*one) for one in allocations))
                self.compare(f"{command}: {found[0]}",
                             float(found[1]) * 2 ** UNITS.get(found[2], 0), truth,
                             error + further_bytes + 0.01 * truth)
        for start, pattern in self.exact:
            if command.startswith(start):
                self.figure(command, output, pattern)
                self.figures += 1

    def replay(self, lines, record):
        """Replays a console block.  Returns its lines as they are now."""
        steps = []
        for line in lines:
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        written = []
        for command, expected in steps:
            self.before(command)
            got = self.run(command)
            self.after(command, got)
            self.check_figures(command, got)
            written += ["$ " + command, *got]
            if not record and not fits(expected, got):
                sys.exit(f"{command}\nthe page has:\n" + "\n".join(expected) +
                         "\nit printed:\n" + "\n".join(got))
        return written

    def main(self, further_figures=0):
        """Does what the command line says: PAGE [--record], which writes the output of the
        commands into the page.  As many figures are compared as the class has, and
        `further_figures` that it compares itself."""
        page, record = sys.argv[1], "--record" in sys.argv
        with open(page, encoding="utf-8") as file:
            lines = file.read().split("\n")
        written, copied = [], 0
        for language, first, last in blocks(lines):
            if language == "c":
                name = re.match(r"/\* (\w+\.c) ", lines[first])[1]
                with open(name, "w") as file:
                    file.write("\n".join(lines[first:last]) + "\n")
            if language != "console":
                continue
            written += lines[copied:first] + self.replay(lines[first:last], record)
            copied = last
        count = len(self.truth) + len(self.exact) + further_figures
        if self.figures != count:
            sys.exit(f"{self.figures} figures compared, not {count}")
        if record:
            with open(page, "w", encoding="utf-8") as file:
                file.write("\n".join(written + lines[copied:]))
        print(f"{self.figures} figures are within five standard deviations")
