#!/bin/bash
# SPDX-License-Identifier: MIT
# valgrind.sh PROGRAM PROGRAM_WITH_ARCHIVE LIBRARY -- programs with the library preloaded or linked
# under valgrind's tools: no false alarms, and the bugs of the program are found as without mallow.
# Exit status 77 (skipped) without valgrind.
set -uo pipefail
program=$1 archive=$2 library=$3
if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# check WHAT EXPECTED_STATUS PRELOAD COMMAND...
check() {
    local what=$1 expected=$2 preload=$3 got=0
    shift 3
    env ${preload:+LD_PRELOAD="$preload"} "$@" >"$work/out" 2>&1 || got=$?
    if [ "$got" -eq "$expected" ]; then
        echo "$what: as it should be"
    else
        echo "$what: status $got, expected $expected"
        cat "$work/out"
        status=1
    fi
}

memcheck=(valgrind --quiet --leak-check=full --error-exitcode=9)
check "memcheck, preloaded" 0 "$library" "${memcheck[@]}" "$program"
check "memcheck, archive" 0 "" "${memcheck[@]}" "$archive"
for bug in overflow stale leak; do
    check "memcheck, preloaded, $bug" 9 "$library" "${memcheck[@]}" "$program" "$bug"
    check "memcheck, archive, $bug" 9 "" "${memcheck[@]}" "$archive" "$bug"
done
check "massif, preloaded" 0 "$library" valgrind --quiet --tool=massif \
    --massif-out-file="$work/massif" "$program"
grep -q '^mem_heap_B=[1-9][0-9]*$' "$work/massif" || { echo "massif saw no heap"; status=1; }
check "helgrind, preloaded" 0 "$library" valgrind --quiet --tool=helgrind --error-exitcode=9 \
    "$program"
# Callgrind leaves malloc alone: what runs, and is counted, is mallow's own.
check "callgrind, preloaded" 0 "$library" valgrind --quiet --tool=callgrind \
    --callgrind-out-file="$work/callgrind" "$program"
grep -q 'libmallow' "$work/callgrind" || { echo "callgrind did not see mallow"; status=1; }
# mallow's own malloc under memcheck, which then sees the program's mappings only.
check "memcheck, mallow's malloc" 0 "$library" "${memcheck[@]}" --soname-synonyms=somalloc=none \
    "$program"
exit $status
