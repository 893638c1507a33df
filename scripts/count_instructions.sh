#!/bin/bash
# SPDX-License-Identifier: MIT
# count_instructions.sh [LIBRARY [LIMIT]] -- instructions one turn of bench/malloc_loop.c takes with
# the library preloaded, counted by callgrind: sampling on (T = 512 KiB), off, never configured.
# With LIMIT: fails when a count is above it, or when the three differ by 0.75 or more.
. "$(dirname "$0")/lib/common.sh"

library=${1:-$MALLOW_BUILD/lib/libmallow.so}
limit=${2:-}
[ -r "$library" ] || die "$library: no such library; run scripts/build.sh first"
# Far enough apart that a refill or a sample more or less does not show: at T = 512 KiB the second
# loop is sampled about 590 times more often than the first, give or take 24.
few=200000
many=5000000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -fno-builtin -o "$work/malloc_loop" bench/malloc_loop.c

# total OPTIONS TURNS: instructions of the whole run, the options being those of MALLOW_CONF.
total() {
    local options=() log=$work/log.$BASHPID
    [ "$1" = none ] || options=("MALLOW_CONF=$1")
    env -u MALLOW_CONF -u MALLOC_CONF "${options[@]}" LD_PRELOAD="$library" \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$work/malloc_loop" "$2" \
        >"$log" 2>&1 || {
        cat "$log" >&2
        die "valgrind could not run the loop with $library"
    }
    sed -n 's/^==[0-9]*== Collected : //p' "$log"
}

# Prints instructions a turn.
count() {
    awk -v a="$(total "$1" "$few")" -v b="$(total "$1" "$many")" -v n="$((many - few))" \
        'BEGIN { if (a == "" || b == "") exit 1; printf "%.4f\n", (b - a) / n }'
}

# Two at a time: callgrind is slow and its counts do not depend on the machine.
# One seed, and no limit on the cost of samples, which follows the clock: by chance alone, how long
# lists are walked to where they are cut, other runs count 0.03 more or less.
count_all() {
    count prof:true,prof_sample:524288,prof_seed:7,prof_cost_limit:0 >"$work/on" &
    first=$!
    count prof:false >"$work/off"
    wait "$first"
    count none >"$work/none"
    on=$(cat "$work/on")
    off=$(cat "$work/off")
    none=$(cat "$work/none")
    echo "instructions a turn: sampling on $on, off $off, never configured $none"
}

check() {
    awk -v on="$on" -v off="$off" -v none="$none" -v limit="$limit" '
    # A sample with its free takes some 4,000 instructions, half of one a turn.
    function far(a, b) { return a - b >= 0.75 || b - a >= 0.75 }
    BEGIN {
        if (on == "" || off == "" || none == "" || on < 1 || off < 1 || none < 1) {
            print "a count is missing"
            exit 1
        }
        if (on > limit || off > limit || none > limit) {
            print "more than " limit " instructions a turn"
            exit 1
        }
        if (far(on, off) || far(on, none) || far(off, none)) {
            print "sampling can be seen on the fast path: the counts differ by 0.75 or more"
            exit 1
        }
    }'
}

count_all
[ -n "$limit" ] || exit 0
# The third count has no seed and follows the clock: it has been 0.25 off once.
check || { count_all && check; }
