#!/bin/bash
# SPDX-License-Identifier: MIT
# api.sh BUILD_DIR -- jemalloc's functions and controls: on mallow and its debug build, however much is sampled.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/lib.sh"
TEST_JSON_FILE=$work/stats.json on_both "$build/tests/jemalloc_api" "$build" "$work/out"
python3 -m json.tool "$work/stats.json" >/dev/null || {
    echo "malloc_stats_print with J writes what is no JSON"
    exit 1
}
on_any_sampling "$build/tests/jemalloc_api"
