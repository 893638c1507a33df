#!/bin/bash
# SPDX-License-Identifier: MIT
# measurements.sh NAME... -- writes doc/measurements/NAME.md again: its text above the table
# stays, the table is made by a program of the build (peak: 120 runs, 20 seconds; intervals:
# 11,000 simulated runs, 2 seconds).
. "$(dirname "$0")/lib/common.sh"

library=$MALLOW_BUILD/lib/libmallow.so
[ $# -gt 0 ] || die "measurements.sh: say what: peak, intervals"
for name; do
    case $name in
    peak) table=("$MALLOW_BUILD/tests/peaks" "$library" 20 table) ;;
    intervals) table=("$MALLOW_BUILD/tests/unit_tools_report_test_interval" 1000) ;;
    *) die "measurements.sh: $name: unknown; allowed: peak, intervals" ;;
    esac
    page=$MALLOW_ROOT/doc/measurements/$name.md
    [ -x "${table[0]}" ] || die "measurements.sh: ${table[0]} is not built; run scripts/build.sh"
    { sed '/^|/,$d' "$page" && "${table[@]}"; } >"$page.new" && mv "$page.new" "$page"
    say "doc/measurements/$name.md"
done
