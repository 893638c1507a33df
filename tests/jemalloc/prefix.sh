#!/bin/bash
# SPDX-License-Identifier: MIT
# prefix.sh BUILD_DIR SOURCE_DIR -- libraries whose names have a prefix, beside libc's malloc; and
# what is installed for programs that look for jemalloc.
. "$(dirname "$0")/lib.sh"
need cc cmake

for prefix in je_ _rjem_; do
    folder=$build/lib/mallow/prefixed/$prefix
    cat >"$work/program.c" <<END
#include <jemalloc/jemalloc.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
const char *${prefix}malloc_conf = "lg_prof_sample:13";

int main(void) {
	size_t lg = 0, length = sizeof lg;
	char *theirs = malloc(1000), *ours = ${prefix}malloc(1000);
	ours = ${prefix}realloc(strcpy(ours, "text"), 5000);
	char *zeroed = ${prefix}mallocx(3000, MALLOCX_ZERO | MALLOCX_ALIGN(4096));
	int result = ${prefix}mallctl("opt.lg_prof_sample", &lg, &length, NULL, 0);
	printf("%d %zu %s %d %zu %zu\n", result, lg, ours, zeroed[2999], (size_t)zeroed % 4096,
	       ${prefix}malloc_usable_size(ours) == ${prefix}nallocx(5000, 0));
	${prefix}free(ours);
	${prefix}dallocx(zeroed, 0);
	free(theirs);
	return 0;
}
END
    for library in libjemalloc.so.2 libjemalloc.a; do
        cc -fno-builtin -I"$folder/include" "$work/program.c" "$folder/$library" -pthread -o \
            "$work/program"
        [ "$(LD_LIBRARY_PATH=$folder "$work/program")" = "0 13 text 0 0 1" ] ||
            fail "$prefix$library: $(LD_LIBRARY_PATH=$folder "$work/program")"
    done
    if nm -D --defined-only "$folder/libjemalloc.so.2" |
        awk -v p="$prefix" 'index($3, p) != 1 { print; bad = 1 } END { exit !bad }'; then
        fail "$prefix: a name without it leaves the library"
    fi
done
ok "je_ and _rjem_, shared and static"

cmake --install "$build" --prefix "$work/root" >"$work/install" 2>&1 ||
    fail "$(tail -n 3 "$work/install")"
config=$work/root/lib/mallow/compat/bin/jemalloc-config
[ "$("$config" --libdir)" = "$work/root/lib/mallow/compat" ] ||
    fail "--libdir: $("$config" --libdir)"
[ -r "$("$config" --includedir)/jemalloc/jemalloc.h" ] ||
    fail "--includedir: $("$config" --includedir)"
[ -r "$("$config" --libdir)/libjemalloc.so.$("$config" --revision)" ] || fail "--revision"
[ "$("$config" --prefix)" = "$work/root" ] || fail "--prefix: $("$config" --prefix)"
grep -q '^5\.3\.' <<<"$("$config" --version)" || fail "--version"
cat >"$work/version.c" <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
int main(void) {
	const char *version;
	size_t length = sizeof version;
	return mallctl("version", (void *)&version, &length, NULL, 0) || !puts(version);
}
END
flags=$(PKG_CONFIG_PATH=$work/root/lib/mallow/compat/pkgconfig pkg-config --cflags --libs jemalloc)
# shellcheck disable=SC2086 # several words
cc "$work/version.c" $flags -o "$work/version"
grep -q gmallow <<<"$(LD_LIBRARY_PATH=$work/root/lib/mallow/compat "$work/version")" ||
    fail "linked by pkg-config: another library"
[ -x "$work/root/bin/mallow" ] || fail "no command"
(cd "$work" && "$work/root/bin/mallow" run --as jemalloc -o "$work/run.pb.gz" -- "$work/version") \
    >"$work/out" 2>"$work/err" ||
    fail "mallow run --as jemalloc: $(cat "$work/err")"
grep -q gmallow "$work/out" || fail "mallow run --as jemalloc: $(cat "$work/out")"
(cd "$work" && "$work/root/bin/mallow" run --as jemalloc --exact -- perl -e 1) 2>"$work/err"
grep -q 'perl .*is not linked with libjemalloc.so.2: without --as mallow is preloaded' \
    "$work/err" ||
    fail "mallow run --as jemalloc perl: $(cat "$work/err")"
(cd "$work" && "$build/bin/mallow" run --as other -- true) 2>"$work/err" && fail "--as other"
grep -q "allowed: jemalloc|gperftools|mimalloc" "$work/err" || fail "--as other: $(cat "$work/err")"
ok "jemalloc.pc, jemalloc-config, mallow run --as jemalloc"
