#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""site_pages.py FOLDER MAN_FOLDER THEME -- what mkdocs makes the site of: FOLDER/pages, in the
repository's own layout, with the files that its documents link to, and FOLDER/mkdocs.yml.  Man
pages become pages of text; those that a build makes are in MAN_FOLDER."""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)

# Title of each part of the menu, its first pages, and the folder of the others, which are in the
# order of their names.
PARTS = [
    ("Use", [], "doc/user"),
    ("Man pages", [], "doc/man"),
    ("Reference", [], "doc/reference"),
    ("Internals", ["doc/ARCHITECTURE.md"], "doc/internals"),
    ("Decisions", [], "doc/adr"),
    ("Measurements", [], "doc/measurements"),
    ("中文", ["README.zh-CN.md"], "doc/zh-CN"),
    ("Project", ["doc/README.md", "CHANGELOG.md", "CONTRIBUTING.md"], ""),
]


def copy(source, pages, target=None):
    target = os.path.join(pages, target or source)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def linked_files(page):
    """The files of the repository, other than pages, that a page links to."""
    with open(page, encoding="utf-8") as file:
        text = CODE.sub("", file.read())
    for target in LINK.findall(text):
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if "://" not in target and not path.startswith("..") and os.path.isfile(path):
            if not path.endswith(".md"):
                yield path


def man_page(source):
    """A man page as a page of text."""
    environment = dict(os.environ, MANWIDTH="90", LC_ALL="C.UTF-8", MAN_KEEP_FORMATTING="")
    text = subprocess.run(["man", "--local-file", source], env=environment, check=True,
                          capture_output=True, text=True).stdout
    text = re.sub(r".\x08", "", text)
    name = os.path.basename(source)
    title = re.sub(r"^(.*)\.(\d)$", r"\1(\2)", name)
    return f"# {title}\n\n<pre><code>{html.escape(text)}</code></pre>\n"


def add_man_pages(pages, folder):
    """Links lead to the sources' names: mallow.7, mallow.1.in."""
    for source in sorted(glob.glob("doc/man/*.[1-8]") + glob.glob(folder + "/*.[1-8]")):
        target = os.path.join(pages, "doc/man", os.path.basename(source) + ".md")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(man_page(source))


def with_man_links(text):
    return re.sub(r"\]\(([^)\s]*man/[a-z-]+\.\d)(?:\.in)?\)", r"](\1.md)", text)


def title_of(page):
    """Its first heading, without marks."""
    with open(page, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# "):
                return re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", line[2:].strip())
    return os.path.basename(page)


def menu(pages):
    def row(path, title=None):
        return {title or title_of(os.path.join(pages, path)): path}
    rows = [row("README.md", "mallow")]
    for title, first, folder in PARTS:
        found = sorted(glob.glob(os.path.join(pages, folder, "*.md")))
        found = [os.path.relpath(page, pages) for page in found if folder]
        rows.append({title: [row(page) for page in first + found]})
    return rows


def settings(pages, theme):
    """JSON is YAML, but for the name of a Python function."""
    palette = [{"media": f"(prefers-color-scheme: {scheme})", "scheme": name,
                "primary": "deep purple", "accent": "pink",
                "toggle": {"icon": icon, "name": f"{other} colours"}}
               for scheme, name, icon, other in (
                   ("light", "default", "material/weather-night", "dark"),
                   ("dark", "slate", "material/weather-sunny", "light"))]
    values = {
        "site_name": "mallow",
        "docs_dir": pages,
        "use_directory_urls": False,
        "theme": {"name": None, "custom_dir": theme, "font": False,
                  "static_templates": ["404.html"], "search_index_only": True, "language": "en",
                  "palette": palette, "icon": {"logo": "material/memory"},
                  "features": ["navigation.tabs", "navigation.top", "toc.follow",
                               "search.highlight", "search.share"]},
        # It finds words between blanks and signs: in Chinese pages names and English terms.
        "plugins": [{"search": {"lang": "en", "separator": "[\\s\\-，。：；（）、「」]+"}}],
        "nav": menu(pages),
    }
    text = json.dumps(values, ensure_ascii=False, indent=1)
    extensions = """markdown_extensions:
  - tables
  - fenced_code
  - attr_list
  - md_in_html
  - sane_lists
  - pymdownx.superfences
  - pymdownx.highlight:
      use_pygments: true
  - toc:
      permalink: true
      slugify: !!python/name:pymdownx.slugs.gfm
"""
    rows = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
                   for key, value in json.loads(text).items())
    return rows + extensions


def main():
    folder, man_folder, theme = sys.argv[1:]
    pages = os.path.join(folder, "pages")
    sources = ["README.md"]
    for _, first, part in PARTS:
        sources += first + sorted(glob.glob(part + "/*.md") if part else [])
    for page in sources:
        for path in linked_files(page):
            copy(path, pages)
        copy(page, pages)
        with open(page, encoding="utf-8") as file:
            text = with_man_links(file.read())
        with open(os.path.join(pages, page), "w", encoding="utf-8") as file:
            file.write(text)
    add_man_pages(pages, man_folder)
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write(settings(pages, theme))


if __name__ == "__main__":
    main()
