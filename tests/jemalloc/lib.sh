# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# lib.sh -- a test program on mallow's libjemalloc.so.2 and on Debian's.

# on_both PROGRAM BUILD_DIR OUTPUT: it passes on mallow and, so that it asks for what jemalloc does, on the other.
on_both() {
    local reference
    LD_LIBRARY_PATH=$2/lib/mallow/compat "$1"
    reference=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
    [ -n "$reference" ] || return 0
    LD_LIBRARY_PATH=${reference%/*} "$1" >"$3" || {
        echo "Debian's jemalloc does not pass"
        tail -n 2 "$3"
        exit 1
    }
    echo "ok both libraries pass"
}
