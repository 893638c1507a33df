#!/bin/bash
# SPDX-License-Identifier: MIT
# site.sh SOURCE_DIR BUILD_DIR -- the documents become a site: mkdocs has no complaint, each link
# leads somewhere, nothing is loaded from the network, and a link that leads nowhere is found.
# Exit status 77 (skipped) without mkdocs and its theme.
set -euo pipefail
cd "$1"
export MALLOW_BUILD=$2
if [ ! -x /usr/bin/mkdocs ] || [ ! -d /usr/share/mkdocs/themes/material ]; then
    echo "skipped: mkdocs or mkdocs-material is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scripts/site.sh "$work/site"

for page in README user/tasks man/mallow.7 zh-CN/tasks; do
    page=doc/$page.html
    [ "$page" != doc/README.html ] || page=index.html
    grep -q '<h1' "$work/site/$page" || {
        echo "FAILED: there is no $page with a title"
        exit 1
    }
done
grep -q 'use-after-free' "$work/site/search/search_index.json" || {
    echo "FAILED: the index of the search lacks a word of the documents"
    exit 1
}

# Each kind of fault, planted.
for fault in '<a href="nowhere.html">x</a>' '<a href="#nowhere">x</a>' \
    '<img src="nowhere.png">' '<script src="https://example.org/x.js"></script>'; do
    cp "$work/site/index.html" "$work/index.html"
    echo "$fault" >>"$work/site/index.html"
    if scripts/site_links.py "$work/site" >"$work/said"; then
        echo "FAILED: not found: $fault"
        exit 1
    fi
    grep -q '^index.html: ' "$work/said"
    mv "$work/index.html" "$work/site/index.html"
done
