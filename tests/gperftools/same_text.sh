#!/bin/bash
# SPDX-License-Identifier: MIT
# same_text.sh BUILD_DIR SOURCE_DIR -- HEAPPROFILE's file of a program with 192 stacks is that of
# gperftools' own library, line by line but for the addresses of libraries, and google-pprof reads
# it.
. "$(dirname "$0")/lib.sh"
debian=$(ls /usr/lib/*/libtcmalloc.so.4 2>/dev/null) || {
    echo "skipped: no libtcmalloc.so.4 of Debian here"
    exit 77
}
compile stacks
LD_PRELOAD=$debian HEAPPROFILE=$work/theirs "$work/stacks" 2>"$work/theirs.log"
LD_PRELOAD=$compat/libtcmalloc.so.4 HEAPPROFILE=$work/ours "$work/stacks" 2>"$work/ours.log"
diff <(sed "s|$work/theirs|F|" "$work/theirs.log") <(sed "s|$work/ours|F|" "$work/ours.log") ||
    fail "the lines on stderr differ: theirs (<), ours (>)"
# Stacks of equal size have no order.
lines() {
    sed -E '/^$/,$d; s/0x7[0-9a-f]{11}/LIBRARY/g' "$1.0001.heap" | sort
}
diff <(lines "$work/theirs") <(lines "$work/ours") || fail "theirs (<), ours (>)"
[ "$(lines "$work/ours" | wc -l)" -gt 190 ] || fail "few stacks"
# Most live bytes first.
sed -n '2,/^$/p' "$work/ours.0001.heap" | awk 'NF { print $2 }' | sort -c -n -r ||
    fail "stacks are not in order"
if command -v google-pprof >/dev/null; then
    for kind in inuse_space alloc_objects; do
        for side in theirs ours; do
            google-pprof --text "--$kind" "$work/stacks" "$work/$side.0001.heap" 2>/dev/null |
                grep -v '^Total' | grep -v -e __libc -e '@' >"$work/$side.$kind"
        done
        grep -q allocate "$work/ours.$kind" || fail "google-pprof finds no functions"
        diff "$work/theirs.$kind" "$work/ours.$kind" || fail "google-pprof --$kind differs"
    done
fi
echo "ok $(lines "$work/ours" | wc -l) lines"
