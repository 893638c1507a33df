#!/bin/bash
# SPDX-License-Identifier: MIT
# own_frames.sh BUILD_DIR -- the leaf a user sees is the caller of malloc or operator new, whichever
# it was and whatever the size: with the library preloaded, linked into a program, and linked into a
# static one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mallow-own.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Code outside of the sections that mark the library's own would be taken for the user's. So it
# should in the code that repeats a call of the program: no malloc is incomplete there.
left=$(readelf -SW "$build/lib/libmallow.a" |
    awk '{ sub(/\[ *[0-9]+\]/, "") } $1 ~ /^\.text/ && $5 !~ /^0+$/ { print $1, $5 }' |
    grep -v '^\.text\.mallow_repeat ' || true)
[ -z "$left" ] || fail "libmallow.a has code outside of mallow_text and mallow_cold: $left"

compile=(g++ -O2 -g -std=c++17 "$here/own_frames.cc" -pthread)
"${compile[@]}" -o "$work/preloaded"
"${compile[@]}" -o "$work/linked" "$build/lib/libmallow.a"
# The linker warns that a static program which calls dlopen needs libc's files.
"${compile[@]}" -static -o "$work/static" "$build/lib/libmallow.a" \
    2>"$work/link" ||
    fail "linking: $(cat "$work/link")"

options=prof_sample:1,prof_keep:true,prof_state_min:0
for kind in preloaded linked static; do
    preload=
    [ $kind = preloaded ] && preload=$build/lib/libmallow.so
    MALLOW_CONF=$options LD_PRELOAD=$preload "$work/$kind" &
    pid=$!
    wait $pid || fail "$kind: status $?"
    state=("/dev/shm/mallow-$(id -u)/$pid".*)
    [ -f "${state[0]}" ] || fail "$kind: no state file"
    "$build/bin/mallow" report --all --wrappers --sample-type alloc_objects "${state[0]}" \
        >"$work/report"
    rm -f "${state[0]}"
    # Column 1 is flat: whoever has any was a leaf.
    awk '$1 + 0 > 0 { print $6 }' "$work/report" | grep -v '^by_' >"$work/others" || true
    for way in malloc calloc realloc posix_memalign aligned_alloc memalign valloc new new_array \
        nothrow_new aligned_new; do
        grep -q " by_$way " "$work/report" ||
            fail "$kind: by_$way is not in the report: $(cat "$work/report")"
    done
    if grep -E '^(mw_|malloc|calloc|realloc|posix_memalign|aligned_alloc|memalign|valloc)' \
        "$work/others"; then
        fail "$kind: frames of the library are leaves: $(cat "$work/report")"
    fi
    # The nothrow form is libstdc++'s, which calls the plain one: that form alone is a leaf.
    [ "$(awk '$6 == "operator" { sum += $1 } END { print sum }' "$work/report")" = 5 ] ||
        fail "$kind: more leaves than the nothrow form's five: $(cat "$work/report")"
    echo "ok $kind"
done
