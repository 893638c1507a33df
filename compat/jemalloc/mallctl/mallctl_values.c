/* SPDX-License-Identifier: MIT
 * mallctl_values.c -- controls of options, threads and size classes. */
#include <errno.h>
#include <string.h>

#include "api/process/compat_hooks.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "config/option_row.h"
#include "heap/core/lookup.h"
#include "heap/large/huge.h"
#include "heap/layout/counters.h"
#include "heap/layout/harden_block.h"
#include "heap/local/counts.h"
#include "heap/memory/background.h"
#include "heap/stats/thread_counter.h"
#include "heap/thread/flush.h"
#include "heap/thread/thread.h"
#include "os/memory/map.h"
#include "prof/prof.h"
#include "prof/sample/threads.h"

static struct {
	const mw_options_t *options;
	const mw_conf_sources_t *sources;
} ctl;

static MW_TLS struct {
	uint64_t peak_base_bytes;
	char name[16];
} thread;

void mw_compat_start(const mw_options_t *options, const mw_conf_sources_t *sources) {
	ctl.options = options;
	ctl.sources = sources;
}

const mw_options_t *mw_ctl_options(void) {
	return ctl.options;
}

int mw_ctl_at_constant(mw_ctl_call_t *call) {
	call->value = call->argument;
	return 0;
}

int mw_ctl_at_absent(mw_ctl_call_t *call) {
	(void)call;
	return ENOENT;
}

/* ---- options ---- */

static const void *option(const mw_ctl_call_t *call) {
	return ctl.options ? (const char *)ctl.options + call->argument : NULL;
}

int mw_ctl_at_option_flag(mw_ctl_call_t *call) {
	const bool *flag = option(call);
	call->value = flag && *flag;
	return 0;
}

int mw_ctl_at_option_number(mw_ctl_call_t *call) {
	const uint64_t *number = option(call);
	call->value = number ? *number : 0;
	return 0;
}

int mw_ctl_at_option_log2(mw_ctl_call_t *call) {
	const uint64_t *bytes = option(call);
	call->value = bytes && *bytes ? mw_log2_floor(*bytes) : UINT64_MAX;
	return 0;
}

int mw_ctl_at_option_text(mw_ctl_call_t *call) {
	const char *text = option(call);
	call->value = MW_CTL_WORDS(text ? text : "");
	return 0;
}

int mw_ctl_at_option_ratio(mw_ctl_call_t *call) {
	const char *text = option(call);
	call->value = text ? mw_option_ratio(text) : MW_NO_RATIO;
	return 0;
}

static int give_word(mw_ctl_call_t *call, const char *const *words) {
	const int64_t *number = option(call);
	call->value = MW_CTL_WORDS(words[number ? *number : 0]);
	return 0;
}

int mw_ctl_at_option_thp(mw_ctl_call_t *call) {
	static const char *const words[] = {"default", "always", "never"};
	return give_word(call, words);
}

int mw_ctl_at_option_junk(mw_ctl_call_t *call) {
	static const char *const words[] = {"false", "alloc", "free", "true"};
	return give_word(call, words);
}

int mw_ctl_at_option_zero_realloc(mw_ctl_call_t *call) {
	static const char *const words[] = {"alloc", "free", "abort"};
	return give_word(call, words);
}

/* Returns the text of a source, by the offset in mw_conf_sources_t. */
int mw_ctl_at_source(mw_ctl_call_t *call) {
	const char *text = NULL;
	if (ctl.sources)
		memcpy(&text, (const char *)ctl.sources + call->argument, sizeof text);
	call->value = MW_CTL_WORDS(text ? text : "");
	return 0;
}

int mw_ctl_at_zero_reallocs(mw_ctl_call_t *call) {
	call->value = mw_counters_read(&mw_counters.zero_reallocs);
	return 0;
}

int mw_ctl_at_background_thread(mw_ctl_call_t *call) {
	bool before = atomic_load_explicit(&mw_background_state, memory_order_relaxed) !=
		      MW_BACKGROUND_OFF;
	if (call->writing) {
		/* A thread that was started keeps running: no code waits for its end. */
		if (!call->value && before)
			return EFAULT;
		if (call->value)
			mw_background_enable();
	}
	call->value = before;
	return 0;
}

/* mallow has at most one background thread. The number is stored only. */
int mw_ctl_at_max_background_threads(mw_ctl_call_t *call) {
	/* 0: the option's value; relaxed: no other data depends on it */
	static _Atomic uint64_t set;
	uint64_t most = ctl.options ? (uint64_t)ctl.options->max_background_threads : 1;
	uint64_t before = atomic_load_explicit(&set, memory_order_relaxed);
	if (call->writing) {
		if (call->value == 0 || call->value > most)
			return EINVAL;
		atomic_store_explicit(&set, call->value, memory_order_relaxed);
	}
	call->value = before ? before : most;
	return 0;
}

/* ---- the calling thread ---- */

int mw_ctl_at_thread_bytes(mw_ctl_call_t *call) {
	uint64_t allocated, freed;
	mw_heap_thread_bytes(&allocated, &freed);
	call->value = call->argument ? freed : allocated;
	return 0;
}

int mw_ctl_at_thread_pointer(mw_ctl_call_t *call) {
	call->value = (uintptr_t)mw_heap_thread_counter(call->argument != 0);
	return call->value ? 0 : EAGAIN;
}

int mw_ctl_at_thread_flush(mw_ctl_call_t *call) {
	(void)call;
	mw_heap_flush_thread();
	return 0;
}

/* Argument 1: resets the peak. The heap tracks the thread's peak from the first read on. */
int mw_ctl_at_thread_peak(mw_ctl_call_t *call) {
	bool begins = call->argument != 0;
	uint64_t peak = mw_heap_thread_peak(begins);
	if (begins)
		thread.peak_base_bytes = peak;
	call->value = peak > thread.peak_base_bytes ? peak - thread.peak_base_bytes : 0;
	return 0;
}

int mw_ctl_at_thread_prof_name(mw_ctl_call_t *call) {
	if (call->writing) {
		const char *name = (const char *)(uintptr_t)call->value;
		if (!name)
			return EINVAL;
		for (const char *c = name; *c; c++)
			if ((*c < ' ' || *c > '~') && *c != '\t')
				return EINVAL;
		mw_prof_set_thread_name(name);
	}
	mw_threads_name(thread.name);
	call->value = (uintptr_t)thread.name;
	return 0;
}

/* ---- sizes ---- */

int mw_ctl_at_bin(mw_ctl_call_t *call) {
	size_t c = call->mib[2];
	size_t slab_bytes = mw_class_run_slices[c] * MW_SLICE_BYTES;
	switch (call->argument) {
	case MW_CTL_BIN_SIZE:
		/* Largest size that a program can request: see harden.h. */
		call->value = mw_harden_requested(mw_class_bytes[c]);
		break;
	case MW_CTL_BIN_NREGS:
		call->value = slab_bytes / mw_class_bytes[c];
		break;
	case MW_CTL_BIN_SLAB:
		call->value = slab_bytes;
		break;
	default:
		call->value = 1;
		break;
	}
	return 0;
}

/* Returns 80, 96, 112, 128 KiB and so on. */
uint64_t mw_ctl_lextent_bytes(size_t i) {
	return (uint64_t)(5 + i % 4) << (14 + i / 4);
}

int mw_ctl_at_lextent_size(mw_ctl_call_t *call) {
	size_t i = call->mib[2];
	call->value = mw_harden_requested(mw_ctl_lextent_bytes(i));
	return 0;
}

typedef struct use {
	uint64_t free_count, capacity, bytes;
} use_t;

static use_t look(const void *block) {
	use_t use = {.capacity = 1};
	if (mw_word_kind((uintptr_t)block) == MW_MAP_FOREIGN)
		return (use_t){0};
	use.bytes = mw_lookup_bytes("mallctl", block);
	if (mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK)
		return use;
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	if (page->kind == MW_PAGE_SMALL) {
		use.capacity = page->capacity;
		use.free_count = page->capacity - __atomic_load_n(&page->used, __ATOMIC_RELAXED);
		use.bytes = MW_SLICE_BYTES;
	}
	return use;
}

void *(*mw_mallctl_allocate)(size_t bytes, int flags);

/* new: an array, the number of blocks, their size and mallocx()'s flags; old: number of blocks that
 * were allocated. */
int mw_ctl_at_batch_alloc(mw_ctl_call_t *call) {
	struct {
		void **blocks;
		size_t count, bytes;
		int flags;
	} order;
	if (!call->new || call->new_length != sizeof order)
		return EINVAL;
	memcpy(&order, call->new, sizeof order);
	call->value = 0;
	while (call->value < order.count) {
		void *block = mw_mallctl_allocate(order.bytes, order.flags);
		if (!block)
			break;
		order.blocks[call->value++] = block;
	}
	return 0;
}

/* new: an array of blocks; old: three words for each block. */
int mw_ctl_at_utilization_batch(mw_ctl_call_t *call) {
	size_t count = call->new_length / sizeof(void *);
	if (!call->old || !call->old_length || !call->new || call->new_length % sizeof(void *) ||
	    *call->old_length != count * 3 * sizeof(size_t))
		return EINVAL;
	for (size_t i = 0; i < count; i++) {
		const void *block;
		memcpy(&block, (const char *)call->new + i * sizeof block, sizeof block);
		use_t use = look(block);
		uint64_t words[3] = {use.free_count, use.capacity, use.bytes};
		memcpy((char *)call->old + i * sizeof words, words, sizeof words);
	}
	return 0;
}

/* Answers the query of one block: the batch query's figures, the sums of the block's bin, and the
 * source of the next block. */
int mw_ctl_at_utilization_query(mw_ctl_call_t *call) {
	enum { WORDS = 6 };
	const void *block;
	if (!call->old || !call->old_length || *call->old_length != WORDS * sizeof(size_t) ||
	    !call->new || call->new_length != sizeof block)
		return EINVAL;
	memcpy(&block, call->new, sizeof block);
	use_t use = look(block);
	uint64_t words[WORDS] = {0,         use.free_count, use.capacity,
				 use.bytes, use.free_count, use.capacity};
	memcpy(call->old, words, sizeof words);
	return 0;
}
