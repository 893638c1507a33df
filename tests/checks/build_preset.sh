#!/bin/bash
# SPDX-License-Identifier: MIT
# build_preset.sh SOURCE_DIR BUILD_DIR PRESET [CTEST OPTION...] -- builds another preset, beside the
# release, and runs its tests that match.  Without options it is the build itself that is checked.
set -euo pipefail
cd "$1"
directory=$2/preset-$3
preset=$3
shift 3

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake --preset "$preset" -B "$directory" && cmake --build "$directory" --parallel 2; } \
    >"$log" 2>&1; then
    grep -E 'error|warning|FAILED' "$log" | head -n 40 || tail -n 40 "$log"
    echo "the preset $preset does not build"
    exit 1
fi
[ $# -gt 0 ] || {
    echo "the preset $preset builds"
    exit 0
}
# What a sanitizer finds ends the test with a status of its own.
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
# The longest history: a race that is meant is known by the reader's stack, which must be there.
export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:history_size=7
ctest --test-dir "$directory" --parallel 2 --output-on-failure --timeout 240 "$@" >"$log" 2>&1 || {
    tail -n 80 "$log"
    exit 1
}
grep 'tests passed' "$log"
