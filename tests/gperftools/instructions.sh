#!/bin/bash
# SPDX-License-Identifier: MIT
# instructions.sh BUILD_DIR SOURCE_DIR -- a pair of malloc and free takes as many instructions
# through libtcmalloc.so.4 as through libmallow.so; one of tc_malloc and tc_free takes two more.
. "$(dirname "$0")/lib.sh"
need valgrind
pairs=10000

compile pair -L"$build/lib" -lmallow
mv "$work/pair" "$work/plain"
compile pair -L"$compat" -Wl,--no-as-needed -ltcmalloc
mv "$work/pair" "$work/filter"
compile pair -DTC -L"$compat" -ltcmalloc
mv "$work/pair" "$work/tc"

# total PROGRAM PAIRS: instructions of the whole run, without samples, whose times differ
total() {
    LD_LIBRARY_PATH=$compat:$build/lib MALLOW_CONF=prof:false valgrind --tool=callgrind \
        --callgrind-out-file=/dev/null "$work/$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
# turns PROGRAM: instructions of all pairs
turns() {
    echo $(($(total "$1" $((pairs + 1000))) - $(total "$1" 1000)))
}
plain=$(turns plain)
filter=$(turns filter)
tc=$(turns tc)
[ "$plain" -gt $((pairs * 10)) ] || fail "$plain instructions of $pairs pairs"
# The start of a process differs by a few instructions from one run to the next.
near() {
    local more=$(($1 - $2))
    [ "${more#-}" -lt $((pairs / 10)) ]
}
near "$filter" "$plain" || fail "through libtcmalloc.so.4: $filter, not $plain"
near "$tc" $((plain + 2 * pairs)) || fail "tc_malloc, tc_free: $tc, not $plain and 2 a pair"
echo "ok $plain instructions of $pairs pairs; tc_: $tc"
