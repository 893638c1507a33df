/* SPDX-License-Identifier: MIT
 * sanitizer.c -- questions about blocks, hooks, and where reports go. */
#include "compat/lsan/sanitizer.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/compat/compat_calls.h"
#include "compat/lsan/lsan_report.h"

#define HOOKS_MAX 5

static struct {
	pthread_mutex_t lock; /* protects additions */
	_Atomic int count;    /* pairs; those below are written before */
	mw_sanitizer_malloc_hook_t *on_malloc[HOOKS_MAX];
	mw_sanitizer_free_hook_t *on_free[HOOKS_MAX];
} hooks = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void (*_Atomic death_callback)(void);
static atomic_flag has_crashed = ATOMIC_FLAG_INIT;

/* ---- blocks ---- */

size_t __sanitizer_get_estimated_allocated_size(size_t bytes) {
	return bytes;
}

/* Every block is recorded, but those before this library's start. */
int __sanitizer_get_ownership(const volatile void *block) {
	size_t bytes;
	return mallow_compat_calls()->find_recorded((const void *)block, &bytes);
}

size_t __sanitizer_get_allocated_size(const volatile void *block) {
	size_t bytes = 0;
	mallow_compat_calls()->find_recorded((const void *)block, &bytes);
	return bytes;
}

size_t __sanitizer_get_current_allocated_bytes(void) {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_totals_t totals;
	mallow_compat_calls()->stats(stats);
	mallow_compat_calls()->totals(&totals);
	return totals.live_bytes + stats[MW_STAT_huge_bytes];
}

static size_t statistic(unsigned number) {
	uint64_t stats[MW_STAT_COUNT];
	mallow_compat_calls()->stats(stats);
	return stats[number];
}

size_t __sanitizer_get_heap_size(void) {
	return statistic(MW_STAT_mapped_bytes);
}

size_t __sanitizer_get_free_bytes(void) {
	return statistic(MW_STAT_dirty_bytes);
}

size_t __sanitizer_get_unmapped_bytes(void) {
	size_t mapped = statistic(MW_STAT_mapped_bytes);
	size_t used = statistic(MW_STAT_in_use_bytes) + statistic(MW_STAT_dirty_bytes);
	return mapped > used ? mapped - used : 0;
}

/* ---- hooks ---- */

static void on_watched(const void *block, size_t requested_bytes, bool freed) {
	/* Pairs with the release in add_hooks(). */
	int count = atomic_load_explicit(&hooks.count, memory_order_acquire);
	for (int i = 0; i < count; i++) {
		if (freed && hooks.on_free[i])
			hooks.on_free[i](block);
		else if (!freed && hooks.on_malloc[i])
			hooks.on_malloc[i](block, requested_bytes);
	}
}

static int add_hooks(mw_sanitizer_malloc_hook_t *on_malloc, mw_sanitizer_free_hook_t *on_free) {
	int count = atomic_load_explicit(&hooks.count, memory_order_relaxed);
	if (count == HOOKS_MAX)
		return 0;
	hooks.on_malloc[count] = on_malloc;
	hooks.on_free[count] = on_free;
	/* Pairs with the acquire in on_watched(). */
	atomic_store_explicit(&hooks.count, count + 1, memory_order_release);
	mallow_compat_calls()->watch(on_watched);
	return count + 1;
}

int __sanitizer_install_malloc_and_free_hooks(mw_sanitizer_malloc_hook_t *on_malloc,
					      mw_sanitizer_free_hook_t *on_free) {
	pthread_mutex_lock(&hooks.lock);
	int number = add_hooks(on_malloc, on_free);
	pthread_mutex_unlock(&hooks.lock);
	return number;
}

void mw_sanitizer_start(void) {
	if (__sanitizer_malloc_hook || __sanitizer_free_hook)
		add_hooks(__sanitizer_malloc_hook, __sanitizer_free_hook);
}

/* ---- reports ---- */

void __sanitizer_set_report_path(const char *path) {
	mw_lsan_report_set_path(path);
}

void __sanitizer_set_report_fd(void *file) {
	mw_lsan_report_set_file((int)(intptr_t)file);
}

const char *__sanitizer_get_report_path(void) {
	return mw_lsan_report_path();
}

void __sanitizer_report_error_summary(const char *summary) {
	mw_lsan_print("%s\n", summary);
}

void __sanitizer_set_death_callback(void (*function)(void)) {
	death_callback = function;
}

void mw_sanitizer_die(void) {
	void (*function)(void) = death_callback;
	if (function)
		function();
}

int __sanitizer_acquire_crash_state(void) {
	return !atomic_flag_test_and_set(&has_crashed);
}

void __sanitizer_sandbox_on_notify(void *arguments) {
	(void)arguments;
}
