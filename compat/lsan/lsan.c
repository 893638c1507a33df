/* SPDX-License-Identifier: MIT
 * lsan.c -- LeakSanitizer's functions, and the check at the end of the process. */
#include "compat/lsan/lsan.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "compat/leaks/leak_search.h"
#include "compat/lsan/lsan_options.h"
#include "compat/lsan/lsan_report.h"
#include "compat/lsan/lsan_suppress.h"
#include "compat/lsan/sanitizer.h"
#include "os/platform/secure_environment.h"

static struct {
	pthread_mutex_t lock; /* protects checks and regions */
	bool is_ended;        /* __lsan_do_leak_check() was called */
	mw_lsan_options_t options;
	mw_leak_memory_t *regions;
	size_t region_count, region_capacity;
} lsan = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- checks ---- */

static mw_leak_scope_t scope_of(const mw_lsan_options_t *options) {
	return (mw_leak_scope_t){
		.skips_threads = !options->use_stacks && !options->use_registers,
		.skips_data = !options->use_globals,
		.step_bytes = options->use_unaligned ? 1 : 0,
		.regions = lsan.regions,
		.region_count = options->use_root_regions ? lsan.region_count : 0,
	};
}

/* Searches until no new leak is suppressed. With the lock. */
static int find(mw_leaks_t *leaks) {
	const mw_leak_scope_t scope = scope_of(&lsan.options);
	for (;;) {
		int error = mw_leaks_find(&scope, NULL, leaks);
		if (error != 0 || !mw_lsan_suppress(leaks))
			return error;
		mw_leaks_free(leaks);
	}
}

/* Returns whether something leaked. With the lock. */
static bool check(void) {
	mw_leaks_t leaks;
	if (!lsan.options.detect_leaks || (__lsan_is_turned_off && __lsan_is_turned_off()))
		return false;
	mallow_ignore_begin();
	int error = find(&leaks);
	if (error != 0) {
		mw_warn("LeakSanitizer: no leak check: %s", strerror(error));
	} else {
		mw_lsan_report(&lsan.options, &leaks);
		mw_leaks_free(&leaks);
	}
	mallow_ignore_end();
	return error == 0 && leaks.count > 0;
}

/* Checks unless __lsan_do_leak_check() did, and ends the process if something leaked. */
static void check_and_end(void) {
	pthread_mutex_lock(&lsan.lock);
	bool has_leaked = !lsan.is_ended && check();
	lsan.is_ended = true;
	pthread_mutex_unlock(&lsan.lock);
	if (!has_leaked || lsan.options.exitcode == 0)
		return;
	fflush(NULL);
	mw_sanitizer_die();
	_exit(lsan.options.exitcode);
}

void __lsan_do_leak_check(void) {
	check_and_end();
}

int __lsan_do_recoverable_leak_check(void) {
	pthread_mutex_lock(&lsan.lock);
	bool has_leaked = check();
	pthread_mutex_unlock(&lsan.lock);
	return has_leaked;
}

/* ---- what is no leak ---- */

void __lsan_disable(void) {
	mallow_compat_calls()->ignore_leaks(true);
}

void __lsan_enable(void) {
	mallow_compat_calls()->ignore_leaks(false);
}

void __lsan_ignore_object(const void *block) {
	if (mallow_compat_calls()->ignore_leak(block, 1) != 0 && lsan.options.verbosity > 0)
		mw_warn("LeakSanitizer: __lsan_ignore_object(): no block at 0x%lx",
			(unsigned long)block);
}

static void add_region(mw_leak_memory_t region) {
	if (lsan.region_count == lsan.region_capacity) {
		size_t capacity = lsan.region_capacity ? 2 * lsan.region_capacity : 16;
		mallow_ignore_begin();
		mw_leak_memory_t *larger = realloc(lsan.regions, capacity * sizeof *larger);
		mallow_ignore_end();
		if (!larger)
			mw_fatal("LeakSanitizer: no memory for a root region");
		lsan.regions = larger;
		lsan.region_capacity = capacity;
	}
	lsan.regions[lsan.region_count++] = region;
}

/* Returns false if it is not there. */
static bool remove_region(mw_leak_memory_t region) {
	for (size_t i = 0; i < lsan.region_count; i++)
		if (lsan.regions[i].start == region.start &&
		    lsan.regions[i].limit == region.limit) {
			lsan.regions[i] = lsan.regions[--lsan.region_count];
			return true;
		}
	return false;
}

static mw_leak_memory_t region_of(const void *start, size_t bytes) {
	return (mw_leak_memory_t){(uintptr_t)start, (uintptr_t)start + bytes};
}

void __lsan_register_root_region(const void *start, size_t bytes) {
	pthread_mutex_lock(&lsan.lock);
	add_region(region_of(start, bytes));
	pthread_mutex_unlock(&lsan.lock);
}

void __lsan_unregister_root_region(const void *start, size_t bytes) {
	pthread_mutex_lock(&lsan.lock);
	bool is_known = remove_region(region_of(start, bytes));
	pthread_mutex_unlock(&lsan.lock);
	if (!is_known)
		mw_fatal("LeakSanitizer: __lsan_unregister_root_region(): region at 0x%lx of size "
			 "%zu has not been registered",
			 (unsigned long)start, bytes);
}

/* ---- start and end ---- */

static void before_fork(void) {
	pthread_mutex_lock(&lsan.lock);
}

static void after_fork(void) {
	pthread_mutex_unlock(&lsan.lock);
}

static void read_options(void) {
	mw_lsan_options_default(&lsan.options);
	if (__lsan_default_options)
		mw_lsan_options_read(&lsan.options, __lsan_default_options());
	mw_lsan_options_read(&lsan.options, mw_environment("LSAN_OPTIONS"));
	if (__lsan_default_suppressions)
		mw_lsan_suppressions_add(__lsan_default_suppressions());
	if (*lsan.options.suppressions)
		mw_lsan_suppressions_read(lsan.options.suppressions);
	if (*lsan.options.log_path)
		mw_lsan_report_set_path(lsan.options.log_path);
}

__attribute__((constructor)) static void start(void) {
	const mw_compat_calls_t *calls = mallow_compat_calls();
	if (strcmp(calls->version, MALLOW_VERSION) != 0)
		mw_fatal("liblsan_mallow.so %s cannot use libmallow.so %s; install both of one "
			 "version",
			 MALLOW_VERSION, calls->version);
	mallow_ignore_begin();
	read_options();
	if (lsan.options.detect_leaks) {
		calls->record_all(true);
		pthread_atfork(before_fork, after_fork, after_fork);
		if (lsan.options.leak_check_at_exit)
			atexit(check_and_end);
	}
	mw_sanitizer_start();
	mallow_ignore_end();
}

/* Programs call it before any library's constructor, when libc has no environment yet. */
void __lsan_init(void) {
}
