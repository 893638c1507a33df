#!/bin/bash
# SPDX-License-Identifier: MIT
# site.sh [FOLDER] -- the documents as static pages in FOLDER (build/site): those of the
# repository's Markdown and the man pages, with search, light and dark, without anything from the
# network.  mkdocs and its theme make them (scripts/packages.txt, job site).  A link that leads
# nowhere is an error.
. "$(dirname "$0")/lib/common.sh"

[ $# -le 1 ] || die "usage: scripts/site.sh [FOLDER]"
mkdir -p "${1:-$MALLOW_BUILD/site}"
folder=$(realpath "${1:-$MALLOW_BUILD/site}")
theme=/usr/share/mkdocs/themes/material
for program in /usr/bin/mkdocs man; do
    command -v "$program" >/dev/null || die "$program is not installed: scripts/bootstrap.sh site"
done
[ -d "$theme" ] || die "mkdocs-material is not installed: scripts/bootstrap.sh site"
[ -s "$MALLOW_BUILD/man/mallow.1" ] || die "$MALLOW_BUILD/man/mallow.1 is not there: make first"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/site_pages.py "$work" "$MALLOW_BUILD/man" "$theme"
/usr/bin/mkdocs --quiet build --strict --clean --config-file "$work/mkdocs.yml" \
    --site-dir "$folder" >"$work/log" 2>&1 || {
    cat "$work/log"
    die "mkdocs fails"
}
scripts/site_links.py "$folder"
