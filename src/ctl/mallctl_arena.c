/* SPDX-License-Identifier: MIT
 * mallctl_arena.c -- arenas and tcaches as names: all memory is the one heap's, which is arena 0
 * (doc/adr/0013-arenas-are-names.md). */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "ctl/mallctl.h"
#include "ctl/mallctl_row.h"
#include "heap/chunk.h"
#include "heap/decay.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "os/map.h"

/* jemalloc's limit of a name, with its NUL. */
#define NAME_BYTES 32u

/* Sequentially consistent where it matters to one thread only; a name is words that are copied:
 * two writers at once leave a mixture of both, as it would be with the later one's. */
static struct {
	_Atomic uint32_t count; /* of arenas made, the first included; 0: one */
	_Atomic bool destroyed[MW_CTL_ARENAS_MAX];
	_Atomic bool tcaches[MW_CTL_TCACHES_MAX];
	char names[MW_CTL_ARENAS_MAX][NAME_BYTES];
	_Atomic int64_t decay_ms; /* as set by a program; 0 with `decay_set` false: the option's */
	_Atomic bool decay_set;
} arenas MW_SPARSE;

static MW_TLS uint32_t thread_arena;

static uint32_t arena_count(void) {
	uint32_t count = atomic_load_explicit(&arenas.count, memory_order_relaxed);
	return count ? count : 1;
}

mw_ctl_arena_t mw_ctl_arena_of(size_t index) {
	/* The number of arenas stood for all of them before there was a name for it. */
	if (index == 0 || index == MW_CTL_ARENAS_ALL || index == arena_count())
		return MW_CTL_HEAP;
	if (index == MW_CTL_ARENAS_DESTROYED)
		return MW_CTL_EMPTY_ARENA;
	if (index > arena_count() ||
	    atomic_load_explicit(&arenas.destroyed[index], memory_order_relaxed))
		return MW_CTL_NO_ARENA;
	return MW_CTL_EMPTY_ARENA;
}

/* An arena that can be named, not a sum of them. */
static bool is_single(size_t index) {
	return index < arena_count() && mw_ctl_arena_of(index) != MW_CTL_NO_ARENA;
}

int mw_ctl_at_narenas(mw_ctl_call_t *call) {
	call->value = arena_count();
	return 0;
}

/* "arenas.create", whose new value is a table of hooks; argument 1: a structure with one. */
int mw_ctl_at_arena_create(mw_ctl_call_t *call) {
	if (call->new) {
		const void *hooks = NULL;
		if (call->new_length < sizeof hooks)
			return EINVAL;
		memcpy(&hooks, call->new, sizeof hooks);
		/* Memory from elsewhere cannot be had in this heap. */
		if (hooks)
			return EFAULT;
	}
	uint32_t count = arena_count(), next;
	do {
		if (count == MW_CTL_ARENAS_MAX)
			return EAGAIN;
		uint32_t expected = count == 1 ? atomic_load(&arenas.count) : count;
		next = count + 1;
		if (atomic_compare_exchange_strong(&arenas.count, &expected, next))
			break;
		count = arena_count();
	} while (true);
	call->value = next - 1;
	return 0;
}

int mw_ctl_at_arena_initialized(mw_ctl_call_t *call) {
	if (call->mib[1] > arena_count() && call->mib[1] < MW_CTL_ARENAS_ALL)
		return ENOENT;
	call->value = mw_ctl_arena_of(call->mib[1]) != MW_CTL_NO_ARENA;
	return 0;
}

/* Argument 1: all that is free; 0: what is due. */
int mw_ctl_at_arena_purge(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[1]);
	if (arena == MW_CTL_HEAP && call->argument) {
		mw_heap_trim();
	} else if (arena == MW_CTL_HEAP) {
		mw_huge_purge(false);
		mw_chunk_purge(false);
	}
	return arena == MW_CTL_NO_ARENA ? ENOENT : 0;
}

/* To free all of an arena's blocks they would have to be known. */
int mw_ctl_at_arena_reset(mw_ctl_call_t *call) {
	return mw_ctl_arena_of(call->mib[1]) == MW_CTL_NO_ARENA ? ENOENT : EFAULT;
}

/* The number is not given out again; blocks that the program left behind stay live. */
int mw_ctl_at_arena_destroy(mw_ctl_call_t *call) {
	size_t index = call->mib[1];
	if (!is_single(index))
		return ENOENT;
	if (index == 0)
		return EFAULT;
	atomic_store_explicit(&arenas.destroyed[index], true, memory_order_relaxed);
	return 0;
}

int mw_ctl_at_arena_dss(mw_ctl_call_t *call) {
	size_t at = call->mib[0];
	/* "arena.<i>.dss" and "stats.arenas.<i>.dss" have their index at different places. */
	size_t index = mw_mallctl_name(at)[0] == 'a' ? call->mib[1] : call->mib[2];
	if (mw_ctl_arena_of(index) == MW_CTL_NO_ARENA)
		return ENOENT;
	if (call->writing) {
		const char *word = (const char *)(uintptr_t)call->value;
		if (!word || strcmp(word, "disabled") != 0)
			return word && (strcmp(word, "primary") == 0 ||
					strcmp(word, "secondary") == 0)
				       ? EFAULT
				       : EINVAL;
	}
	call->value = MW_CTL_WORDS("disabled");
	return 0;
}

static void set_decay(int64_t ms) {
	uint64_t delay_ns = ms < 0 ? MW_DECAY_NEVER_NS : (uint64_t)ms * 1000000u;
	mw_chunk_set_decay(delay_ns, true);
	mw_huge_set_decay(delay_ns, true);
	atomic_store_explicit(&arenas.decay_ms, ms, memory_order_relaxed);
	atomic_store_explicit(&arenas.decay_set, true, memory_order_relaxed);
}

static mw_ctl_handler_t option_decay;
static int option_decay(mw_ctl_call_t *call) {
	mw_ctl_call_t option = {.argument = offsetof(mw_options_t, dirty_decay_ms)};
	int result = mw_ctl_at_option_number(&option);
	call->value = option.value;
	return result;
}

/* One delay for the heap, whichever arena is named.  Argument: the part of the name that is the
 * arena's index; 0: none. */
int mw_ctl_at_decay_ms(mw_ctl_call_t *call) {
	if (call->argument && mw_ctl_arena_of(call->mib[call->argument]) == MW_CTL_NO_ARENA)
		return ENOENT;
	int64_t wanted = (int64_t)call->value;
	bool empty =
		call->argument && mw_ctl_arena_of(call->mib[call->argument]) == MW_CTL_EMPTY_ARENA;
	if (call->writing && wanted < -1)
		return call->argument ? EINVAL : EFAULT;
	if (atomic_load_explicit(&arenas.decay_set, memory_order_relaxed))
		call->value =
			(uint64_t)atomic_load_explicit(&arenas.decay_ms, memory_order_relaxed);
	else
		option_decay(call);
	if (call->writing && !empty)
		set_decay(wanted);
	return 0;
}

/* The hooks of jemalloc's table, in its order: none can be called or replaced here. */
int mw_ctl_at_extent_hooks(mw_ctl_call_t *call) {
	enum { HOOKS = 9 };
	static void *const none[HOOKS];
	if (!is_single(call->mib[1]))
		return ENOENT;
	if (call->writing && call->value != (uintptr_t)none)
		return EFAULT;
	call->value = (uintptr_t)none;
	return 0;
}

/* The old name is copied into the buffer that *old points to, the new one is what *new does. */
int mw_ctl_at_arena_name(mw_ctl_call_t *call) {
	size_t index = call->mib[1];
	if (!is_single(index))
		return ENOENT;
	if (call->old && call->old_length) {
		char *buffer;
		if (*call->old_length != sizeof buffer)
			return EINVAL;
		memcpy(&buffer, call->old, sizeof buffer);
		memcpy(buffer, arenas.names[index], NAME_BYTES);
	}
	if (call->new) {
		const char *name;
		if (call->new_length != sizeof name)
			return EINVAL;
		memcpy(&name, call->new, sizeof name);
		if (!name)
			return EINVAL;
		mw_fmt(arenas.names[index], NAME_BYTES, "%s", name);
	}
	return 0;
}

int mw_ctl_at_arena_constant(mw_ctl_call_t *call) {
	size_t index = mw_mallctl_name(call->mib[0])[0] == 'a' ? call->mib[1] : call->mib[2];
	call->value = call->argument;
	return mw_ctl_arena_of(index) == MW_CTL_NO_ARENA ? ENOENT : 0;
}

int mw_ctl_at_thread_arena(mw_ctl_call_t *call) {
	uint32_t before = thread_arena;
	if (call->writing) {
		if (call->value >= arena_count())
			return EFAULT;
		if (!is_single(call->value))
			return EAGAIN;
		thread_arena = (uint32_t)call->value;
	}
	call->value = before;
	return 0;
}

/* new: a pointer; old: the number of its arena. */
int mw_ctl_at_lookup(mw_ctl_call_t *call) {
	const void *block;
	uint32_t arena = 0;
	if (!call->new || call->new_length != sizeof block)
		return EINVAL;
	memcpy(&block, call->new, sizeof block);
	if (mw_word_kind((uintptr_t)block) == MW_MAP_FOREIGN)
		return EINVAL;
	if (!call->old || !call->old_length || *call->old_length != sizeof arena)
		return EINVAL;
	memcpy(call->old, &arena, sizeof arena);
	return 0;
}

/* ---- tcaches ---- */

int mw_ctl_at_tcache_create(mw_ctl_call_t *call) {
	for (uint32_t i = 0; i < MW_CTL_TCACHES_MAX; i++)
		if (!atomic_exchange_explicit(&arenas.tcaches[i], true, memory_order_relaxed)) {
			call->value = i;
			return 0;
		}
	return EFAULT;
}

static int use_tcache(const mw_ctl_call_t *call, bool remains) {
	if (!call->writing)
		return EINVAL;
	if (call->value >= MW_CTL_TCACHES_MAX ||
	    !atomic_load_explicit(&arenas.tcaches[call->value], memory_order_relaxed))
		return EFAULT;
	atomic_store_explicit(&arenas.tcaches[call->value], remains, memory_order_relaxed);
	return 0;
}

int mw_ctl_at_tcache_flush(mw_ctl_call_t *call) {
	return use_tcache(call, true);
}

int mw_ctl_at_tcache_destroy(mw_ctl_call_t *call) {
	return use_tcache(call, false);
}
