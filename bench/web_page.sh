#!/bin/bash
# SPDX-License-Identifier: MIT
# web_page.sh BUILD_DIR -- the figures of `mallow web`'s page in Chromium (web_page.mjs): how soon a
# large profile is drawn and filtered, frames a second with 100,000 nodes, what the server costs
# while a page watches a process, how large the bundle is.  Needs node, npm and Chromium.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d /tmp/mallow-web-page.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp "$here"/../web/package{,-lock}.json "$here/web_page.mjs" "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
cc -g -O1 -fno-builtin -o work "$here/../tests/web/work.c"
bundle=$(cat "$here"/../web/dist/{app.js,app.css,index.html} | gzip -9 | wc -c)
echo "bundle: $((bundle / 1000)) kB compressed"
MALLOW_BUILD=$build node web_page.mjs
