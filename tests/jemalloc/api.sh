#!/bin/bash
# SPDX-License-Identifier: MIT
# api.sh BUILD_DIR -- jemalloc's functions and controls: on mallow, its debug build, however much is
# sampled, and the hardened one.
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
TEST_HARDENED=1 LD_PRELOAD=$build/lib/libmallow_secure.so LD_LIBRARY_PATH=$compat \
    "$build/tests/jemalloc_api" >"$work/secure" || {
    tail -n 2 "$work/secure"
    echo "FAILED: libmallow_secure.so"
    exit 1
}
echo "ok the hardened library passes"
