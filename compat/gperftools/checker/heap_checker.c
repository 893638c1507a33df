/* SPDX-License-Identifier: MIT
 * heap_checker.c -- the classes HeapLeakChecker and HeapCleaner, and the check at the end. */
#include "compat/gperftools/checker/heap_checker.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "compat/gperftools/checker/checker_settings.h"
#include "compat/gperftools/checker/leak_report.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/heap_profiler.h"
#include "compat/gperftools/variables.h"
#include "compat/leaks/leak_search.h"

enum { SYMBOLIZE, DO_NOT_SYMBOLIZE };

static struct {
	bool is_active;
	pid_t process; /* a child of it makes no check at its end */
	mw_gp_checker_settings_t settings;
	/* The check of the whole program; NULL: none is made. */
	mw_gp_checker_t *_Atomic whole;
} checker;

/* ---- one check ---- */

static mw_leak_scope_t scope_of(const mw_gp_checker_settings_t *settings) {
	if (settings->skips_threads)
		mw_gp_log(0, "Not looking for thread stacks; objects reachable only from there "
			     "will be reported as leaks");
	return (mw_leak_scope_t){
		.skips_threads = settings->skips_threads,
		.skips_data = settings->skips_data,
		.step_bytes = settings->step_bytes,
		/* 0 would mean any. */
		.max_offset_bytes = settings->max_offset < 0    ? 0
				    : settings->max_offset == 0 ? 1
								: (size_t)settings->max_offset,
	};
}

static bool finds_none(mw_leak_scope_t scope, const mw_leaks_snapshot_t *since) {
	mw_leaks_t leaks;
	if (mw_leaks_find(&scope, since, &leaks) != 0)
		return false;
	bool none = leaks.count == 0;
	mw_leaks_free(&leaks);
	return none;
}

/* HEAP_CHECK_TEST_POINTER_ALIGNMENT: whether pointers were overlooked. */
static void look_again(const mw_leak_scope_t *scope, const mw_leaks_snapshot_t *since) {
	mw_leak_scope_t other = *scope;
	if (scope->step_bytes == 1) {
		mw_gp_log(-2, "--heap_check_test_pointer_alignment has no effect: "
			      "--heap_check_pointer_source_alignment was already set to 1");
		return;
	}
	other.step_bytes = 1;
	if (finds_none(other, since)) {
		mw_gp_log(-2, "Found no leaks without pointer alignment: something might be "
			      "placing pointers at unaligned addresses! This needs to be fixed.");
		return;
	}
	mw_gp_log(-2, "Found leaks without pointer alignment as well: unaligned pointers must "
		      "not be the cause of leaks.");
	mw_gp_log(-2, "--heap_check_test_pointer_alignment did not help to diagnose the leaks.");
	if (scope->max_offset_bytes == 0)
		return;
	other = *scope;
	other.max_offset_bytes = 0;
	if (finds_none(other, since))
		mw_gp_log(-2,
			  "Found no leaks without max_pointer_offset restriction: it's possible "
			  "that the default value of heap_check_max_pointer_offset flag is too "
			  "low. Do you use pointers with larger than that offsets pointing in the "
			  "middle of heap-allocated objects?");
}

static void show(const mw_gp_checker_t *self, const mw_leak_scope_t *scope, const mw_leaks_t *leaks,
		 bool names_frames) {
	const mw_gp_checker_settings_t *settings = &checker.settings;
	if (leaks->count == 0) {
		mw_gp_log(0,
			  "No leaks found for check \"%.200s\" (but no 100%% guarantee that there "
			  "aren't any): found %ld reachable heap objects of %ld bytes",
			  self->name, (long)leaks->live_blocks, (long)leaks->live_bytes);
		return;
	}
	if (settings->tries_unaligned)
		look_again(scope, self->start);
	mw_gp_leaks_report(settings, self->name, leaks, names_frames);
}

/* Returns whether nothing leaked, or no check could be made. */
static bool check(mw_gp_checker_t *self, bool names_frames) {
	mw_leaks_t leaks;
	if (!checker.is_active || !self->name)
		return true;
	const mw_leak_scope_t scope = scope_of(&checker.settings);
	int error = mw_leaks_find(&scope, self->start, &leaks);
	self->has_checked = true;
	self->bytes = self->count = 0;
	if (error != 0) {
		mw_warn("no leak check %.200s: %s", self->name, strerror(error));
		return true;
	}
	self->bytes = (ssize_t)leaks.bytes;
	self->count = (ssize_t)leaks.count;
	show(self, &scope, &leaks, names_frames);
	mw_leaks_free(&leaks);
	return self->count == 0;
}

/* ---- the class ---- */

static void construct(mw_gp_checker_t *self, const char *name, bool has_start) {
	*self = (mw_gp_checker_t){.name = NULL};
	if (!checker.is_active) {
		mw_gp_log(-2,
			  "Heap checker is not active, hence checker \"%.200s\" will do nothing!",
			  name);
		mw_gp_log(-2, "To activate set the HEAPCHECK environment variable.\n");
		return;
	}
	mallow_ignore_begin();
	self->name = strdup(name);
	mallow_ignore_end();
	if (has_start)
		self->start = mw_leaks_snapshot_take();
	if (!self->name || (has_start && !self->start))
		mw_fatal("no memory for the leak checker %.200s", name);
}

static void destroy(mw_gp_checker_t *self) {
	if (self->name && !self->has_checked)
		mw_fatal("Some *NoLeaks|SameHeap method must be called on any created "
			 "HeapLeakChecker");
	free(self->name);
	mw_leaks_snapshot_free(self->start);
	*self = (mw_gp_checker_t){.name = NULL};
}

static const mw_gp_checker_t *checked(const mw_gp_checker_t *self) {
	if (!self->has_checked)
		mw_fatal("*NoLeaks|SameHeap must execute before this call");
	return self;
}

bool _ZN15HeapLeakChecker8IsActiveEv(void) {
	return checker.is_active;
}

mw_gp_checker_t *_ZN15HeapLeakChecker13GlobalCheckerEv(void) {
	return checker.whole;
}

bool _ZN15HeapLeakChecker13NoGlobalLeaksEv(void) {
	mw_gp_checker_t *whole = checker.whole;
	return !whole || check(whole, false);
}

void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void) {
	if (checker.whole)
		mw_gp_log(0, "Canceling the automatic at-exit whole-program memory leak check");
	checker.whole = NULL;
}

void _ZN15HeapLeakCheckerC1EPKc(mw_gp_checker_t *self, const char *name) {
	construct(self, name, true);
}

void _ZN15HeapLeakCheckerC2EPKc(mw_gp_checker_t *self, const char *name) {
	construct(self, name, true);
}

void _ZN15HeapLeakCheckerD1Ev(mw_gp_checker_t *self) {
	destroy(self);
}

void _ZN15HeapLeakCheckerD2Ev(mw_gp_checker_t *self) {
	destroy(self);
}

bool _ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE(mw_gp_checker_t *self,
							  int should_symbolize) {
	return check(self, should_symbolize == SYMBOLIZE);
}

ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const mw_gp_checker_t *self) {
	return checked(self)->bytes;
}

ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const mw_gp_checker_t *self) {
	return checked(self)->count;
}

void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *block) {
	if (checker.is_active && mw_gp_calls()->ignore_leak(block, 1) != 0)
		mw_gp_log(10, "No live heap object at 0x%lx to ignore", (unsigned long)block);
}

void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *block) {
	if (checker.is_active)
		mw_gp_calls()->ignore_leak(block, 0);
}

static void begin_region(void *self) {
	(void)self;
	mw_gp_calls()->ignore_leaks(true);
}

static void end_region(void *self) {
	(void)self;
	mw_gp_calls()->ignore_leaks(false);
}

void _ZN15HeapLeakChecker8DisablerC1Ev(void *self) {
	begin_region(self);
}

void _ZN15HeapLeakChecker8DisablerC2Ev(void *self) {
	begin_region(self);
}

void _ZN15HeapLeakChecker8DisablerD1Ev(void *self) {
	end_region(self);
}

void _ZN15HeapLeakChecker8DisablerD2Ev(void *self) {
	end_region(self);
}

/* ---- functions that free what is no leak ---- */

typedef struct cleanup {
	struct cleanup *next;
	void (*function)(void);
} cleanup_t;

static struct {
	pthread_mutex_t lock;
	cleanup_t *first;
} cleanups = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_cleanup(void (*function)(void)) {
	mallow_ignore_begin();
	cleanup_t *cleanup = malloc(sizeof *cleanup);
	mallow_ignore_end();
	if (!cleanup)
		mw_fatal("no memory for a HeapCleaner");
	pthread_mutex_lock(&cleanups.lock);
	*cleanup = (cleanup_t){cleanups.first, function};
	cleanups.first = cleanup;
	pthread_mutex_unlock(&cleanups.lock);
}

void _ZN11HeapCleanerC1EPFvvE(void *self, void (*function)(void)) {
	(void)self;
	add_cleanup(function);
}

void _ZN11HeapCleanerC2EPFvvE(void *self, void (*function)(void)) {
	(void)self;
	add_cleanup(function);
}

/* Runs each function once, the last one first. */
void _ZN11HeapCleaner15RunHeapCleanupsEv(void) {
	for (;;) {
		pthread_mutex_lock(&cleanups.lock);
		cleanup_t *cleanup = cleanups.first;
		if (cleanup)
			cleanups.first = cleanup->next;
		pthread_mutex_unlock(&cleanups.lock);
		if (!cleanup)
			return;
		cleanup->function();
		free(cleanup);
	}
}

/* ---- start and end ---- */

void mw_gp_checker_start(void) {
	static mw_gp_checker_t whole;
	if (!mw_gp_checker_read_settings(&checker.settings))
		return;
	mw_gp_record(MW_GP_USER_CHECKER, true);
	mw_gp_log(-2, "WARNING: Perftools heap leak checker is active -- Performance may suffer");
	checker.is_active = true;
	checker.process = getpid();
	if (!checker.settings.checks_at_end)
		return;
	construct(&whole, "_main_", checker.settings.ignores_earlier);
	checker.whole = &whole;
}

void mw_gp_checker_finish(void) {
	if (!checker.is_active || getpid() != checker.process || !checker.settings.checks_at_end)
		return;
	_ZN11HeapCleaner15RunHeapCleanupsEv();
	mw_gp_checker_t *whole = checker.whole;
	if (!whole || check(whole, true))
		return;
	if (checker.settings.shows_addresses)
		mw_fatal("Whole-program memory leaks found.");
	mw_gp_log(-2, "Exiting with error code (instead of crashing) because of whole-program "
		      "memory leaks");
	fflush(NULL);
	_exit(1);
}
