#!/bin/bash
# SPDX-License-Identifier: MIT
# installed.sh BUILD_DIR SOURCE_DIR -- programs find headers and libraries of an installed tree by
# pkg-config, and run with a heap profile.
. "$(dirname "$0")/lib.sh"
need cc cmake pkg-config
cmake --install "$build" --prefix "$work/prefix" >"$work/install" 2>&1 ||
    fail "$(tail -n 3 "$work/install")"
export PKG_CONFIG_PATH=$work/prefix/lib/mallow/compat/pkgconfig
for library in libtcmalloc libtcmalloc_minimal libtcmalloc_debug libtcmalloc_minimal_debug; do
    read -ra flags < <(pkg-config --cflags --libs "$library") || fail "pkg-config $library"
    cc "$here/profiler.c" -o "$work/$library" "${flags[@]}" || fail "$library does not link"
    grep -qF "[$library.so.4]" <<<"$(readelf -d "$work/$library")" ||
        fail "$library: not its own name"
    HEAPPROFILE=$work/$library.p LD_LIBRARY_PATH=$(pkg-config --variable=libdir "$library") \
        "$work/$library" exit 2>"$work/log" || fail "$library: $(cat "$work/log")"
    grep -q '@ heapprofile$' "$work/$library.p.0001.heap" || fail "$library: no profile"
done

read -ra flags < <(pkg-config --cflags --libs libprofiler) || fail "pkg-config libprofiler"
cc "$here/cpu_work.c" -o "$work/cpu_work" "${flags[@]}" -pthread || fail "libprofiler: no link"
CPUPROFILE=$work/cpu.p LD_LIBRARY_PATH=$(pkg-config --variable=libdir libprofiler) \
    "$work/cpu_work" work 0.1 >"$work/log" 2>&1 || fail "libprofiler: $(cat "$work/log")"
[ -s "$work/cpu.p" ] || fail "libprofiler: no profile"

# The same by `mallow run`, for a program that looks for the library where the system has it.
LD_LIBRARY_PATH='' "$work/prefix/bin/mallow" run --as gperftools --output "$work/run.pb" \
    "$work/libtcmalloc" exit >"$work/log" 2>&1 || fail "mallow run: $(cat "$work/log")"
grep -q main <<<"$("$work/prefix/bin/mallow" top "$work/run.pb" 2>&1)" ||
    fail "no profile of the run"
echo "ok"
