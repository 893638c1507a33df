#!/bin/bash
# SPDX-License-Identifier: MIT
# debug_programs.sh SOURCE_DIR BUILD_DIR LEAST -- the release's programs, torture tests and real
# programs once more, on the debug library in the place of the plain one and on the hardened library
# with the debug library's checks in the place of the hardened one.  Entries that the release runs
# on the debug library anyway, and programs linked with an archive, are left out.  At least LEAST
# tests must run.
set -euo pipefail
cd "$1"
. scripts/lib/tests.sh
build=$2
least=$3
inner=$build/debug-programs
mkdir -p "$inner"

# Nothing else needs this library: it is not among what the release builds.
cmake --build "$build" --parallel 2 --target mallow_secure_debug >"$inner/build.log" 2>&1 || {
    tail -n 40 "$inner/build.log"
    exit 1
}

# The release's own entries, in files of ctest's.
for folder in programs misuse guarded torture real; do
    sed -e 's#/lib/libmallow\.so#/lib/libmallow_debug.so#g' \
        -e 's#/lib/libmallow_secure\.so#/lib/libmallow_secure_debug.so#g' \
        "$build/tests/$folder/CTestTestfile.cmake"
done >"$inner/CTestTestfile.cmake"

selected=(-R '^(program|torture|misuse/(secure-|attacks-|exposure-|guarded)|real/(redis|node|gcc))'
    -E 'mallow_debug|program/confined-prof|^torture/(archive|.*static)|-static$')
count=$(ctest --test-dir "$inner" -N "${selected[@]}" | sed -n 's/^Total Tests: //p')
if [ "$count" -lt "$least" ]; then
    echo "$count tests are selected, not $least"
    exit 1
fi
# Real programs take the library from their environment; each of their blocks is sampled.
export MALLOW_TEST_LIBRARY=$build/lib/libmallow_debug.so mallow_options=prof_sample:1
export MALLOW_TEST_FORKS=200 MALLOW_TEST_SECONDS=5
run_inner_tests "$inner" "${selected[@]}"
