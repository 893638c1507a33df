#!/bin/bash
# SPDX-License-Identifier: MIT
# installed.sh BUILD_DIR SOURCE_DIR -- programs find headers and libraries of an installed tree by
# CMake's find_package(mimalloc) and by pkg-config, and run with a profile.
. "$(dirname "$0")/lib.sh"
need cc c++ cmake pkg-config
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install" 2>&1 ||
    fail "$(tail -n 3 "$work/install")"

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(user C CXX)
find_package(mimalloc 2.0 CONFIG REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE mimalloc)
add_executable(archive program.c)
target_link_libraries(archive PRIVATE mimalloc-static)
add_executable(cxx program.cc)
target_link_libraries(cxx PRIVATE mimalloc)
END
cat >"$work/project/program.c" <<'END'
#include <mimalloc-stats.h>
#include <stdlib.h>
#include <string.h>

static void *keep(mi_heap_t *heap) {
	return mi_heap_malloc(heap, 1000);
}

int main(void) {
	mi_heap_t *heap = mi_heap_new();
	for (int i = 0; i < 10000; i++)
		if (!memset(keep(heap), 1, 1000))
			return 2;
	mi_stats_t stats;
	mi_stats_get(sizeof stats, &stats);
	free(mi_malloc(10));
	return stats.committed.current > 10000000 && mi_is_redirected() ? 0 : 1;
}
END
cat >"$work/project/program.cc" <<'END'
#include <mimalloc-new-delete.h>
#include <map>
#include <string>
#include <vector>

int main() {
	typedef mi_heap_destroy_stl_allocator<int> heap_allocator;
	std::vector<std::string, mi_stl_allocator<std::string>> words(1000, "word");
	std::vector<int, heap_allocator> numbers;
	std::vector<int, mi_heap_stl_allocator<int>> others;
	for (int i = 0; i < 100000; i++)
		numbers.push_back(i), others.push_back(i);
	mi_heap_t *heap = mi_heap_new();
	std::map<int, int, std::less<int>, mi_heap_stl_allocator<std::pair<const int, int>>> map(
		(mi_heap_stl_allocator<std::pair<const int, int>>(heap)));
	map[5] = 6;
	return mi_heap_contains_block(heap, &*map.begin()) ||
	       !mi_is_in_heap_region(new int(5)) || numbers[5] != 5;
}
END
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix/lib/mallow/compat" \
    >"$work/log" 2>&1 || fail "find_package: $(tail -n 5 "$work/log")"
cmake --build "$work/project/build" >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
for program in shared archive cxx; do
    "$work/project/build/$program" || fail "$program ends with $?"
done
grep -qF '[libmimalloc.so.2]' <<<"$(readelf -d "$work/project/build/shared")" ||
    fail "not linked with libmimalloc.so.2"

export PKG_CONFIG_PATH=$prefix/lib/mallow/compat/pkgconfig
read -ra flags < <(pkg-config --cflags --libs mimalloc)
cc "$work/project/program.c" -o "$work/program" "${flags[@]}" || fail "pkg-config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir mimalloc) "$work/program" ||
    fail "the program ends with $?"
LD_LIBRARY_PATH='' "$prefix/bin/mallow" run --as mimalloc --exact --output "$work/run.pb" \
    "$work/program" >"$work/log" 2>&1 || fail "mallow run: $(cat "$work/log")"
# 10,000 blocks of 1000 bytes, by the function that asked for them.
grep -q ' keep$' <<<"$("$prefix/bin/mallow" top "$work/run.pb" 2>&1)" ||
    fail "no profile: $("$prefix/bin/mallow" top "$work/run.pb" 2>&1)"
echo "ok"
