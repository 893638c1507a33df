#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""translations.py SOURCE_DIR [--renew PAGE...] -- the Chinese pages (README.zh-CN.md, doc/zh-CN/)
say the same as the English ones.

The first line of a Chinese page names its English page and the revision that it translates, git's
hash of the file's contents:

    <!-- translates: doc/user/tasks.md blob 0123... -->

If the English page has changed since, the check lists the Chinese page as behind, with the command
that shows the change, and passes. If not, each section of the Chinese page needs the section's

- code blocks, except for comments behind # in commands and settings,
- code spans, numbers (with their units), rows of tables, and links: a link to a page that has a
  Chinese page leads to the Chinese one.

What stands before the first heading is not compared. Links of all Chinese pages lead somewhere.
--renew writes the present revision of the English page into each PAGE."""
import collections
import glob
import hashlib
import os
import re
import sys

from documents import LINK, anchor, links, text_of

# Pages that translate nothing.
OWN = {"doc/zh-CN/README.md", "doc/zh-CN/glossary.md"}
NOTE = re.compile(r"<!-- translates: (\S+) blob ([0-9a-f]{40}) -->\n")
NUMBER = re.compile(r"(?<![A-Za-z0-9_.-])±?\d+(?:[.,]\d+)*"
                    r"(?: ?(?:%|[KMGT]?i?B|[mun]?s)(?![A-Za-z/]))?")
SPAN = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"(?:^|\s+)# .*$")


def pages():
    return sorted(glob.glob("README.zh-CN.md") + glob.glob("doc/zh-CN/*.md"))


def revision(name):
    """Git's hash of the file's contents."""
    with open(name, "rb") as file:
        contents = file.read()
    return hashlib.sha1(b"blob %d\0" % len(contents) + contents).hexdigest()


def without_comment(line, language):
    is_command = language != "console" or line.startswith(("$ ", "# "))
    return COMMENT.sub("", line) if language in ("sh", "console", "ini") and is_command else line


def sections(text):
    """(heading, code blocks, other text) of each section."""
    found, block, language = [["", [], ""]], None, ""
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            if block is None:
                block, language = [], line.strip("` ")
            else:
                found[-1][1].append((language, tuple(block)))
                block = None
        elif block is not None:
            block.append(without_comment(line, language))
        elif re.match(r"#+ ", line):
            found.append([line, [], line + "\n"])
        else:
            found[-1][2] += line + "\n"
    return found


def linked(name, prose):
    """(path, number of the heading) of each relative link."""
    for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", prose)):
        path, _, fragment = match.group(1).partition("#")
        if re.match(r"[a-z]+:", path):
            yield path, fragment
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        headings = [anchor(heading) for heading, *_ in sections(text_of(target) or "")[1:]] \
            if fragment and target.endswith(".md") else []
        yield target, headings.index(fragment) if fragment in headings else fragment


def content(prose):
    """The code spans, numbers and table rows of a section's text."""
    prose = re.sub(r"<!--|-->", "", prose)
    spans = {" ".join(span.split()) for span in SPAN.findall(prose)}
    prose = re.sub(r"\]\([^)]*\)", "]", SPAN.sub("", prose))
    numbers = collections.Counter(number.replace(" ", "") for number in NUMBER.findall(prose))
    rows = sum(1 for line in prose.split("\n") if line.startswith("|"))
    return spans, numbers, rows


def differing_blocks(english, chinese):
    if len(english) != len(chinese):
        yield f"{len(chinese)} code blocks, the English page has {len(english)}"
    for (language, wanted), (other, got) in zip(english, chinese):
        if language != other:
            yield f"a code block is of {other or 'no language'}, not of {language or 'none'}"
        for line, same in zip(wanted + ("the end",), got + ("the end",)):
            if line != same:
                yield f"in a code block: {same!r}, the English page has {line!r}"
                break


def differing_content(english, chinese):
    (spans, numbers, rows), (own_spans, own_numbers, own_rows) = map(content, (english, chinese))
    for missing in sorted(spans - own_spans):
        yield f"`{missing}` is only in the English page"
    for added in sorted(own_spans - spans):
        yield f"`{added}` is not in the English page"
    for missing in sorted((numbers - own_numbers).elements()):
        yield f"number {missing} is only in the English page"
    for added in sorted((own_numbers - numbers).elements()):
        yield f"number {added} is not in the English page"
    if rows != own_rows:
        yield f"{own_rows} rows of tables, the English page has {rows}"


def differing_links(source, page, english, chinese, chinese_page):
    wanted, got = set(linked(source, english)), set(linked(page, chinese))
    wanted = {(chinese_page.get(path, path), heading) for path, heading in wanted}
    for path, heading in sorted(wanted - got, key=str):
        yield f"a link is missing: {path}{f', heading {heading}' if heading != '' else ''}"
    for path, heading in sorted(got - wanted, key=str):
        yield f"a link is not in the English page: {path}, heading {heading}"


def compare(source, page, chinese_page):
    english, chinese = sections(text_of(source))[1:], sections(text_of(page))[1:]
    levels = [[heading.split()[0] for heading, *_ in part] for part in (english, chinese)]
    if levels[0] != levels[1]:
        yield f"{page}: its headings are not those of {source}"
        return
    for (_, blocks, prose), (heading, own_blocks, own_prose) in zip(english, chinese):
        for difference in (*differing_blocks(blocks, own_blocks),
                           *differing_content(prose, own_prose),
                           *differing_links(source, page, prose, own_prose, chinese_page)):
            yield f"{page}: {heading}: {difference}"


def renew(names):
    for page in names:
        text = text_of(page)
        note = NOTE.match(text)
        with open(page, "w", encoding="utf-8") as file:
            file.write(text[:note.start(2)] + revision(note[1]) + text[note.end(2):])


def main():
    os.chdir(sys.argv[1])
    if sys.argv[2:3] == ["--renew"]:
        renew(sys.argv[3:])
    notes, bad, behind = {}, [], []
    for page in pages():
        note = NOTE.match(text_of(page))
        if note and os.path.isfile(note[1]):
            notes[page] = note.groups()
        elif note:
            bad.append(f"{page}: translates {note[1]}: there is no such file")
        elif page not in OWN:
            bad.append(f"{page}: the first line does not name the English page and its revision")
        bad += links(page, text_of(page))
    chinese_page = {source: page for page, (source, _) in notes.items()}
    for page, (source, translated) in notes.items():
        present = revision(source)
        if present == translated:
            bad += compare(source, page, chinese_page)
        else:
            behind.append(f"{page} is behind: git diff {translated} {present}  # {source}")
    missing = sorted(set(glob.glob("doc/user/*.md")) - set(chinese_page))
    print(*bad, *behind, *(f"{name} has no Chinese page" for name in missing), sep="\n")
    print(f"{len(pages())} Chinese pages, {len(behind)} behind, {len(missing)} English pages "
          f"without one, {len(bad)} findings")
    return 1 if bad or not notes else 0


if __name__ == "__main__":
    sys.exit(main())
