#!/bin/bash
# SPDX-License-Identifier: MIT
# names.sh BUILD_DIR SOURCE_DIR -- mallow's libtcmalloc*.so.4 have all names of names.def, the
# public functions of Debian's library among them, and programs that call them link and run.
. "$(dirname "$0")/lib.sh"
need nm c++

defined() {
    nm --dynamic --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u
}
names=$source/compat/gperftools/names.def
grep -v '^#' "$names" | awk 'NF { print $1 }' | sort >"$work/names"
grep -v '^#' "$names" | grep -v = | awk 'NF { print $1 }' | sort >"$work/code"
uniq -d "$work/names" | grep . && fail "listed twice"
defined "$compat/libgperftools_mallow.so" >"$work/defined"
diff "$work/code" "$work/defined" || fail "libgperftools_mallow.so (>) differs from names.def (<)"
for library in libtcmalloc libtcmalloc_minimal libtcmalloc_debug libtcmalloc_minimal_debug \
    libtcmalloc_and_profiler; do
    defined "$compat/$library.so.4" >"$work/defined"
    comm -23 "$work/names" "$work/defined" | grep . && fail "$library.so.4 lacks these"
    [ "$(readlink "$compat/$library.so")" = $library.so.4 ] || fail "no $library.so"
done

# What Debian's programs may call.  Not here: the leak checker, and hooks' functions for inlining.
for debian in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$debian" ] || continue
    defined "$debian" |
        grep -E -e '^(tc_|MallocExtension|MallocHook_|HeapProfiler|(IsHeap|GetHeap)Prof)' \
            -e '^(_ZN15MallocExt|_ZT[VIS](15MallocE|12SysA)|_ZN12SysAll|_Z[0-9]+GetStack)' |
        grep -v _InitAtFirstAllocation >"$work/public"
    [ -s "$work/public" ] || fail "no names in $debian"
    comm -23 "$work/public" "$work/names" | grep . && fail "$debian has these besides"
done

compile names -L"$compat" -ltcmalloc
for library in "$compat"/libtcmalloc*.so.4; do
    ln -sf "$library" "$work/libtcmalloc.so.4"
    # The library's folder is known by the link's target.
    LD_LIBRARY_PATH=$work:$compat:$build/lib "$work/names" || fail "names on ${library##*/}"
    LD_LIBRARY_PATH=$compat LD_PRELOAD=$library "$work/names" ||
        fail "names, ${library##*/} preloaded"
done

# Each header, in C and in C++, with the library behind it.
for pc in libtcmalloc libtcmalloc_minimal libtcmalloc_debug libtcmalloc_minimal_debug \
    libprofiler; do
    [ -e "$build/compat/$pc.pc" ] || fail "no $pc.pc"
done
echo "ok $(wc -l <"$work/names") names"
