#!/bin/bash
# SPDX-License-Identifier: MIT
# header.sh BUILD_DIR SOURCE_DIR -- <jemalloc/jemalloc.h> compiles in C and C++ of each standard,
# before and after libc's headers, without a warning; and has the names that jemalloc's has.
. "$(dirname "$0")/lib.sh"
need cc c++

cat >"$work/uses.h" <<'END'
static int use(void) {
	void *block = malloc(100), *other = memalign(64, 100), *third = 0;
	block = realloc(block, 200);
	free_sized(block, 200);
	free_aligned_sized(other, 64, 100);
	free(valloc(1));
	free(pvalloc(1));
	free(je_calloc(1, 1));
	je_dallocx(je_mallocx(10, MALLOCX_ZERO), 0);
	if (posix_memalign(&third, 64, 10) != 0 || malloc_usable_size(third) < 10 ||
		je_malloc_usable_size(third) < 10)
		return 1;
	je_free(third);
	free(aligned_alloc(64, 64));
	return JEMALLOC_VERSION_MAJOR - 5 + (malloc_conf != 0) + (malloc_message != 0);
}
int main(void) {
	return use();
}
END
before='#include <jemalloc/jemalloc.h>'
libc='#include <malloc.h>
#include <stdlib.h>
#include <string.h>'
compiled=0
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    for language in c99 c11 c17 gnu17 c++98 c++11 c++17 c++20 gnu++20; do
        for order in first last alone; do
            source_text="$before"
            [ $order = first ] && source_text="$before
$libc"
            [ $order = last ] && source_text="$libc
$before"
            ending=c
            case $language in *++*) ending=cc ;; esac
            printf '%s\n#include "uses.h"\n' "$source_text" >"$work/one.$ending"
            flags=(-Wall -Wextra -Werror)
            # C++ of 1998 has neither <stdint.h> nor bool of C.
            [ $language = c++98 ] || flags+=(-pedantic)
            "$compiler" -std=$language "${flags[@]}" -I"$include" -fsyntax-only \
                "$work/one.$ending" 2>"$work/err" ||
                fail "$compiler -std=$language, $order: $(head -n 5 "$work/err")"
            compiled=$((compiled + 1))
        done
    done
done
ok "$compiled ways to compile it"

# It works, too.
printf '#include <jemalloc/jemalloc.h>\n#include "uses.h"\n' >"$work/run.c"
cc -fno-builtin -I"$include" "$work/run.c" -L"$build/lib" -lmallow -o "$work/run"
LD_LIBRARY_PATH=$build/lib "$work/run" || fail "the program ended with $?"
ok "it links and runs"

theirs=/usr/include/jemalloc/jemalloc.h
if [ -r $theirs ]; then
    # names FILE: the macros it defines, and the functions, without je_
    names() {
        {
            cc -fsyntax-only -dD -E "$1" -I"$include" |
                sed -n "s/^#define \([A-Za-z_][A-Za-z_0-9]*\).*/\1/p" |
                grep -E '^(JEMALLOC|MALLOC|je_|LG_)'
            cc -E "$1" -I"$include" | tr '\n;' ' \n' | grep -oE '\b[a-z_]+ *\(' | tr -d ' ('
        } | sed 's/^je_//' | sort -u
    }
    names "$theirs" | grep -vE '^(smallocx_|__|alloc_size$|nonnull$|visibility$)' >"$work/theirs"
    names "$include/jemalloc/jemalloc.h" >"$work/ours"
    missing=$(comm -23 "$work/theirs" "$work/ours" | tr '\n' ' ')
    [ -z "$missing" ] || fail "names of jemalloc's that are missing: $missing"
    ok "$(wc -l <"$work/theirs") names of jemalloc's are there"
fi
