#!/bin/bash
# SPDX-License-Identifier: MIT
# filters.sh BUILD_DIR SOURCE_DIR -- each library of lib/mallow/compat/, preloaded or linked, alone
# or together with others: malloc, free and the operators are mallow's, and there is one mallow.
. "$(dirname "$0")/../real/lib.sh"
fail() {
    echo "FAILED: $*"
    exit 1
}
compat=$build/lib/mallow/compat

# Prints the library that has each of the names, and how many of mallow's are loaded.
cat >"$work/names.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*volatile called)(size_t) = malloc;

static const char *owner(void *address) {
	Dl_info info;
	const char *slash = dladdr(address, &info) ? strrchr(info.dli_fname, '/') : NULL;
	return slash ? slash + 1 : "nobody";
}

static int count(struct dl_phdr_info *info, size_t size, void *number) {
	const char *slash = strrchr(info->dlpi_name, '/');
	(void)size;
	*(int *)number += slash && strncmp(slash, "/libmallow", 10) == 0;
	return 0;
}

int main(void) {
	static const char *const names[] = {"calloc", "free", "malloc_usable_size",
		"_Znwm", "mallctl"};
	int mallows = 0;
	free(called(100));
	printf("%s", owner((void *)called));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		printf(" %s", owner(dlsym(RTLD_DEFAULT, names[i])));
	dl_iterate_phdr(count, &mallows);
	printf(" %d\n", mallows);
}
END
cc -O1 -fno-builtin "$work/names.c" -o "$work/names"
soname=$(readelf -d "$build/lib/libmallow.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
plain="$soname $soname $soname $soname $soname $soname 1"

# expect WHAT: the program's line on stdin
expect() {
    local what=$1 want=$2 got
    got=$(cat)
    [ "$got" = "$want" ] || fail "$what: $got, expected $want"
}

filters=0
for library in "$compat"/*.so.*; do
    name=${library##*/}
    [ ! -L "$library" ] || continue
    grep -q '(FILTER)' <<<"$(readelf -d "$library")" || continue
    filters=$((filters + 1))
    wanted=$(readelf -d "$library" | sed -n 's/.*(FILTER).*\[\(.*\)\]/\1/p')
    line=${plain//$soname/$wanted}
    folder=$build/lib
    if [ "$wanted" = libgperftools_debug_mallow.so ]; then # stands in front of libmallow_secure.so
        line=${line/%$wanted 1/${soname/libmallow/libmallow_secure} 1}
        folder=$compat
    fi
    LD_PRELOAD=$library "$work/names" | expect "$name preloaded" "$line"
    cc -O1 -fno-builtin "$work/names.c" -Wl,--no-as-needed "$library" -o "$work/linked"
    LD_LIBRARY_PATH=$compat "$work/linked" | expect "$name linked" "$line"
    # libc before it in the list of needed libraries is behind it in the order of look-ups.
    LD_LIBRARY_PATH=$compat LD_PRELOAD=$library "$work/linked" | expect "$name both" "$line"
    LD_PRELOAD="$library $folder/$wanted" "$work/names" | expect "$name and $wanted" "$line"
    LD_PRELOAD="$folder/$wanted $library" "$work/names" | expect "$wanted and $name" "$line"
    [ "$(stat -c %s "$library")" -lt 40000 ] || fail "$name has $(stat -c %s "$library") bytes"
done
[ "$filters" -gt 0 ] || fail "no filters in $compat"

# Libraries with code: a large array of theirs takes no room in the file.
for library in "$compat"/*.so*; do
    [ ! -L "$library" ] || continue
    data=$(size -A "$library" | awk '$1 == ".data" { print $2 }')
    [ "${data:-0}" -lt 16384 ] || fail "${library##*/} has $data bytes of .data"
done

# All that stand for the plain library in one process.
all=$(for library in "$compat"/*.so.*; do
    if grep -q "FILTER.*\[$soname\]" <<<"$(readelf -d "$library")"; then
        echo "$library"
    fi
done | tr '\n' ' ')
LD_PRELOAD=$all "$work/names" | expect "all filters" "$plain"
echo "ok $filters libraries: names and order of look-up"
