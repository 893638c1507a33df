#!/bin/bash
# SPDX-License-Identifier: MIT
# count_remote.sh [LIBRARY [LIMIT [MEAN_LIMIT]]] -- instructions of a free of another thread's
# block, counted by callgrind: of free() and of C++'s sized delete.  First those of the common
# case, in free() or operator delete itself, then the mean with what sends the batches home.  The
# loop around them is not counted.  With limits: fails above them.
. "$(dirname "$0")/lib/common.sh"

library=${1:-$MALLOW_BUILD/lib/libmallow.so}
limit=${2:-}
mean_limit=${3:-}
[ -r "$library" ] || die "$library: no such library; run scripts/build.sh first"
blocks=20480

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -fno-builtin -pthread -o "$work/remote_free" bench/remote_free.c -lstdc++

# count FUNCTION LOOP [sized]: two figures
count() {
    local out=$work/out.$2 library_name=$1 loop=$2
    shift 2
    MALLOW_CONF=prof:false LD_PRELOAD="$library" valgrind --tool=callgrind \
        --toggle-collect="$loop" \
        --callgrind-out-file="$out" "$work/remote_free" $blocks "$@" >"$work/log.$loop" 2>&1 ||
        { cat "$work/log.$loop" >&2; die "valgrind could not run the loop with $library"; }
    callgrind_annotate --threshold=100 "$out" | sed 's/,//g' |
        awk -v n=$blocks -v name="$library_name" -v loop="$loop" '
        $2 == "(100.0%)" { total = $1 }
        index($0, ":" loop " ") { around = $1 }
        index($0, ":" name " ") { own = $1 }
        END {
            if (!total || !around || !own) exit 1
            printf "%.1f %.1f\n", own / n, (total - around) / n
        }'
}

read -r free free_mean < <(count free free_all)
read -r delete delete_mean < <(count 'operator delete(void* unsigned long)' delete_all sized)
echo "instructions of a remote free: free $free, with all batches $free_mean;" \
    "sized delete $delete, $delete_mean"
[ -n "$limit" ] || exit 0
awk -v a="$free" -v b="$delete" -v am="$free_mean" -v bm="$delete_mean" -v limit="$limit" -v \
    mean="${mean_limit:-999}" '
BEGIN {
    if (a < 1 || b < 1 || am < a || bm < b) { print "a count is missing"; exit 1 }
    if (a > limit || b > limit) { print "more than " limit " instructions"; exit 1 }
    if (am > mean || bm > mean) { print "more than " mean " instructions in the mean"; exit 1 }
}'
