#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documents.py SOURCE_DIR [--fix] -- documents: links and paths lead somewhere, short lines.

Links: every relative link and picture of a Markdown file names a file that is there, and a fragment
behind '#' names one of its headings. Every doc/... path that another text file names is there, too.

Code: a path of the tree in a code span of Markdown (`src/...`, with * for anything) is there, and
so is a function (`mw_...()`), unless the page is a record of measurements. "`function()` in
`file`", and a row of a table with a file and then a function, mean that the file defines the
function. --fix writes the new path of a file that was moved, where one file of the tree has its
name.

Lines: at most 100 characters in Markdown and man pages. Not counted are rows of tables, code
blocks, and a line that a single word without blanks (a link) makes too long; and Chinese pages,
whose paragraphs are lines: a line break there would be shown as a blank between two characters.
translations.py compares the Chinese pages with the English ones."""
import glob
import os
import re
import subprocess
import sys

LIMIT = 100
CHINESE = re.compile(r"README\.zh-CN\.md|doc/zh-CN/")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)", re.S)
PATH = re.compile(r"(?<![\w/.-])(?:\.\./)*doc/[\w./-]+")
# compat/ is a folder, and the beginning of names of tests.
CODE = re.compile(r"`((?:src|compat/(?:jemalloc|mimalloc|gperftools|leaks|lsan)|tools|tests|bench|"
                  r"scripts|cmake|include)/[\w./*{},-]+)(?: [^`]*)?`")
FUNCTION = re.compile(r"`(mw_\w+)\(\)`")
# One function or several in a file; a row of a table with a file and a function.
NAMES = r"((?:`\w+\(\)`(?:,\s+|\s+and\s+)?)+)"
IN_FILE = re.compile(NAMES + r"\s+in\s+`((?:src|compat|tools)/[\w./-]+)`")
ROW = re.compile(r"\| `((?:src|compat|tools)/[\w./-]+)` \| (`\w+\(\)`)")


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True,
                           text=True).stdout
    return [name for name in names.split("\0") if os.path.isfile(name)]


def text_of(name):
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def without_code(text):
    """The text with code blocks emptied, so that line numbers stay."""
    lines, in_code = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines.append("" if in_code or fence else line)
        in_code ^= fence
    return "\n".join(lines)


def anchor(heading):
    """The fragment that leads to a heading of Markdown, as the usual hosts make it."""
    title = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading.lstrip("#").strip()).lower()
    return re.sub(r"[^\w -]", "", title).replace(" ", "-")


def anchors(text):
    """The fragments of a Markdown text's headings."""
    return {anchor(line) for line in without_code(text).split("\n") if re.match(r"#+ ", line)}


def links(name, text):
    for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", without_code(text))):
        url = match.group(1)
        if re.match(r"[a-z]+:", url):
            continue
        path, _, fragment = url.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(target):
            yield f"{name}: link to {url}: there is no such file"
        elif fragment and fragment not in anchors(text_of(target) or ""):
            yield f"{name}: link to {url}: there is no such heading"


def paths(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        for match in PATH.finditer(line):
            path = re.sub(r"^(\.\./)*", "", match.group(0)).rstrip(".,:;")
            folder, base = os.path.split(path)
            # A page may be named by its beginning: doc/adr/0018.
            there = os.path.exists(path) or (os.path.isdir(folder) and any(
                other.startswith(base + "-") for other in os.listdir(folder)))
            if not there and not re.search(r"[A-Z]{4}|\$", path):
                yield f"{name}:{number}: {path}: there is no such file"


def words_of_sources():
    """Every name that begins with mw_ in the sources."""
    found = set()
    for name in tracked():
        if re.match(r"(src|compat|tools|include)/", name) and name.endswith((".c", ".h", ".def")):
            found.update(re.findall(r"\bmw_\w+", text_of(name) or ""))
    return found


def moved_to(path):
    """Where the only file of that name is now, or None."""
    places = [name for name in tracked() if os.path.basename(name) == os.path.basename(path)]
    return places[0] if len(places) == 1 else None


def fix(text):
    """The text with the new paths of files that were moved."""
    def renew(match):
        path = match.group(1)
        new = None if "*" in path or glob.glob(path) else moved_to(path)
        return match.group(0).replace(path, new) if new else match.group(0)
    return CODE.sub(renew, text)


def functions(name, text, words):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for function in FUNCTION.findall(line):
            if function not in words:
                yield f"{name}:{number}: {function}(): no source has it"


def defines(path, function):
    """Whether a line of the file begins a definition of the function."""
    return re.search(rf"^[A-Za-z].*\b{function}\((?!.*;$)", text_of(path) or "", re.M)


def definitions(name, text):
    pairs = [(found[2], found[1]) for found in IN_FILE.finditer(without_code(text))]
    pairs += [(found[1], found[2]) for found in ROW.finditer(without_code(text))]
    for path, functions_named in pairs:
        for function in re.findall(r"\w+", functions_named):
            if function != "and" and os.path.isfile(path) and not defines(path, function):
                yield f"{name}: {path} does not define {function}()"


def code_paths(name, text):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for path in CODE.findall(line):
            variants = [path]
            while "{" in variants[0]:
                head, _, rest = variants[0].partition("{")
                choices, _, tail = rest.partition("}")
                variants = [head + choice + tail for choice in choices.split(",")]
            for variant in variants:
                if not glob.glob(variant):
                    new = moved_to(variant)
                    hint = f"; {new} has its name: tests/checks/documents.py . --fix" if new else ""
                    yield f"{name}:{number}: {variant}: there is no such file{hint}"


def long_lines(name, text):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        line = line.expandtabs(8)
        if len(line) <= LIMIT or line.lstrip().startswith("|"):
            continue
        if len(re.sub(r"^[\s>*-]+", "", line).split()) > 1:
            yield f"{name}:{number}: {len(line)} columns, more than {LIMIT}"


def main():
    os.chdir(sys.argv[1])
    documents, findings, words = 0, [], words_of_sources()
    for name in tracked():
        text = text_of(name)
        if text is None:
            continue
        if name.endswith(".md"):
            documents += 1
            findings += links(name, text)
            if not name.startswith("doc/measurements/"):
                if "--fix" in sys.argv[2:] and fix(text) != text:
                    text = fix(text)
                    with open(name, "w", encoding="utf-8") as file:
                        file.write(text)
                findings += code_paths(name, text)
                findings += functions(name, text, words)
                findings += definitions(name, text)
            if not CHINESE.match(name):
                findings += long_lines(name, text)
        elif name.startswith("doc/man/"):
            findings += long_lines(name, text)
        elif name != "cmake/install.cmake":  # its share/doc is a place of the installation
            findings += paths(name, text)
    print("\n".join(findings))
    print(f"{documents} documents, {len(findings)} findings")
    sys.exit(1 if findings or not documents else 0)


if __name__ == "__main__":
    main()
