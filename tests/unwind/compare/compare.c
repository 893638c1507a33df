/* SPDX-License-Identifier: MIT
 * compare.c -- a library to preload: takes stacks at malloc by mallow's unwinder and by libunwind,
 * at the same point, and keeps count of those that differ.  The blocks are glibc's.
 *
 * MW_COMPARE_FILE: a file of sizeof(totals_t) zeros that all processes of a run share, so that
 * counts of killed and exec'ed processes are there too.  MW_COMPARE_STEP: every n-th allocation
 * at first; MW_COMPARE_MAX: at most so many stacks a process.  MW_COMPARE_STOP: call
 * mw_compare_stop() after every n-th stack, for a debugger to look at the same one. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "totals.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))

typedef struct stack {
	uint64_t pcs[MW_UNWIND_DEPTH_MAX];
	unsigned depth;
	bool is_whole;
} captured_t;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t each_bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *block);
static size_t (*libc_usable_size)(void *block);

static totals_t *totals;
static unsigned long step = 1, stacks_max = 20000, stop_step;
static _Atomic unsigned long allocations, taken, next;
static atomic_flag is_shown = ATOMIC_FLAG_INIT;
static __thread bool is_busy __attribute__((tls_model("initial-exec")));

/* For the debugger: the stack as mallow has it, from malloc's caller on. */
EXPORT uint64_t mw_compare_pcs[MW_UNWIND_DEPTH_MAX];
EXPORT unsigned mw_compare_depth;
EXPORT NOINLINE void mw_compare_stop(void);

EXPORT NOINLINE void mw_compare_stop(void) {
	__asm__ volatile("" ::: "memory");
}

static unsigned long number(const char *name, unsigned long standard) {
	const char *text = getenv(name);
	return text ? strtoul(text, NULL, 10) : standard;
}

/* A preloaded library's constructors run before the program's: nothing was loaded by dlopen yet. */
__attribute__((constructor)) static void start(void) {
	const char *path = getenv("MW_COMPARE_FILE");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	void *shared = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (shared == MAP_FAILED)
		return;
	step = number("MW_COMPARE_STEP", step);
	stacks_max = number("MW_COMPARE_MAX", stacks_max);
	stop_step = number("MW_COMPARE_STOP", 0);
	mw_unwind_start();
	/* Every look-up of libunwind's is a fresh one: it keeps rules of unloaded objects. */
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (libc)
		*(void **)&libc_usable_size = dlsym(libc, "malloc_usable_size");
	totals = shared;
}

static NOINLINE void by_libunwind(captured_t *stack) {
	unw_context_t context;
	unw_cursor_t cursor;
	stack->depth = 0;
	int more = unw_getcontext(&context) == 0 && unw_init_local(&cursor, &context) == 0;
	while (more > 0 && stack->depth < MW_UNWIND_DEPTH_MAX) {
		unw_word_t pc;
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0)
			break;
		stack->pcs[stack->depth++] = pc;
		more = unw_step(&cursor);
	}
	stack->is_whole = more == 0;
}

static NOINLINE void by_mallow(captured_t *stack) {
	mw_unwind_result_t result = mw_unwind_capture(stack->pcs, MW_UNWIND_DEPTH_MAX);
	for (unsigned i = 0; i < result.depth; i++)
		stack->pcs[i] &= ~MW_FRAME_EXACT;
	stack->depth = result.depth;
	stack->is_whole = !result.truncated;
}

/* The first frame of interest, malloc's caller; depth when it is not there. */
static unsigned find(const captured_t *stack, uint64_t caller) {
	unsigned i = 0;
	while (i < stack->depth && stack->pcs[i] != caller)
		i++;
	return i;
}

static void name_place(char *buffer, size_t capacity, uint64_t pc) {
	Dl_info info;
	if (pc == 0)
		snprintf(buffer, capacity, "end");
	else if (dladdr((void *)(uintptr_t)pc, &info) && info.dli_fname) {
		const char *slash = strrchr(info.dli_fname, '/');
		snprintf(buffer, capacity, "%s+0x%lx(%s)", slash ? slash + 1 : info.dli_fname,
			 (unsigned long)(pc - (uintptr_t)info.dli_fbase),
			 info.dli_sname ? info.dli_sname : "?");
	} else {
		snprintf(buffer, capacity, "no-object");
	}
}

static bool add_distinct(uint64_t hash) {
	for (unsigned i = 0; i < TOTALS_DISTINCT; i++) {
		_Atomic uint64_t *place = &totals->hashes[(hash + i) % TOTALS_DISTINCT];
		uint64_t seen = 0;
		/* Relaxed: nothing hangs on it but the count. */
		if (atomic_compare_exchange_strong_explicit(
			    place, &seen, hash, memory_order_relaxed, memory_order_relaxed))
			return true;
		if (seen == hash)
			return false;
	}
	return false;
}

static void note_difference(const captured_t *ours, unsigned i, const captured_t *theirs,
			    unsigned k) {
	unsigned number = atomic_fetch_add(&totals->differences, 1);
	if (number >= TOTALS_NOTES)
		return;
	char last[96], our_next[96], their_next[96];
	name_place(last, sizeof last, i > 0 ? ours->pcs[i - 1] : 0);
	name_place(our_next, sizeof our_next, i < ours->depth ? ours->pcs[i] : 0);
	name_place(their_next, sizeof their_next, k < theirs->depth ? theirs->pcs[k] : 0);
	snprintf(totals->notes[number], sizeof totals->notes[number],
		 "after %s: mallow %s%s, libunwind %s%s; %u and %u more", last, our_next,
		 i < ours->depth || ours->is_whole ? "" : " (cut)", their_next,
		 k < theirs->depth || theirs->is_whole ? "" : " (cut)", ours->depth - i,
		 theirs->depth - k);
}

static void compare(const captured_t *ours, const captured_t *theirs, uint64_t caller) {
	unsigned i = find(ours, caller), k = find(theirs, caller);
	uint64_t hash = 0xcbf29ce484222325u;
	unsigned start = i;
	while (i < ours->depth && k < theirs->depth && ours->pcs[i] == theirs->pcs[k]) {
		hash = (hash ^ ours->pcs[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 31;
		i++;
		k++;
	}
	bool same = i == ours->depth && k == theirs->depth && i > start;
	atomic_fetch_add(&totals->stacks, 1);
	atomic_fetch_add(&totals->frames, i - start);
	atomic_fetch_add(&totals->identical, same);
	atomic_fetch_add(&totals->cut_by_mallow, !ours->is_whole);
	atomic_fetch_add(&totals->cut_by_libunwind, !theirs->is_whole);
	if (add_distinct(hash | 1))
		atomic_fetch_add(&totals->distinct, 1);
	if (!same)
		note_difference(ours, i, theirs, k);
}

static NOINLINE void look(uint64_t caller) {
	static __thread captured_t ours, theirs;
	int saved = errno;
	by_mallow(&ours);
	by_libunwind(&theirs);
	compare(&ours, &theirs, caller);
	unsigned long count = 1 + atomic_fetch_add(&taken, 1);
	if (stop_step != 0 && count % stop_step == 0) {
		/* One thread at a time: the debugger reads what the one that stops has written. */
		while (atomic_flag_test_and_set(&is_shown))
			usleep(100);
		unsigned first = find(&ours, caller);
		mw_compare_depth = ours.depth - first;
		memcpy(mw_compare_pcs, ours.pcs + first, mw_compare_depth * sizeof(uint64_t));
		mw_compare_stop();
		atomic_flag_clear(&is_shown);
	}
	errno = saved;
}

/* Every n-th allocation at first, then further and further apart: short programs and the late hours
 * of long ones both have their share. */
static bool is_due(void) {
	unsigned long count = 1 + atomic_fetch_add(&allocations, 1);
	unsigned long due = atomic_load(&next);
	return count >= due && atomic_load(&taken) < stacks_max &&
	       atomic_compare_exchange_strong(&next, &due, count + step + count / 500);
}

static inline __attribute__((always_inline)) void allocating(void) {
	if (!totals || is_busy || !is_due())
		return;
	is_busy = true;
	look((uint64_t)(uintptr_t)__builtin_return_address(0));
	is_busy = false;
}

EXPORT void *malloc(size_t bytes) {
	allocating();
	return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t each_bytes) {
	allocating();
	return __libc_calloc(count, each_bytes);
}

EXPORT void *realloc(void *block, size_t bytes) {
	allocating();
	return __libc_realloc(block, bytes);
}

/* The rest of the family, so that blocks of a program with a malloc of its own are glibc's too. */

EXPORT void free(void *block) {
	__libc_free(block);
}

EXPORT void *memalign(size_t align, size_t bytes) {
	allocating();
	return __libc_memalign(align, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes) {
	allocating();
	return __libc_memalign(align, bytes);
}

EXPORT int posix_memalign(void **result, size_t align, size_t bytes) {
	allocating();
	void *block = __libc_memalign(align, bytes);
	if (!block)
		return ENOMEM;
	*result = block;
	return 0;
}

EXPORT size_t malloc_usable_size(void *block) {
	return block && libc_usable_size ? libc_usable_size(block) : 0;
}
