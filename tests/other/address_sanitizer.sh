#!/bin/bash
# SPDX-License-Identifier: MIT
# address_sanitizer.sh SOURCE LIBRARY ARCHIVE -- programs built with AddressSanitizer, which is a
# malloc itself: mallow stands aside, and their bugs are found as without it.  Exit status 77
# (skipped) when neither compiler has its runtime.
set -uo pipefail
source=$1 library=$2 archive=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0 ran=0

# check WHAT PRELOAD PROGRAM: right without bugs, and a stale write is reported.
check() {
    local what=$1 preload=$2 program=$3
    ran=1
    if ! LD_PRELOAD=$preload "$program" >"$work/out" 2>&1 || ! grep -qx "done" "$work/out"; then
        echo "$what: failed without a bug"
        cat "$work/out"
        status=1
    elif LD_PRELOAD=$preload "$program" stale >"$work/out" 2>&1 ||
        ! grep -q 'AddressSanitizer: heap-use-after-free' "$work/out"; then
        echo "$what: the stale write was not reported"
        cat "$work/out"
        status=1
    else
        echo "$what: mallow stands aside"
    fi
}

flags=(-fsanitize=address -g -O1 -w -pthread)
if gcc "${flags[@]}" -o "$work/gcc" "$source" 2>/dev/null; then
    # gcc's runtime is a shared library, and insists on being the first.
    runtime=$(readlink -f "$(gcc -print-file-name=libasan.so)")
    check "gcc, preloaded after the runtime" "$runtime $library" "$work/gcc"
    gcc "${flags[@]}" -o "$work/gcc-archive" "$source" "$archive" &&
        check "gcc, archive" "" "$work/gcc-archive"
    if LD_PRELOAD=$library "$work/gcc" >"$work/out" 2>&1 ||
        ! grep -q 'ASan runtime does not come first' "$work/out"; then
        echo "gcc, preloaded before the runtime: not refused"
        cat "$work/out"
        status=1
    fi
fi
if clang "${flags[@]}" -o "$work/clang" "$source" 2>/dev/null; then
    check "clang, preloaded" "$library" "$work/clang"
fi
if [ $ran = 0 ]; then
    echo "skipped: no compiler has AddressSanitizer's runtime"
    exit 77
fi
exit $status
