#!/bin/bash
# SPDX-License-Identifier: MIT
# thread_sanitizer.sh SOURCE LIBRARY -- programs that ThreadSanitizer watches, built by clang and by
# gcc, start and end well with the library preloaded: they have a malloc of their own, and call
# mallow's other functions, the first of them before they have started.  gcc's sanitizer is a shared
# library, which must come first (doc/internals/testing.md).
set -euo pipefail
source=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
for compiler in clang gcc; do
    "$compiler" -O1 -g -fno-builtin -pthread -fsanitize=thread -DWITHOUT_FORK "$source" \
        -o "$work/program" 2>/dev/null || continue
    # On some kernels the sanitizer itself does not start.
    "$work/program" >/dev/null 2>&1 || continue
    first=
    [ "$compiler" = clang ] || first=$(gcc -print-file-name=libtsan.so)
    LD_PRELOAD="$first $library" "$work/program" >"$work/out" 2>&1 || {
        echo "FAILED: $compiler's program, status $?: $(head -n 5 "$work/out")"
        exit 1
    }
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "skipped: no compiler with ThreadSanitizer"; exit 77; }
echo "ok with $tried compilers"
