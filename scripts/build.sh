#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh [PRESET] [TARGET...] -- configures and builds a preset of CMakePresets.json (release).
# Results of the release: build/lib/libmallow.so, build/lib/libmallow.a, build/bin/mallow.
. "$(dirname "$0")/lib/common.sh"

preset=${1:-release}
[ $# -eq 0 ] || shift
directory=$MALLOW_BUILD
[ "$preset" = release ] || directory=$MALLOW_ROOT/build-$preset

scripts/bootstrap.sh build
say "building ($preset) in ${directory#"$MALLOW_ROOT"/}"
cmake --preset "$preset" -B "$directory" >"${TMPDIR:-/tmp}/mallow-cmake.$$.log" 2>&1 || {
    cat "${TMPDIR:-/tmp}/mallow-cmake.$$.log" >&2
    rm -f "${TMPDIR:-/tmp}/mallow-cmake.$$.log"
    die "cmake could not configure the preset '$preset'"
}
rm -f "${TMPDIR:-/tmp}/mallow-cmake.$$.log"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
cmake --build "$directory" --parallel "$(job_count)" "${targets[@]}"
