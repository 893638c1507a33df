/* SPDX-License-Identifier: MIT
 * mallctl_arena.c -- controls of arenas and tcaches. Arena 0 is all memory outside of explicit
 * arenas. Tcaches have names only. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/arena/arena.h"
#include "heap/core/arena_blocks.h"
#include "heap/core/lookup.h"
#include "heap/large/huge.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/memory/limit.h"
#include "heap/thread/binding.h"
#include "heap/thread/maintain.h"
#include "os/memory/map.h"

/* jemalloc's limit for a name, including its NUL. */
#define NAME_BYTES 32u

/* Names are copied without a lock: two concurrent writers may leave a mixture of both names. */
static struct {
	_Atomic bool tcaches[MW_CTL_TCACHES_MAX];
	char names[MW_ARENAS_MAX][NAME_BYTES];
	_Atomic bool is_first_named; /* Arena 0 exists before a name can be written. */
	_Atomic int64_t decay_ms; /* value set by a program; if `decay_set` is false, the option's
				     value holds */
	_Atomic bool decay_set;
	_Atomic int64_t muzzy_decay_ms; /* as decay_ms, for muzzy memory */
	_Atomic bool muzzy_decay_set;
} arenas MW_SPARSE;

mw_ctl_arena_t mw_ctl_arena_of(size_t index) {
	if (index == 0)
		return MW_CTL_ARENA_0;
	/* The number of arenas meant "all arenas" before jemalloc introduced a name for that. */
	if (index == MW_CTL_ARENAS_ALL || index == mw_arena_count())
		return MW_CTL_ALL_ARENAS;
	if (index == MW_CTL_ARENAS_DESTROYED)
		return MW_CTL_DESTROYED_ARENAS;
	return mw_arena_of(index) ? MW_CTL_MADE_ARENA : MW_CTL_NO_ARENA;
}

/* Returns whether names with this index exist, even if the arena is destroyed. */
static bool is_number(size_t index) {
	return index <= mw_arena_count() || index == MW_CTL_ARENAS_ALL ||
	       index == MW_CTL_ARENAS_DESTROYED;
}

int mw_ctl_at_narenas(mw_ctl_call_t *call) {
	call->value = mw_arena_count();
	return 0;
}

/* Reads the pointer at `new`, if there is one. */
static int read_pointer(const mw_ctl_call_t *call, size_t length, void **pointer) {
	if (!call->new)
		return 0;
	if (call->new_length != length)
		return EINVAL;
	memcpy(pointer, call->new, sizeof *pointer);
	return 0;
}

/* jemalloc's arena_config_t. */
typedef struct arena_config {
	void *hooks;
	bool metadata_use_hooks;
} arena_config_t;

/* Explains that the metadata of an arena lies in memory that its hooks provide. */
static void say_metadata(const mw_ctl_call_t *call) {
	static _Atomic bool was_said;
	arena_config_t config;
	if (!call->argument || !call->new)
		return;
	memcpy(&config, call->new, sizeof config);
	/* Relaxed: at worst the line is printed twice. */
	if (!config.metadata_use_hooks &&
	    !atomic_exchange_explicit(&was_said, true, memory_order_relaxed))
		mw_warn("experimental.arenas_create_ext: metadata_use_hooks:false is ignored: "
			"metadata lies in the memory of the arena's hooks");
}

/* The new value is a table of hooks; argument 1: a structure that begins with such a table. */
int mw_ctl_at_arena_create(mw_ctl_call_t *call) {
	void *hooks = NULL;
	if (read_pointer(call, call->argument ? sizeof(arena_config_t) : sizeof hooks, &hooks) != 0)
		return EINVAL;
	say_metadata(call);
	mw_arena_t *arena = mw_arena_create(hooks);
	if (!arena)
		return EAGAIN;
	if (atomic_load_explicit(&arenas.decay_set, memory_order_relaxed))
		mw_arena_set_decay(arena, arenas.decay_ms);
	mw_fmt(arenas.names[arena->number], NAME_BYTES, "manual_%u", arena->number);
	call->value = arena->number;
	return 0;
}

int mw_ctl_at_arena_initialized(mw_ctl_call_t *call) {
	if (!is_number(call->mib[1]))
		return ENOENT;
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[1]);
	call->value = arena == MW_CTL_DESTROYED_ARENAS ? mw_ctl_any_destroyed()
						       : arena != MW_CTL_NO_ARENA;
	return 0;
}

static void purge_heap(bool all) {
	if (all) {
		mw_heap_trim();
		return;
	}
	mw_huge_purge(false);
	mw_chunk_purge(false);
}

/* Argument 1: purges all free memory; 0: purges free memory whose time has come. */
int mw_ctl_at_arena_purge(mw_ctl_call_t *call) {
	bool all = call->argument != 0;
	switch (mw_ctl_arena_of(call->mib[1])) {
	case MW_CTL_MADE_ARENA:
		mw_arena_purge(mw_arena_of(call->mib[1]), all);
		break;
	case MW_CTL_ALL_ARENAS:
		mw_arena_purge_each(all);
		purge_heap(all);
		break;
	case MW_CTL_ARENA_0:
		purge_heap(all);
		break;
	case MW_CTL_NO_ARENA:
	case MW_CTL_DESTROYED_ARENAS:
		break;
	}
	return is_number(call->mib[1]) ? 0 : ENOENT;
}

/* Returns the explicit arena; only there do all blocks belong to the arena. */
static int made_arena(const mw_ctl_call_t *call, mw_arena_t **arena) {
	*arena = mw_arena_of(call->mib[1]);
	if (!is_number(call->mib[1]))
		return ENOENT;
	return *arena ? 0 : EFAULT;
}

int mw_ctl_at_arena_reset(mw_ctl_call_t *call) {
	mw_arena_t *arena;
	int result = made_arena(call, &arena);
	if (result == 0)
		mw_arena_reset(arena);
	return result;
}

int mw_ctl_at_arena_destroy(mw_ctl_call_t *call) {
	mw_arena_t *arena;
	int result = made_arena(call, &arena);
	if (result)
		return result;
	if (atomic_load_explicit(&arena->threads, memory_order_relaxed) > 0)
		return EFAULT;
	mw_ctl_count_destroyed(arena);
	return mw_arena_destroy(arena) ? 0 : EFAULT;
}

/* Arena 0's hooks can be read but not changed: threads' memory does not come from them. */
int mw_ctl_at_extent_hooks(mw_ctl_call_t *call) {
	mw_arena_t *arena = mw_arena_of(call->mib[1]);
	if (!is_number(call->mib[1]))
		return ENOENT;
	if (call->mib[1] != 0 && !arena)
		return EFAULT;
	mw_extent_hooks_t *hooks = arena ? atomic_load_explicit(&arena->hooks, memory_order_relaxed)
					 : &mw_extent_default_hooks;
	if (call->writing) {
		mw_extent_hooks_t *wanted = (mw_extent_hooks_t *)(uintptr_t)call->value;
		if (!wanted || !wanted->alloc || (!arena && wanted != hooks))
			return EFAULT;
		if (arena)
			atomic_store_explicit(&arena->hooks, wanted, memory_order_relaxed);
	}
	call->value = (uintptr_t)hooks;
	return 0;
}

/* Several arenas together have no single value of this kind. */
static bool is_sum(mw_ctl_arena_t arena) {
	return arena == MW_CTL_ALL_ARENAS || arena == MW_CTL_DESTROYED_ARENAS;
}

/* Argument: position in the name of the arena's index; 2 in statistics. */
int mw_ctl_at_arena_dss(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[call->argument]);
	if (arena == MW_CTL_NO_ARENA)
		return ENOENT;
	if (call->argument == 2 && is_sum(arena)) {
		call->value = MW_CTL_WORDS("N/A");
		return 0;
	}
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

static int64_t default_decay(void) {
	if (atomic_load_explicit(&arenas.decay_set, memory_order_relaxed))
		return atomic_load_explicit(&arenas.decay_ms, memory_order_relaxed);
	mw_ctl_call_t option = {0};
	option_decay(&option);
	return (int64_t)option.value;
}

/* Several arenas together have no single time: the value is -1, as in jemalloc. */
static bool is_decay_of_sum(mw_ctl_call_t *call) {
	if (call->argument != 2 || !is_sum(mw_ctl_arena_of(call->mib[2])))
		return false;
	call->value = UINT64_MAX;
	return true;
}

/* "arenas.dirty_decay_ms" holds for arena 0 and for arenas created later. Argument: position in the
 * name of the arena's index; 0: none. */
int mw_ctl_at_decay_ms(mw_ctl_call_t *call) {
	size_t index = call->argument ? call->mib[call->argument] : 0;
	mw_arena_t *arena = mw_arena_of(index);
	if (!is_number(index))
		return ENOENT;
	if (is_decay_of_sum(call))
		return 0;
	int64_t wanted = (int64_t)call->value, before = default_decay();
	if (arena)
		before = atomic_load_explicit(&arena->decay_ms, memory_order_relaxed);
	else if (index != 0 && call->argument == 1)
		return EFAULT;
	if (call->writing && wanted < -1)
		return EFAULT;
	if (call->writing && arena)
		mw_arena_set_decay(arena, wanted);
	else if (call->writing)
		set_decay(wanted);
	call->value = (uint64_t)before;
	return 0;
}

static int64_t muzzy_decay(void) {
	const mw_options_t *options = mw_ctl_options();
	if (atomic_load_explicit(&arenas.muzzy_decay_set, memory_order_relaxed))
		return atomic_load_explicit(&arenas.muzzy_decay_ms, memory_order_relaxed);
	return options ? options->muzzy_decay_ms : 0;
}

/* Argument: as in mw_ctl_at_decay_ms(). Always 0 for an explicit arena: memory that its hooks purge
 * lazily stays lazily purged until it is used. */
int mw_ctl_at_muzzy_decay_ms(mw_ctl_call_t *call) {
	size_t index = call->argument ? call->mib[call->argument] : 0;
	mw_ctl_arena_t arena = mw_ctl_arena_of(index);
	if (arena == MW_CTL_NO_ARENA)
		return ENOENT;
	if (is_decay_of_sum(call))
		return 0;
	if (is_sum(arena))
		return EFAULT;
	int64_t wanted = (int64_t)call->value;
	bool own = arena == MW_CTL_ARENA_0;
	call->value = own ? (uint64_t)muzzy_decay() : 0;
	if (call->writing && wanted < -1)
		return EFAULT;
	if (call->writing && own) {
		mw_chunk_set_muzzy_decay(wanted < 0 ? MW_DECAY_NEVER_NS
						    : (uint64_t)wanted * 1000000u);
		atomic_store_explicit(&arenas.muzzy_decay_ms, wanted, memory_order_relaxed);
		atomic_store_explicit(&arenas.muzzy_decay_set, true, memory_order_relaxed);
	}
	return 0;
}

/* The old name is copied to the buffer at *old; the new name is read from *new. */
int mw_ctl_at_arena_name(mw_ctl_call_t *call) {
	size_t index = call->mib[1];
	if (!is_number(index))
		return ENOENT;
	if (index != 0 && !mw_arena_of(index))
		return EFAULT;
	if (call->old && call->old_length) {
		char *buffer;
		if (*call->old_length != sizeof buffer)
			return EINVAL;
		memcpy(&buffer, call->old, sizeof buffer);
		if (index == 0 &&
		    !atomic_load_explicit(&arenas.is_first_named, memory_order_relaxed))
			mw_fmt(buffer, NAME_BYTES, "auto_0");
		else
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
		if (index == 0)
			atomic_store_explicit(&arenas.is_first_named, true, memory_order_relaxed);
	}
	return 0;
}

/* Constants among the statistics. */
int mw_ctl_at_arena_constant(mw_ctl_call_t *call) {
	call->value = call->argument;
	return mw_ctl_arena_of(call->mib[2]) == MW_CTL_NO_ARENA ? ENOENT : 0;
}

/* Limits of "arena.<i>", which cannot be set for all arenas. */
int mw_ctl_at_arena_limit(mw_ctl_call_t *call) {
	mw_ctl_arena_t arena = mw_ctl_arena_of(call->mib[1]);
	call->value = call->argument;
	return !is_number(call->mib[1])                    ? ENOENT
	       : is_sum(arena) || arena == MW_CTL_NO_ARENA ? EFAULT
							   : 0;
}

int mw_ctl_at_thread_arena(mw_ctl_call_t *call) {
	const mw_heap_t *heap = mw_thread.heap;
	uint32_t before = heap && heap->arena ? heap->arena->number : 0;
	if (call->writing && call->value != before) {
		mw_arena_t *arena = mw_arena_of(call->value);
		if (call->value >= mw_arena_count())
			return EFAULT;
		if ((call->value != 0 && !arena) || !mw_arena_bind(arena))
			return EAGAIN;
	}
	call->value = before;
	return 0;
}

/* new: a pointer; old: the number of the arena that contains it. */
int mw_ctl_at_lookup(mw_ctl_call_t *call) {
	void *block = NULL;
	if (!call->new || read_pointer(call, sizeof block, &block) != 0 ||
	    mw_word_kind((uintptr_t)block) == MW_MAP_FOREIGN)
		return EINVAL;
	uint32_t arena = mw_heap_arena_of(block);
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
