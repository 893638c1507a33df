#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh [TURNS [PROGRAM...]] -- real programs with glibc's malloc and with mallow (sampling on), in
# turns within one run.  Prints a table of medians and ratios, writes build/bench/programs.json.
. "$(dirname "$0")/lib/common.sh"

scripts/bootstrap.sh bench
scripts/build.sh release mallow mallow_command
mkdir -p "$MALLOW_BUILD/bench"
exec python3 bench/programs.py --library "$MALLOW_BUILD/lib/libmallow.so" \
    --json "$MALLOW_BUILD/bench/programs.json" --turns "${1:-9}" "${@:2}"
