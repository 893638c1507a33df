#!/bin/bash
# SPDX-License-Identifier: MIT
# api.sh BUILD_DIR -- the program passes on mallow and, so that it asks for what jemalloc does, on
# Debian's libjemalloc2.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TEST_JSON_FILE=$work/stats.json LD_LIBRARY_PATH=$build/lib/mallow/compat "$build/tests/jemalloc_api"
python3 -m json.tool "$work/stats.json" >/dev/null || {
    echo "malloc_stats_print with J writes what is no JSON"
    exit 1
}
reference=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$reference" ] || exit 0
LD_LIBRARY_PATH=${reference%/*} "$build/tests/jemalloc_api" >"$work/out" || {
    echo "Debian's jemalloc does not pass"
    tail -n 2 "$work/out"
    exit 1
}
echo "ok both libraries pass"
