/* SPDX-License-Identifier: MIT
 * extension.c -- MallocExtension's functions for C, and those of the C++ object. */
#include <gperftools/malloc_extension_c.h>
#include <jemalloc/jemalloc.h>
#include <malloc.h>
#include <mallow/mallow.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fmt.h"
#include "compat/gperftools/extension/extension.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/heap_profiler.h"

int malloc_trim(size_t pad_bytes); /* not in musl's header */

/* tcmalloc's standard values. */
static struct {
	_Atomic size_t max_cache_bytes, min_cache_bytes;
	_Atomic double release_rate;
} stored = {32 << 20, 512 << 10, 1.0};

/* ---- properties ---- */

static bool set_max_cache(size_t value) {
	stored.max_cache_bytes = value;
	return true;
}

static bool set_min_cache(size_t value) {
	stored.min_cache_bytes = value;
	return true;
}

static uint64_t read_word(const char *name) {
	uint64_t value = 0;
	size_t length = sizeof value;
	return mallctl(name, &value, &length, NULL, 0) == 0 ? value : 0;
}

static uint64_t purges(void) {
	uint64_t epoch = 1;
	mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
	return read_word("stats.arenas.0.dirty_npurge");
}

static int64_t decay_ms(void) {
	return (int64_t)read_word("arenas.dirty_decay_ms");
}

static void set_decay_ms(int64_t ms) {
	mallctl("arenas.dirty_decay_ms", NULL, NULL, &ms, sizeof ms);
	mallctl("arena.0.dirty_decay_ms", NULL, NULL, &ms, sizeof ms);
}

void mw_gp_set_release_rate(double rate) {
	stored.release_rate = rate;
	set_decay_ms(rate > 0 ? (int64_t)(1000.0 / rate) : -1);
}

double mw_gp_release_rate(void) {
	return stored.release_rate;
}

static bool set_aggressive(size_t value) {
	if (value)
		set_decay_ms(0);
	else
		mw_gp_set_release_rate(stored.release_rate);
	return true;
}

static bool set_option(const char *name, size_t value) {
	char text[24];
	mw_fmt(text, sizeof text, "%zu", value);
	return mallow_set(name, text) == 0;
}

static uint64_t hard_limit(void) {
	uint64_t stats[MW_STAT_COUNT];
	mw_gp_calls()->stats(stats);
	return stats[MW_STAT_hard_limit_bytes];
}

static bool set_heap_limit(size_t megabytes) {
	return megabytes <= SIZE_MAX >> 20 && set_option("hard_limit", megabytes << 20);
}

static uint64_t sample_bytes(void) {
	mallow_status_t status = {.size = sizeof status};
	return mallow_status(&status) == 0 && status.active ? status.mean_bytes : 0;
}

static bool set_sample_bytes(size_t bytes) {
	if (bytes == 0)
		return mallow_stop() == 0;
	return set_option("prof_sample", bytes) && mallow_start() == 0;
}

/* Returns the value of the property, or sets it. false: unknown, or not writable. */
static bool at_property(const char *name, size_t *value, bool setting) {
	mw_gp_figures_t figures;
	const mw_gp_figures_t *f = &figures;
	if (!setting)
		mw_gp_figures(&figures);
#define MW_PROPERTY(its_name, its_value, its_set)                                                  \
	if (strcmp(name, its_name) == 0) {                                                         \
		bool (*set)(size_t) = its_set;                                                     \
		if (setting)                                                                       \
			return set && set(*value);                                                 \
		*value = (size_t)(its_value);                                                      \
		return true;                                                                       \
	}
#include "compat/gperftools/extension/properties.def"
#undef MW_PROPERTY
	return false;
}

int MallocExtension_GetNumericProperty(const char *property, size_t *value) {
	return at_property(property, value, false);
}

int MallocExtension_SetNumericProperty(const char *property, size_t value) {
	return at_property(property, &value, true);
}

void MallocExtension_GetStats(char *buffer, int buffer_length) {
	/* tcmalloc leaves the free lists out where they would not fit. */
	if (buffer_length > 0)
		mw_gp_stats_text(buffer, (size_t)buffer_length, buffer_length >= 10000);
}

/* ---- verification ---- */

/* Of libtcmalloc_debug alone (debug/debug_names.c): checks one block that was allocated by malloc()
 * (0), new (1) or new[] (2), or, with -1, all blocks. */
extern void mallow_debug_verify(int kind, const void *block)
	__attribute__((weak, visibility("default")));

int MallocExtension_VerifyAllMemory(void) {
	if (mallow_debug_verify)
		mallow_debug_verify(-1, NULL);
	return 1;
}

/* Misuse that the library can see ends the program with a message. */
static int verify(int kind, const void *p) {
	if (mallow_debug_verify)
		mallow_debug_verify(kind, p);
	else if (p && mw_gp_calls()->owns(p))
		malloc_usable_size((void *)(uintptr_t)p);
	return 1;
}

int MallocExtension_VerifyNewMemory(const void *p) {
	return verify(1, p);
}

int MallocExtension_VerifyArrayNewMemory(const void *p) {
	return verify(2, p);
}

int MallocExtension_VerifyMallocMemory(const void *p) {
	return verify(0, p);
}

/* ---- memory ---- */

void MallocExtension_MarkThreadIdle(void) {
	mw_gp_calls()->flush_thread();
}

void MallocExtension_MarkThreadTemporarilyIdle(void) {
	mw_gp_calls()->flush_thread();
}

void MallocExtension_MarkThreadBusy(void) {
}

void MallocExtension_ReleaseToSystem(size_t num_bytes) {
	if (num_bytes > 0)
		malloc_trim(0);
}

void MallocExtension_ReleaseFreeMemory(void) {
	malloc_trim(0);
}

void MallocExtension_SetMemoryReleaseRate(double rate) {
	if (rate >= 0)
		mw_gp_set_release_rate(rate);
}

double MallocExtension_GetMemoryReleaseRate(void) {
	return mw_gp_release_rate();
}

size_t MallocExtension_GetEstimatedAllocatedSize(size_t size) {
	return mw_gp_calls()->blocks.usable_for(1, size);
}

size_t MallocExtension_GetAllocatedSize(const void *p) {
	return malloc_usable_size((void *)(uintptr_t)p);
}

size_t MallocExtension_GetThreadCacheSize(void) {
	return mw_gp_calls()->thread_cache_bytes();
}

MallocExtension_Ownership MallocExtension_GetOwnership(const void *p) {
	return mw_gp_calls()->owns(p) ? MallocExtension_kOwned : MallocExtension_kNotOwned;
}

/* ---- profiles ---- */

void MallocExtension_GetHeapSample(MallocExtension_Write write, void *context) {
	mw_gp_profile_text(MW_GP_PROFILE_LIVE, write, context);
}

void MallocExtension_GetHeapGrowthStacks(MallocExtension_Write write, void *context) {
	mw_gp_profile_text(MW_GP_PROFILE_GROWTH, write, context);
}

/* The counts are estimates of all blocks; a period of 1 says that readers need not scale them. */
void **MallocExtension_ReadStackTraces(int *sample_period) {
	*sample_period = 1;
	return mw_gp_profile_words(malloc);
}

void **MallocExtension_ReadHeapGrowthStackTraces(void) {
	return mw_gp_growth_words(malloc);
}
