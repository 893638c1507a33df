#!/bin/bash
# SPDX-License-Identifier: MIT
# build_preset.sh SOURCE_DIR BUILD_DIR PRESET LEAST CTEST OPTION... -- builds another preset, beside
# the release, and runs its tests that match, LEAST of them or more; of the preset only what these
# tests need is built.
# Exit status 77 (skipped) where the preset's compiler or emulator is not installed.
set -euo pipefail
cd "$1"
. scripts/lib/tests.sh
directory=$2/preset-$3
preset=$3
shift 3

log=$(mktemp)
trap 'rm -f "$log"' EXIT
case $preset in
asan) needed=(clang) ;;
aarch64) needed=(aarch64-linux-gnu-gcc qemu-aarch64) ;;
*) needed=(cc) ;;
esac
for program in "${needed[@]}"; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not installed"
        exit 77
    }
done

build() {
    local targets
    cmake --preset "$preset" -B "$directory" || return
    # A failure inside <() would not be seen.
    tests/checks/test_targets.py "$directory" "$@" >"$directory/test_targets" || return
    mapfile -t targets <"$directory/test_targets"
    [ "${#targets[@]}" -gt 0 ] || return
    cmake --build "$directory" --parallel 2 --target "${targets[@]}"
}
build "$@" >"$log" 2>&1 || {
    grep -E 'error|warning|FAILED|selected' "$log" | sed -n 1,40p || tail -n 40 "$log"
    echo "the preset $preset does not build"
    exit 1
}
shift
# What a sanitizer finds ends the test with a status of its own.
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
# The longest history: a race that is meant is known by the reader's stack, which must be there.
export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:history_size=7
run_inner_tests "$directory" "$@"
