#!/bin/bash
# SPDX-License-Identifier: MIT
# options.sh BUILD_DIR SOURCE_DIR -- options that change what malloc does act, in jemalloc's words where it has some.
. "$(dirname "$0")/lib.sh"

cat >"$work/zero.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
	void *volatile block = malloc(10);
	block = realloc(block, 0);
	puts(block ? "a block" : "none");
	return 0;
}
END
cat >"$work/new.cc" <<'END'
#include <cstddef>
#include <cstdio>
#include <new>
int main() {
	volatile std::size_t huge = std::size_t(1) << 62;
	char *volatile block = new (std::nothrow) char[huge];
	std::puts(block ? "a block" : "none");
	return 0;
}
END
cat >"$work/grow.c" <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
	volatile size_t huge = (size_t)1 << 62;
	printf("%d\n", calloc(huge, huge) == NULL && errno == ENOMEM);
	fflush(stdout);
	printf("%d\n", malloc(huge) == NULL);
	return 0;
}
END
cc "$work/zero.c" -o "$work/zero"
c++ "$work/new.cc" -o "$work/new"
cc -fno-builtin "$work/grow.c" -o "$work/grow"

# says LIBRARY PROGRAM: with $MALLOC_CONF, both outputs and how it ended.
says() {
    local status=0
    (ulimit -c 0; LD_PRELOAD=$1 exec "$work/$2") >"$work/out" 2>&1 || status=$?
    tr '\n' ';' <"$work/out"
    echo "$status"
}
same() {
    local ours theirs
    ours=$(says "$compat/libjemalloc.so.2" "$1")
    [ "$ours" = "$2" ] || fail "$MALLOC_CONF: $ours"
    [ -n "$reference" ] || return 0
    theirs=$(says "$reference/libjemalloc.so.2" "$1")
    [ "$ours" = "$theirs" ] || fail "$MALLOC_CONF: jemalloc says $theirs, mallow $ours"
}
export MALLOC_CONF
MALLOC_CONF=zero_realloc:free
same zero "none;0"
MALLOC_CONF=zero_realloc:alloc
same zero "a block;0"
MALLOC_CONF=zero_realloc:abort
same zero "Called realloc(non-null-ptr, 0) with zero_realloc:abort set;134"
MALLOC_CONF=experimental_infallible_new:false
same new "none;0"
MALLOC_CONF=experimental_infallible_new:true
same new "<jemalloc>: Allocation failed and opt.experimental_infallible_new is true. Aborting.;134"
ok "zero_realloc, experimental_infallible_new: as jemalloc"

# Debian's jemalloc is built without.
reference=
MALLOC_CONF=xmalloc:true
same grow "<jemalloc>: Error in malloc(): out of memory;134"
MALLOC_CONF=xmalloc:false
same grow "1;1;0"
# With no place for dumps there is a warning.
MALLOC_CONF=abort:true,lg_prof_sample:0,prof_final:true,prof_prefix:/nonexistent/dump
says "$compat/libjemalloc.so.2" zero >"$work/said"
grep -q ';134$' "$work/said" || fail "abort:true: $(cat "$work/said")"
MALLOC_CONF=abort:false,${MALLOC_CONF#*,}
says "$compat/libjemalloc.so.2" zero >"$work/said"
grep -q ';0$' "$work/said" || fail "abort:false: $(cat "$work/said")"
ok "xmalloc, abort"

# As often as jemalloc, and with its letters.
reference=$(dirname "$(/sbin/ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)")
cat >"$work/interval.c" <<'END'
#include <stdlib.h>
static void churn(int count, size_t bytes) {
	while (count-- > 0) {
		void *volatile block = malloc(bytes);
		free(block);
	}
}
int main(void) {
	churn(10000, 1000);
	churn(10, 1000000);
	return 0;
}
END
cc -fno-builtin "$work/interval.c" -o "$work/interval"
prints() {
    LD_PRELOAD=$1/libjemalloc.so.2 MALLOC_CONF=stats_interval:$2,stats_interval_opts:gmdablxeh "$work/interval" 2>&1 |
        grep -c "Begin jemalloc"
}
for bytes in 100000 1000000 5000000; do
    ours=$(prints "$compat" $bytes)
    theirs=$ours
    [ ! -f "$reference/libjemalloc.so.2" ] || theirs=$(prints "$reference" $bytes)
    difference=$((ours > theirs ? ours - theirs : theirs - ours))
    if [ "$difference" -gt $((1 + theirs / 10)) ] || [ "$ours" -lt 4 ]; then
        fail "stats_interval:$bytes prints $ours times, jemalloc $theirs times"
    fi
done
ok "stats_interval"

cat >"$work/name.c" <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <sys/prctl.h>
int main(void) {
	char kernel[16];
	const char *name = "reader";
	size_t length = sizeof name;
	mallctl("thread.prof.name", NULL, NULL, &name, sizeof name);
	prctl(PR_GET_NAME, kernel);
	mallctl("thread.prof.name", (void *)&name, &length, NULL, 0);
	printf("%s %s\n", kernel, name);
	return 0;
}
END
cc -I"$source/include" "$work/name.c" "$compat/libjemalloc.so.2" -o "$work/name"
named() {
    [ "$(MALLOC_CONF=prof_sys_thread_name:$1 LD_LIBRARY_PATH=$compat "$work/name")" = "$2" ] || fail "prof_sys_thread_name:$1"
}
named true "reader reader"
named false "name reader"
ok "prof_sys_thread_name"

limits() {
    MALLOC_CONF=$1 LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_tcache" options
}
# Sampled blocks are in no list.
MALLOC_CONF=prof:false LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_tcache" >"$work/tcache" || fail "tcache: $(cat "$work/tcache")"
[ "$(limits "")" = "16 8 4" ] || fail "standard limits: $(limits "")"
[ "$(limits tcache:false)" = "0 0 0" ] || fail "tcache:false: $(limits tcache:false)"
[ "$(limits lg_tcache_max:12)" = "16 8 0" ] || fail "lg_tcache_max:12: $(limits lg_tcache_max:12)"
[ "$(limits tcache_max:64)" = "0 0 0" ] || fail "tcache_max:64: $(limits tcache_max:64)"
[ "$(limits tcache_nslots_small_min:3)" = "16 3 3" ] || fail "tcache_nslots_small_min:3: $(limits tcache_nslots_small_min:3)"
ok "tcache, tcache_max, tcache_nslots_small_min, thread.tcache.*"
