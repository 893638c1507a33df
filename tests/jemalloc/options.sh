#!/bin/bash
# SPDX-License-Identifier: MIT
# options.sh BUILD_DIR SOURCE_DIR -- options that change what malloc does act, in jemalloc's words
# where it has some.
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
# What blocks hold when they are new, grown or freed: as hexadecimal, each piece that is not of one
# byte as "mixed".
cat >"$work/fill.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *mallocx(size_t, int) __attribute__((weak));
void *rallocx(void *, size_t, int) __attribute__((weak));
void dallocx(void *, int) __attribute__((weak));
size_t malloc_usable_size(void *);
enum { ZERO = 0x40, ALIGN_256 = 8 };
static const char *mode;
static void show(const char *what, const unsigned char *from, size_t bytes) {
	if (memcmp(from, from + 1, bytes - 1) == 0)
		printf("%s %02x\n", what, from[0]);
	else
		printf("%s mixed\n", what);
}
static void show_new(const char *what, void *block) {
	if (strcmp(mode, "freed") == 0 ||
		(strcmp(mode, "zero") == 0 && strcmp(what, "mallocx zero") != 0))
		return;
	show(what, block, malloc_usable_size(block));
}
static void let_go(void *block, size_t bytes) {
	memset(block, 7, bytes);
	free(block);
	/* The first and last words may be links of free blocks. */
	if (strcmp(mode, "new") != 0 && strcmp(mode, "zero") != 0 && bytes < 100000)
		show("freed", (unsigned char *)block + 16, bytes - 24);
}
static void *work(void *unused) {
	size_t sizes[] = {40, 480, 2000, 9600, 60000, 200000, 3000000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int turn = 0; turn < 2; turn++) {
			size_t bytes = sizes[i];
			void *block = malloc(bytes);
			show_new("malloc", block);
			let_go(block, bytes);
			show_new("calloc: zero", block = calloc(1, bytes));
			let_go(block, bytes);
			show_new("mallocx", block = mallocx(bytes, 0));
			let_go(block, bytes);
			show_new("mallocx zero", block = mallocx(bytes, ZERO));
			let_go(block, bytes);
			show_new("aligned", block = mallocx(bytes, ALIGN_256));
			let_go(block, bytes);
			if (posix_memalign(&block, 64, bytes))
				abort();
			show_new("memalign", block);
			size_t before = malloc_usable_size(block);
			memset(block, 7, before);
			block = realloc(block, bytes * 3);
			show("kept", block, before);
			if (strcmp(mode, "freed") != 0 && strcmp(mode, "zero") != 0)
				show("grown", (unsigned char *)block + before,
					malloc_usable_size(block) - before);
			before = malloc_usable_size(block);
			memset(block, 7, before);
			block = rallocx(block, bytes * 9, ZERO);
			show("kept", block, before);
			show("grown zero", (unsigned char *)block + before,
				malloc_usable_size(block) - before);
			free(block);
		}
	return unused;
}
int main(int argc, char **argv) {
	pthread_t thread;
	(void)argc;
	mode = argv[1];
	work(NULL);
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}
END
cc -fno-builtin -pthread "$work/fill.c" -o "$work/fill"
cc "$work/zero.c" -o "$work/zero"
c++ "$work/new.cc" -o "$work/new"
cc -fno-builtin "$work/grow.c" -o "$work/grow"

# says LIBRARY PROGRAM [ARGUMENT]: with $MALLOC_CONF, both outputs and how it ended.
says() {
    local status=0
    (ulimit -c 0; LD_PRELOAD=$1 exec "$work/$2" ${3:+"$3"}) >"$work/out" 2>&1 || status=$?
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
compared=$reference
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
reference=$compared
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
    LD_PRELOAD=$1/libjemalloc.so.2 MALLOC_CONF=stats_interval:$2,stats_interval_opts:gmdablxeh \
        "$work/interval" 2>&1 |
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
cc -I"$include" "$work/name.c" "$compat/libjemalloc.so.2" -o "$work/name"
named() {
    [ "$(MALLOC_CONF=prof_sys_thread_name:$1 LD_LIBRARY_PATH=$compat "$work/name")" = "$2" ] ||
        fail "prof_sys_thread_name:$1"
}
named true "reader reader"
named false "name reader"
ok "prof_sys_thread_name"

limits() {
    MALLOC_CONF=$1 LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_tcache" options
}
# Sampled blocks are in no list.
MALLOC_CONF=prof:false LD_LIBRARY_PATH=$compat "$build/tests/jemalloc_tcache" >"$work/tcache" ||
    fail "tcache: $(cat "$work/tcache")"
[ "$(limits "")" = "8 8 4" ] || fail "standard limits: $(limits "")"
[ "$(limits tcache:false)" = "0 0 0" ] || fail "tcache:false: $(limits tcache:false)"
[ "$(limits lg_tcache_max:12)" = "8 8 0" ] || fail "lg_tcache_max:12: $(limits lg_tcache_max:12)"
[ "$(limits tcache_max:64)" = "0 0 0" ] || fail "tcache_max:64: $(limits tcache_max:64)"
[ "$(limits tcache_nslots_small_min:3)" = "3 3 3" ] ||
    fail "tcache_nslots_small_min:3: $(limits tcache_nslots_small_min:3)"
ok "tcache, tcache_max, tcache_nslots_small_min, thread.tcache.*"

# fills CONF new|freed|both|zero: each line as jemalloc's.
fills() {
    local library
    for library in "$compat" ${reference:+"$reference"}; do
        (MALLOC_CONF=$1 LD_PRELOAD=$library/libjemalloc.so.2 exec "$work/fill" "$2") \
            >"$work/fill.$(basename "$library")" 2>&1 ||
            fail "$1: $(tail -n 3 "$work/fill.$(basename "$library")")"
    done
    [ "$(wc -l <"$work/fill.$(basename "$compat")")" -gt 100 ] ||
        fail "$1: $(cat "$work/fill.$(basename "$compat")")"
    [ -z "$reference" ] || diff "$work/fill.$(basename "$reference")" \
        "$work/fill.$(basename "$compat")" >"$work/difference" ||
        fail "$1, jemalloc's on the left: $(head -n 9 "$work/difference")"
}
fills "" zero # without options, where MALLOCX_ZERO says so, up to malloc_usable_size()
fills junk:true both
grep -q '^malloc a5$' "$work/fill.$(basename "$compat")" || fail "junk:true fills nothing"
grep -q '^freed 5a$' "$work/fill.$(basename "$compat")" || fail "junk:true fills nothing freed"
fills junk:alloc new
fills junk:free freed
fills zero:true new
fills junk:free,zero:true both
fills junk:alloc,zero:true,prof:true,lg_prof_sample:12 new
ok "junk, zero: what blocks hold, as jemalloc's"
