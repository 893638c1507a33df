#!/bin/bash
# SPDX-License-Identifier: MIT
# larger_pages.sh BUILD_DIR SOURCE_DIR -- the library, told that the kernel's pages have 128 KiB,
# more than it can map its file with: programs run without a profile, and one line says so.  Kernels
# with pages of 16 and 64 KiB: check/forced-page and check/aarch64-system.
set -euo pipefail
build=$1 source=$2/tests/other
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -shared -fPIC -DPAGE_BYTES=131072 "$source/larger_pages.c" -o "$work/page.so"

# try COMMAND...
try() {
    LD_PRELOAD="$work/page.so $build/lib/libmallow.so" MALLOW_CONF=prof_sample:1,prof_guard:2 \
        "$@" >"$work/said" 2>"$work/err" || { echo "FAILED: $*"; cat "$work/err"; exit 1; }
    if [ "$(wc -l <"$work/err")" != 1 ] ||
        ! grep -q '^mallow: no profile: this kernel has pages of 128 KiB' "$work/err"; then
        echo "FAILED: $*: not one line"
        cat "$work/err"
        exit 1
    fi
    echo "ok $1"
}

try ls /
# shellcheck disable=SC2016 # perl's
try perl -e 'my @a = map { "x$_" x 30 } 1 .. 20000; print scalar(@a), "\n"'
try "$build/tests/torture_threads" 1
