#!/bin/bash
# SPDX-License-Identifier: MIT
# later.sh BUILD_DIR SOURCE_DIR -- what jemalloc does since 5.3.1; and what of it has no effect here
# says so.
. "$(dirname "$0")/lib.sh"
need cc

export LD_LIBRARY_PATH=$compat
MALLOC_CONF=prof:true,lg_prof_sample:10,zero_realloc:abort,experimental_infallible_new:true \
    "$build/tests/jemalloc_later" >"$work/out" 2>"$work/err" ||
        fail "$(cat "$work/out" "$work/err")"
ok "thread.prof.name, names of arenas, thread.peak, threads in dumps, hooks of aborts"

# narenas LETTERS PATTERN [OPTIONS]: the first number behind PATTERN that
# malloc_stats_print(LETTERS) says.
narenas() {
    MALLOC_CONF=${3:-} "$build/tests/jemalloc_keys" "$1" |
        sed -n "s/^[,[:space:]]*$2\\([0-9]*\\)$/\\1/p" | sed -n 1p
}
for options in "" narenas:3; do
    expected=${options#narenas:}
    text=$(narenas "" 'opt\.narenas: ' "$options") json=$(narenas J '"narenas": ' "$options")
    [ "$text $json" = "${expected:-1} ${expected:-1}" ] ||
        fail "opt.narenas with '$options': text $text, JSON $json"
done
ok "opt.narenas is 1, or as set, in text and JSON"

cat >"$work/metadata.c" <<'END'
#include <jemalloc/jemalloc.h>
int main(void) {
	struct { extent_hooks_t *hooks; bool metadata_use_hooks; } config = {0, false};
	unsigned arena;
	size_t length = sizeof arena;
	const char *name = "experimental.arenas_create_ext";
	int first = mallctl(name, &arena, &length, &config, sizeof config);
	return first || mallctl(name, &arena, &length, &config, sizeof config);
}
END
cc -I"$include" "$work/metadata.c" "$compat/libjemalloc.so.2" -o "$work/metadata"
"$work/metadata" 2>"$work/err" || fail "arenas_create_ext"
[ "$(grep -c 'metadata_use_hooks:false is ignored' "$work/err")" = 1 ] ||
    fail "metadata_use_hooks: $(cat "$work/err")"
ok "metadata_use_hooks:false is said to be ignored, once"
