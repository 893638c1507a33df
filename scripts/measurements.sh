#!/bin/bash
# SPDX-License-Identifier: MIT
# measurements.sh NAME... -- writes doc/measurements/NAME.md again: its text above the table
# stays, the table is made by a program of the build (peak: 120 runs, 20 seconds; intervals:
# 110,000 simulated runs, 25 seconds; detection: 6,948 runs, 5 minutes; exposure: 120 runs, and 48
# under valgrind, 2 minutes).
. "$(dirname "$0")/lib/common.sh"
. "$MALLOW_ROOT/scripts/lib/mimalloc_secure.sh"

library=$MALLOW_BUILD/lib/libmallow.so
secure=$MALLOW_BUILD/lib/libmallow_secure.so
attacks=$MALLOW_ROOT/tests/misuse/attacks

# The libraries that are compared in what they find and give away.
name_hardened_peers() {
    local scudo mimalloc
    scudo=$(clang -print-file-name=libclang_rt.scudo_standalone-x86_64.so)
    [ -r "$scudo" ] || die "clang's scudo is not there; install libclang-rt-dev"
    mimalloc=$(mimalloc_secure)
    peers=("glibc 2.36=libc.so.6" "mimalloc 2.0.9, secure=$mimalloc" "scudo (clang 14)=$scudo"
        "plain=$library=prof:false" "secure=$secure=prof:false"
        "with \`fill_freed:true\`=$secure=prof:false,fill_freed:true")
}

[ $# -gt 0 ] || die "measurements.sh: say what: peak, intervals, detection, exposure"
for name; do
    case $name in
    peak) table=("$MALLOW_BUILD/tests/peaks" "$library" 20 table) ;;
    intervals) table=("$MALLOW_BUILD/tests/unit_tools_report_test_interval" 10000) ;;
    detection)
        name_hardened_peers
        table=("$attacks/count.py" "$MALLOW_BUILD/tests/misuse/attacks" --runs 6 "${peers[@]}")
        ;;
    exposure)
        name_hardened_peers
        table=("$attacks/exposure.py" "$MALLOW_BUILD/tests/misuse/exposure" "${peers[@]}" --price)
        ;;
    *)
        die "measurements.sh: $name: unknown; allowed: peak, intervals, detection, exposure"
        ;;
    esac
    page=$MALLOW_ROOT/doc/measurements/$name.md
    for program in "${table[0]}" "$MALLOW_BUILD/tests/misuse/exposure"; do
        [ -x "$program" ] || die "measurements.sh: $program is not built; run scripts/build.sh"
    done
    made=$("${table[@]}") || die "measurements.sh: $name: ${table[0]} failed"
    written=$(sed '/^|/,$d' "$page")
    printf '%s\n\n%s\n' "$written" "$made" >"$page"
    say "doc/measurements/$name.md"
done
