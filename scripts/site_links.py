#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""site_links.py FOLDER -- each link, picture, script and style of the site's pages leads to a file
of the folder, and its anchor to a place in that page; nothing is loaded from the network.  Status 1
names those that do not."""
import glob
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Places that links may lead to, and what the page links to and loads."""

    def __init__(self, name):
        super().__init__()
        self.places, self.links, self.loads = set(), [], []
        with open(name, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.places.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("img", "script") and values.get("src"):
            self.loads.append(values["src"])
        if tag == "link" and values.get("href"):
            self.loads.append(values["href"])


def is_outside(target):
    return urllib.parse.urlsplit(target).scheme not in ("", "file")


def main():
    folder = os.path.realpath(sys.argv[1])
    names = sorted(glob.glob(folder + "/**/*.html", recursive=True))
    pages = {name: Page(name) for name in names}
    wrong, count = [], 0
    for name, page in pages.items():
        shown = os.path.relpath(name, folder)
        wrong += [f"{shown}: loads {target}" for target in page.loads if is_outside(target)]
        # The page of errors is served at any address: its links begin at the root.
        base = folder if shown == "404.html" else os.path.dirname(name)
        for target in page.links + page.loads:
            path, _, place = urllib.parse.unquote(target).partition("#")
            if is_outside(target):
                continue
            count += 1
            file = os.path.normpath(os.path.join(base, path.lstrip("/"))) if path else name
            if os.path.isdir(file):
                file = os.path.join(file, "index.html")
            if not os.path.isfile(file):
                wrong.append(f"{shown}: {target}: there is no such file")
            elif place and file in pages and place not in pages[file].places:
                wrong.append(f"{shown}: {target}: there is no such place")
    for line in wrong:
        print(line)
    print(f"{len(pages)} pages, {count} links, {len(wrong)} wrong")
    return 1 if wrong or len(pages) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
