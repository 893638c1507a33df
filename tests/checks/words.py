#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""words.py SOURCE_DIR [--counts] -- one word for one thing: the words that the glossary
(doc/reference/glossary.md) replaced do not come back, in no text file of the tree.

A word counts wherever it stands alone or as a part of a name: `trail` counts in make_trail() and in
TRAIL_BYTES, but not in `trailing`. Each place is printed with the word to use, then each word with
its number of places, which has to be 0. --counts prints the words that have no place, too.

KEPT lists the places where a word is plain English or another system's term; a pattern there names
the phrase, so that the word alone still counts."""
import os
import re
import subprocess
import sys

# (old word, pattern, word to use, folders in which the word counts: all when empty)
WORDS = [
    ("stranger", "strangers?", "block freed by another thread, remote free", ()),
    ("foreign block", "foreign[ _](?:blocks?|frees?|pages?)", "block freed by another thread", ()),
    ("somebody's", "(?:somebody|stranger)'s (?:block|page)s?", "block freed by another thread", ()),
    ("outbox", "outbox(?:es)?", "batch, remote-free cache", ()),
    ("inbox", "inbox(?:es)?", "thread-delayed free list", ()),
    ("backlog", "backlogs?", "thread-delayed free list", ()),
    ("pending", "pending", "thread-delayed free list", ("src/heap/",)),
    ("shelf", "shel(?:f|ves)", "transfer cache", ()),
    ("spared", "spared", "the mechanism is gone", ()),
    ("orphan", "orphan(?:s|ed)?", "abandoned page", ()),
    ("parked", "park(?:s|ed|ing)?", "cached heap", ()),
    ("adopt", "adopt(?:s|ed|ing|ion)?", "reclaim", ()),
    ("hand back", "hand(?:s|ed|ing)?[ _]back", "free into the thread cache; return", ()),
    ("go home", "(?:go|goes|going|went)[ _]home", "return to its page", ()),
    ("magazine", "magazines?", "sample-slot cache", ()),
    ("mini-slab", "mini[-_ ]?slabs?", "sampled-slot page", ()),
    ("image", "images?", "profile table", ("src/", "tests/unit/prof/", "tests/support/")),
    ("mirror", "mirror(?:s|ed|ing)?", "published copy", ()),
    ("twin", "twins?", "published copy", ()),
    ("gate", "gates?", "lock, quiesce", ()),
    ("turn", "mw_\\w*_turn|turn_\\w+|\\w+_turn", "lock, quiesce, run once", ("src/",)),
    ("trail", "trails?", "walk cache", ()),
    ("branch", "branch(?:es)?", "cached stack", ("src/prof/", "tests/unit/prof/", "tests/unwind/")),
    ("recall", "recalls?", "stack cache", ()),
    ("memo", "memos?", "cached value", ()),
    ("parts", "mw_parts\\w*|prof/parts|read/parts", "one set of counters for all threads", ()),
    ("lives", "lives", "lifetime histogram", ()),
    ("tally", "tall(?:y|ies)", "counters, totals", ()),
    ("survey", "survey(?:s|ed|ing|or)?", "heap walk", ()),
    ("census", "census(?:es)?", "heap walk", ()),
    ("stale", "stale", "what a dead process left: dead, cleanup", ()),
    ("tend", "tend(?:s|ed|ing)?", "maintain", ()),
    ("settle", "settle[sd]?|settling", "maintain, follow", ()),
    ("notice", "mw_\\w+_notice|_notice", "poll", ()),
    ("look", "look_t|mw_\\w+_look(?![a-z_])", "poll, handler", ()),
    ("crew", "crews?", "worker pool", ()),
    ("harvest", "harvest(?:s|ed|ing|er)?", "collect children", ()),
    ("order", "(?:gives?|takes?|sees?|obeys?|lose|no|an|by|at|of tools'?|tool's) orders? "
     "(?:to |while|from|is |are |stands|outside)|orders? from outside|orders? (?:of|by) tools?|"
     "orders? (?:is|are|was|were) (?:obeyed|noticed|seen|served)|_order_pending|"
     "orders_are_\\w+|order_pending", "request", ()),
    ("known", "known\\.[ch]", "symbol cache; accepted", ("tools/mallow/symbol/",)),
    ("advice", "advices?", "hint", ("tools/",)),
    ("made way", "ma[dk]e(?:s)?[ _]way", "retained empty page", ()),
    ("spare page", "spare[ _]pages?", "cached page", ()),
    ("notch", "notch(?:es)?", "a plain descriptive word", ()),
    ("journal", "journals?", "log", ()),
    ("call stack", "(?:call stack|stack trace)s?", "stack", ()),
    ("sampling interval", "sampling (?:interval|period)s?", "T, rate", ()),
    ("asked for", "(?:as|bytes|sizes?|what was|that were) asked for", "requested",
     ("src/", "compat/", "tools/", "doc/")),
    ("allocation list", "allocation[ _]lists?", "tcache list", ()),
    ("cache bin", "cache bins?", "tcache list", ("src/", "doc/")),
    ("epoch", "epochs?", "generation", ("src/heap/", "src/prof/", "tests/unit/heap/")),
    ("obey", "obey(?:s|ed)?", "follow a request", ("src/", "doc/")),
    ("standing order", "standing orders?", "standing request", ()),
    ("for ever", "for ever", "forever", ()),
    ("house", "house(?! ?style)", "project",
     ("src/", "compat/", "tools/", "include/", "cmake/", "tests/")),
]

# (files, pattern of the phrase, why it stays)
KEPT = [
    ("tests/checks/words.py", ".*", "the table of the words"),
    ("src/config/options.def|src/api/process/start.c|src/config/options.h|doc/|tests/tool/|"
     "src/prof/store/cleanup|tools/mallow/cmd/subcommands.c",
     r"stale_(seconds|files|bytes|\*)", "options that users have set"),
    (".*", r"stale\W+(pointer|write|one\b)|pointer is stale|answer goes stale",
     "stale pointer: the field's term for a pointer to a freed block"),
    ("tests/other/|tests/misuse/|tests/programs/hardened.c", r"\bstale\b", "stale pointer"),
    (".*",
     r"\b(program|process|thread|child|one|block|stack|container|nothing|it|who|what|last|that)"
     r" lives\b|^lives\.|\bLives in metadata", "the verb: to live"),
    ("tests/tool/namespaces.sh", r"hold stale|lives", "the verb; a name of a test"),
    ("doc/reference/glossary.md", "stack trace|call stack|sampling interval", "others' words"),
    (".*/contention.c|tests/unit/tools/", "sampling period", "a line of the contention format"),
    (".*", "rbd-mirror", "a program of Ceph's"),
    ("compat/gperftools/checker/leak_report.c", "stack traces", "gperftools' message"),
    ("tests/real/sqlite.sh", "journal_mode", "a word of SQLite's"),
    ("tools/mallow/store/directory/index/database.c", "-journal", "a name of SQLite's"),
    ("tests/unit/tools/store/test_directory.c", "sqlite-journal", "a name of SQLite's"),
    ("tests/unit/tools/store/test_directory.c", "tmp-journal", "a name of SQLite's"),
    ("tests/tool/run.sh", "go HOME=", "a variable of the environment"),
    ("tests/real/git.sh", "branches", "a word of git's"),
]
TEXT = re.compile(r"\.(c|cc|h|def|py|sh|bash|js|html|css|md|txt|cmake|in|[1-9]|pml|rs|json|lds|"
                  r"map)$|(^|/)(CMakeLists\.txt|Makefile|run)$")


def texts():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True, text=True).stdout
    for name in sorted(set(names.split("\0"))):
        if not TEXT.search(name) or re.search(r"/(corpus|golden|found|data)/", name):
            continue
        if os.path.isfile(name):
            with open(name, encoding="utf-8") as file:
                yield name, file.read().split("\n")


def kept_spans(name, line):
    """Where the phrases of KEPT lie in the line."""
    return [match.span() for files, phrase, _ in KEPT if re.match(files, name)
            for match in re.finditer(phrase, line)]


def whole(pattern):
    """The pattern where no letter stands before it, nor a lower-case one behind it."""
    return re.compile(rf"(?<![A-Za-z])(?:{pattern})(?![a-z])", re.I)


def places():
    """(file, line number, old word, word to use) of each place."""
    rows = [(word, whole(pattern), use, folders) for word, pattern, use, folders in WORDS]
    any_word = whole("|".join(pattern for _, pattern, *_ in WORDS))
    for name, lines in texts():
        for number, line in [(0, name), *enumerate(lines, 1)]:
            if not any_word.search(line):
                continue
            kept = kept_spans(name, line) if number else []
            for word, pattern, use, folders in rows:
                if folders and not name.startswith(folders):
                    continue
                for match in pattern.finditer(line):
                    if not any(start <= match.start() < end for start, end in kept):
                        yield name, number, word, use


def main():
    os.chdir(sys.argv[1])
    count = dict.fromkeys((word for word, *_ in WORDS), 0)
    for name, number, word, use in places():
        print(f"{name}:{number}: {word}: use: {use}")
        count[word] += 1
    for word, number in count.items():
        if number or "--counts" in sys.argv:
            print(f"{number:6} {word}")
    print(f"{len(WORDS)} replaced words, {sum(count.values())} places, {len(KEPT)} kept phrases")
    return 1 if any(count.values()) else 0


sys.exit(main())
