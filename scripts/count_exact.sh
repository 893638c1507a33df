#!/bin/bash
# SPDX-License-Identifier: MIT
# count_exact.sh [LIBRARY [LIMIT]] -- instructions that one turn of bench/malloc_loop.c takes when
# every allocation is recorded, counted by callgrind.  Its processor has no steady counter, so both
# readings of the clock call the kernel: some 120 of the instructions.  With LIMIT: fails above it.
. "$(dirname "$0")/lib/common.sh"

library=${1:-$MALLOW_BUILD/lib/libmallow.so}
limit=${2:-}
[ -r "$library" ] || die "$library: no such library; run scripts/build.sh first"
few=20000
many=60000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -fno-builtin -o "$work/malloc_loop" bench/malloc_loop.c

# total TURNS: instructions of the whole run.
total() {
    env -u MALLOW_CONF MALLOC_CONF=prof_sample:1 LD_PRELOAD="$library" \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work/malloc_loop" "$1" \
        >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        die "valgrind could not run the loop with $library"
    }
    sed -n 's/^==[0-9]*== Collected : //p' "$work/log"
}

before=$(total "$few")
after=$(total "$many")
awk -v a="$before" -v b="$after" -v n="$((many - few))" -v limit="$limit" 'BEGIN {
    if (a == "" || b == "") { print "a count is missing"; exit 1 }
    turn = (b - a) / n
    printf "instructions of a recorded malloc and free: %.0f\n", turn
    if (limit != "" && turn < 500) { print "nothing was recorded"; exit 1 }
    if (limit != "" && turn > limit) { print "more than " limit " instructions"; exit 1 }
}'
