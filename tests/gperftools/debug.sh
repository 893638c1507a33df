#!/bin/bash
# SPDX-License-Identifier: MIT
# debug.sh BUILD_DIR SOURCE_DIR -- libtcmalloc_debug.so.4 ends programs that misuse the heap, with a
# line that says how.
. "$(dirname "$0")/lib.sh"
compile misuse -L"$compat" -ltcmalloc_debug -Wno-error
# finds WHAT PATTERN
finds() {
    local said status=0
    said=$(LD_LIBRARY_PATH=$compat "$work/misuse" "$1" 2>&1) || status=$?
    [ "$status" = 134 ] || fail "$1: status $status, not 134 (SIGABRT): $said"
    grep -qE "^mallow: $2" <<<"$said" || fail "$1: $said"
}
finds double-free 'free\(0x[0-9a-f]+\): double free'
finds foreign 'free\(0x[0-9a-f]+\): '
finds overrun 'free\(0x[0-9a-f]+\): '
finds wrong-size 'operator delete\(0x[0-9a-f]+\): wrong size'
LD_LIBRARY_PATH=$compat "$work/misuse" nothing || fail "a program without mistakes"
echo "ok"
