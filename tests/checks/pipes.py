#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pipes.py SCRIPT... -- no shell script pipes into a command that may end before it has read all.

`producer | grep -q word` fails by chance where the script sets pipefail: grep ends at the first
match, and the producer's next write raises SIGPIPE. `grep -q word <<<"$(producer)"` and
`producer | sed -n 1p` read everything.
Exit status: 0 no script does, 1 otherwise.
"""
import re
import sys

PIPE = r"(?:^|\s)\|&?\s+(?:[A-Z_]+=\S* )*(?:command )?"
EARLY = re.compile(PIPE + r"(?:[ef]?grep\b(?: +(?!--? )-\S+)*? +(?:-[A-Za-z]*[qm]|--quiet|--max)"
                   r"|head\b|sed\b(?: -\S+)* +'?[0-9$]*q'?(?:\s|$|\))"
                   r"|awk\b(?:(?!END).)*\bexit\b)")
EXAMPLES = {
    "ps | grep -q sh": True, "ps | grep -E -iq -- sh": True, "ps |\n    head -n 1": True,
    "ps \\\n    | grep -m1 sh": True, "x=$(ps | LC_ALL=C head -1)": True, "ps | sed 3q": True,
    "ps | awk '{ print; exit }'": True, "ps | awk '/sh/ { n++ } END { exit !n }'": False,
    "ps | grep sh | wc -l": False, "grep -q sh file || head -n 3 file": False,
    "grep -q sh <<<\"$(ps)\"": False, "ps | sed -n 1p": False, "# ps | grep -q sh": False,
    "grep -E 'a|head' file": False,
}


def findings(text):
    """Numbers of the lines at which a command with such a pipe begins."""
    start, command = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not command:
            start = number
        command += re.sub(r"(^|\s)#.*$", "", line)
        if re.search(r"(\\|(?<!\|)\|&?)\s*$", command):
            command = command.rstrip("\\ ") + " "
            continue
        # The pipe may stand at the beginning of a line behind a backslash.
        if EARLY.search(command):
            yield start
        command = ""


def main():
    for text, is_early in EXAMPLES.items():
        if bool(list(findings(text))) != is_early:
            sys.exit(f"pipes.py judges its example wrongly: {text!r}")
    bad = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            for number in findings(file.read()):
                print(f"{name}:{number}: pipes into a command that may end early: write "
                      "grep -q WORD <<<\"$(COMMAND)\", or sed -n 1p in place of head")
                bad += 1
    print(f"{len(sys.argv) - 1} scripts searched for pipes, {bad} findings")
    sys.exit(1 if bad or len(sys.argv) < 2 else 0)


main()
