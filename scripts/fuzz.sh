#!/bin/bash
# SPDX-License-Identifier: MIT
# fuzz.sh [SECONDS [TARGET...]] -- searches for inputs that do harm, with clang's libFuzzer: each
# target of tests/fuzz, or those named, for so many seconds (60).  What is found is kept in
# build/preset-asan/crashes; `make check` runs only the inputs that are known.  Exit status 1 if
# something was found.
. "$(dirname "$0")/lib/common.sh"
seconds=${1:-60}
targets=("${@:2}")
if [ "${#targets[@]}" = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=${source#tests/fuzz/fuzz_}
        targets+=("${name%.c}")
    done
    targets+=(heap_secure)
fi
status=0
for target in "${targets[@]}"; do
    say "$target: $seconds s"
    tests/fuzz/run.sh "$target" "$MALLOW_BUILD/preset-asan" "$seconds" || status=1
done
exit "$status"
