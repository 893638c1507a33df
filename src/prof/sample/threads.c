/* SPDX-License-Identifier: MIT
 * threads.c -- a ring of thread names. A new thread takes the oldest entry when the ring is full.
 */
#include "prof/sample/threads.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "os/file/proc.h"
#include "prof/store/store.h"

#define THREAD(field) offsetof(mw_state_thread_t, field)

bool mw_threads_own_names;
static MW_TLS char own_name[sizeof((mw_state_thread_t *)0)->name];

void mw_threads_set_name(const char *name) {
	if (mw_threads_own_names)
		mw_fmt(own_name, sizeof own_name, "%s", name);
	else
		mw_os_set_thread_name(name);
}

void mw_threads_name(char name[16]) {
	if (mw_threads_own_names)
		memcpy(name, own_name, sizeof own_name);
	else
		mw_os_thread_name(name);
}

/* Takes the next entry and returns its number. Numbers begin with 1, in the order of the threads'
 * first samples. Returns 0 if the kernel refused memory. */
static uint32_t take_entry(uint64_t capacity) {
	mw_both_t live = mw_store_live_both();
	_Atomic uint64_t *written = &mw_store_live()->threads_written;
	uint64_t before = atomic_load_explicit(written, memory_order_relaxed);
	/* Readers of the tables look at each entry that is counted. Pairs with the acquire in
	 * mw_thread_table_fill(). */
	do
		if (!mw_store_reach(MW_SECTION_THREADS, before % capacity))
			return 0;
	while (!atomic_compare_exchange_weak_explicit(written, &before, before + 1,
						      memory_order_release, memory_order_relaxed));
	if (live.published)
		atomic_fetch_add_explicit(
			(_Atomic uint64_t *)(void *)(live.published + MW_LIVE(threads_written)), 1,
			memory_order_relaxed);
	return (uint32_t)before + 1;
}

uint32_t mw_threads_put(uint32_t number, uint32_t thread_id, uint64_t now_ns) {
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_THREADS].capacity;
	mw_state_thread_t thread = {.thread_id = thread_id, .first_ns = now_ns};
	uint64_t index = (number - 1) % capacity;
	const mw_state_thread_t *old = NULL;
	if (number != 0)
		old = mw_store_private(MW_SECTION_THREADS, index);
	if (!old || old->thread_id != thread_id) {
		number = take_entry(capacity);
		if (number == 0)
			return 0;
		index = (number - 1) % capacity;
	} else {
		thread.first_ns = old->first_ns;
	}
	mw_threads_name(thread.name);
	mw_both_copy(mw_store_both(MW_SECTION_THREADS, index), &thread, sizeof thread);
	return number;
}

void mw_threads_name_again(mw_sampler_t *sampler, uint64_t now_ns) {
	sampler->named_ns = now_ns;
	sampler->thread_number = mw_threads_put(sampler->thread_number, sampler->thread_id, now_ns);
}
