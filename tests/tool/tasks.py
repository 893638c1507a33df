# SPDX-License-Identifier: MIT
"""tasks.py PAGE NUMBER PID [--record] -- replays the transcript of a task of doc/user/tasks.md.

The process that the page calls 4711 is PID.  A line "# ..." of a transcript stands for time that
passes: the script ./between runs.  A line "..." stands for any number of lines.  Numbers, times,
addresses and charts may differ; every other word of the output must be as the page has it.
--record writes the output of the commands into the page instead.
"""
import os
import re
import subprocess
import sys

PID = "4711"
COMMANDS_MAX = 3
NUMBER = (r"[-+<]?\b\d[\d.,:]*(?:e[-+]?\d+)?"
          r"(?:[kMGT]\b| ?(?:[KMGTPE]iB|B|ns|us|ms|s|min|h|days?)\b|%)?")


def masked(line):
    if re.search("[│┤└]", line):
        return "a line of a chart"
    line = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{16,40}\b", "#", line)
    line = re.sub(r"\b\d{4}-\d\d-\d\d\b", "#", line)
    line = re.sub(r"\.\d+\.\d{8}-\d{6}\.", ".#.", line)
    line = re.sub(NUMBER, "#", line)
    line = re.sub(r"(?<= )-(?= )", "#", line)  # an empty cell of a table
    line = re.sub(r"(# \w+?)s\b", r"\1", line)
    line = re.sub(r"#( +#)+", "#", line)
    return " ".join(line.split())


def transcript(page, number):
    """Returns the lines of the task's block, and where they begin in the page."""
    lines = open(page).read().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(f"## {number}. "))
    first = next(i for i in range(start, len(lines)) if lines[i] == "```console") + 1
    last = next(i for i in range(first, len(lines)) if lines[i] == "```")
    return lines, first, last


def run(command):
    done = subprocess.run(command, shell=True, executable="/bin/bash", text=True, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.stdout.rstrip("\n").split("\n") if done.stdout else []


def as_on_page(line, pid):
    line = re.sub(rf"(  +)\b{pid}\b", lambda found: PID.rjust(len(found.group())), line)
    return re.sub(rf"\b{pid}\b", PID, line).replace(os.getcwd() + "/", "")


def fits(expected, got):
    """True if `got` is `expected`, in which "..." stands for any lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(fits(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and masked(expected[0]) == masked(got[0]) and fits(expected[1:], got[1:])


def check_help(command):
    """What the command uses is in the help that a new user reads."""
    words = command.split("|")[0].split()
    if words[0] != "mallow":
        return
    helps = run("mallow --help"), run(f"mallow {words[1]} --help")
    named = any(line.split()[:1] == [words[1]] for line in helps[0])
    assert named, f"mallow --help has no {words[1]}"
    for word in words[2:words.index("--") if "--" in words else None]:
        option = re.match(r"--[a-z-]+", word)
        named = not option or option.group() in "\n".join(helps[1])
        assert named, f"{words[1]} --help does not name {word}"


def main():
    page, number, pid = sys.argv[1:4]
    lines, first, last = transcript(page, number)
    steps, written = [], []
    for line in lines[first:last]:
        if line.startswith(("$ ", "# ")):
            steps.append((line, []))
        else:
            steps[-1][1].append(line)
    commands = [line for line, _ in steps if line.startswith("$ ")]
    assert 1 <= len(commands) <= COMMANDS_MAX, f"{len(commands)} commands"
    for line, expected in steps:
        if line.startswith("# "):
            run("./between")
            written.append(line)
            continue
        command = re.sub(r" +#.*", "", line[2:])
        check_help(command)
        got = run(re.sub(rf"\b{PID}\b", pid, command))
        got = [as_on_page(one, pid) for one in got]
        written += [line, *got]
        if "--record" not in sys.argv and not fits(expected, got):
            sys.exit(f"{line}\nthe page has:\n" + "\n".join(expected) +
                     "\nit printed:\n" + "\n".join(got))
    if "--record" in sys.argv:
        lines[first:last] = written
        open(page, "w").write("\n".join(lines))


if __name__ == "__main__":
    main()
