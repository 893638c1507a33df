/* SPDX-License-Identifier: MIT
 * uncopied.c -- compares the mappings of the process with those of the copy. */
#include "leak/uncopied.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "leak/flood.h"
#include "os/file/proc.h"
#include "os/file/proc_maps.h"
#include "os/memory/map.h"
#include "os/process/child.h"
#include "prof/store/published.h"

/* Programs have a few such mappings: buffers of network cards, states of random numbers. */
#define RANGES_MAX 256u

static struct {
	bool is_any_missing;
	size_t count;
	struct {
		uintptr_t start, limit;
	} ranges[RANGES_MAX];
	mw_leak_roots_read_t read;
	uintptr_t words[MW_OS_PAGE_BYTES / sizeof(uintptr_t)];
} state MW_SPARSE;

/* ---- find ---- */

static bool may_hold_pointers(const mw_os_mapping_t *mapping) {
	return mapping->readable && mapping->writable && !mapping->shared;
}

static bool is_missing(const mw_os_mapping_t *mapping) {
	uintptr_t word;
	return mw_os_copy_memory(&word, mapping->start, sizeof word) == 0;
}

static void add(const mw_os_mapping_t *mapping) {
	if (state.count == RANGES_MAX) {
		state.read.unread_bytes += mapping->limit - mapping->start;
		return;
	}
	state.ranges[state.count].start = mapping->start;
	state.ranges[state.count++].limit = mapping->limit;
}

static bool find_missing(void *context, const mw_os_mapping_t *mapping) {
	(void)context;
	state.is_any_missing = may_hold_pointers(mapping) && is_missing(mapping);
	return !state.is_any_missing;
}

/* A mapping without the flag was made after the copy. */
static bool add_missing(void *context, const mw_os_mapping_t *mapping) {
	(void)context;
	if (mapping->is_not_copied && may_hold_pointers(mapping) && is_missing(mapping))
		add(mapping);
	return true;
}

static bool add_wiped(void *context, const mw_os_mapping_t *mapping) {
	(void)context;
	if (mapping->is_wiped && may_hold_pointers(mapping))
		add(mapping);
	return true;
}

void mw_leak_uncopied_find(void) {
	mw_os_visit_mappings_of(mw_os_child_process(), find_missing, NULL);
	if (state.is_any_missing)
		mw_os_visit_mapping_flags(mw_os_child_process(), add_missing, NULL);
	mw_os_visit_mapping_flags(mw_os_process_id(), add_wiped, NULL);
}

/* ---- read ---- */

/* The library has a page of this kind itself, without a pointer to a block. */
static bool is_own_page(uintptr_t start) {
	uintptr_t cell =
		(uintptr_t)atomic_load_explicit(&mw_published_view.cell, memory_order_relaxed);
	return ((cell ^ start) & ~(uintptr_t)(mw_os_page_bytes() - 1)) == 0;
}

static void read_page(uintptr_t start, uintptr_t mapping) {
	const mw_state_holder_t root = {.root = MW_LEAK_ROOT_DATA, .mapping = mapping};
	size_t copied =
		mw_os_copy_memory_of(mw_os_child_process(), state.words, start, sizeof state.words);
	mw_leak_flood_from(&root, start);
	mw_leak_flood(state.words, copied / sizeof(uintptr_t));
	state.read.bytes += copied;
	state.read.unread_bytes += sizeof state.words - copied;
}

mw_leak_roots_read_t mw_leak_uncopied_flood(void) {
	for (size_t i = 0; i < state.count; i++)
		for (uintptr_t at = state.ranges[i].start; at < state.ranges[i].limit;
		     at += sizeof state.words)
			if (!is_own_page(at))
				read_page(at, state.ranges[i].start);
	return state.read;
}
