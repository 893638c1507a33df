#!/bin/bash
# SPDX-License-Identifier: MIT
# process.sh BUILD_DIR SOURCE_DIR -- mimalloc's options, statistics and memory for heaps, on each of
# mallow's libraries of that name; the statistics are JSON.
. "$(dirname "$0")/lib.sh"
program=$build/tests/mimalloc_process
passes_on_all "$program"
TEST_JSON=1 LD_LIBRARY_PATH=$compat "$program" 2>"$work/all" >/dev/null || fail "$(cat "$work/all")"
sed -n '/^{/,/^}/p' "$work/all" >"$work/json"
need python3
python3 -c 'import json, sys
stats = json.load(open(sys.argv[1]))
assert stats["committed"]["current"] > 0 and len(stats["malloc_bins"]) == 44, stats' \
    "$work/json" || fail "not JSON: $(head -n 3 "$work/json")"
echo "ok JSON"
