/* SPDX-License-Identifier: MIT
 * modules.c -- table of loaded objects. */
#include "prof/modules/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/proc.h"
#include "os/file/proc_maps.h"
#include "os/lock/lock.h"
#include "os/platform/libc_calls.h"
#include "os/time/clock.h"
#include "os/unwind/object.h"
#include "os/unwind/object_table.h"
#include "prof/modules/module_elf.h"
#include "prof/script/script.h"
#include "prof/store/event_log.h"
#include "prof/store/store.h"

/* Objects of a stack that are cached while the stack is encoded; a stack rarely needs more. */
#define RECENT 4u
/* Largest capacity of the modules section (store.c). */
#define MODULES_MAX 4096u
#define NO_MODULE UINT32_MAX
#define CHECK_NS ((uint64_t)1000000000)
#define MODULE(field) offsetof(mw_state_module_t, field)

/* A loaded object at the time of a lookup. */
typedef struct object {
	uintptr_t start, limit;
	const struct link_map *link_map; /* NULL: the object was found in /proc/self/maps */
	uintptr_t eh_frame;
} object_t;

static struct {
	mw_lock_t lock;
	/* Module index + 1 of each segment of program start; 0: not looked up yet. Such segments
	 * are never unloaded, so an entry stays valid, also in a forked child. */
	_Atomic uint32_t permanent[MW_OS_PERMANENT_MAX];
	/* Facts about each module's object, side by side, so that a lookup touches few pages. */
	struct {
		/* Hash by which the object is recognised. Written (release) after the rest of the
		 * entry. 0: none. */
		_Atomic uint64_t identity;
		/* The loader's entry. It differs if the object was loaded again. Written under the
		 * lock; a reader with an outdated value only takes the lock. */
		_Atomic(const struct link_map *) link_map;
		/* Range in which the object was found, and its unwind tables. Written before
		 * `identity`. */
		uintptr_t start, limit, eh_frame;
	} objects[MODULES_MAX];
	/* Relaxed: a writer holds the lock that the reader holds, or the reader sees the change
	 * later. */
	_Atomic uint32_t generation;
	_Atomic uint64_t check_ns; /* monotonic time of the next check */
	bool had_threads;          /* at the fork: the parent had more than one */
#ifdef MW_TESTING
	bool use_maps;
#endif
} modules MW_SPARSE;

#ifdef MW_TESTING
void mw_modules_use_maps(bool use_maps) {
	modules.use_maps = use_maps;
}
#endif

static bool has_find_object(void) {
#ifdef MW_TESTING
	if (modules.use_maps)
		return false;
#endif
	return mw_os_object_can_ask_loader();
}

static void note_change(void) {
	atomic_fetch_add_explicit(&modules.generation, 1, memory_order_relaxed);
}

uint32_t mw_modules_generation(void) {
	return atomic_load_explicit(&modules.generation, memory_order_relaxed);
}

/* Hashes the addresses, the ELF header and the stamp. The addresses alone are not enough, because
 * another object may be loaded there: one that was built from a changed source has the same size,
 * and the loader's entry for it lies where the former one's lay. */
static uint64_t identity_of(const object_t *object) {
	uint64_t hash = mw_module_mix(object->start, object->limit);
	hash = mw_module_mix(hash, object->eh_frame);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->start;
	if (mw_same_bytes(header->e_ident, ELFMAG, SELFMAG)) {
		hash = mw_module_mix(hash, header->e_shoff);
		hash = mw_module_mix(hash, header->e_entry ^ (uint64_t)header->e_shnum << 48);
		uint64_t stamp = mw_module_stamp(object->start, object->limit, object->link_map);
		hash = mw_module_mix(hash, stamp);
	}
	return hash ? hash : 1;
}

/* ---- finds the object of a PC ---- */

typedef struct maps_search {
	uintptr_t pc;
	object_t *object;
	bool found;
	char path[sizeof((mw_state_module_t *)0)->path];
} maps_search_t;

static MW_COLD bool visit_mapping(void *context, const mw_os_mapping_t *mapping) {
	maps_search_t *search = context;
	object_t *object = search->object;
	/* The object's first mapping begins at the start of its file. */
	if (mapping->file_offset == 0 || mw_strcmp(mapping->path, search->path) != 0) {
		object->start = mapping->start;
		mw_fmt(search->path, sizeof search->path, "%s", mapping->path);
	}
	object->limit = mapping->limit;
	if (search->pc >= mapping->limit)
		return true;
	search->found = search->pc >= mapping->start && mapping->executable && mapping->path[0];
	return false;
}

static bool find_in_maps(maps_search_t *search) {
	search->found = false;
	search->path[0] = '\0';
	mw_os_visit_mappings(visit_mapping, search);
	return search->found;
}

/* `touches`: false for an object that may be unloaded at any time. */
static MW_COLD bool find_object(uintptr_t pc, object_t *object, bool touches) {
	struct dl_find_object found;
	/* Lock-free, and according to its documentation usable in signal handlers. */
	if ((touches ? mw_libc_calls._dl_find_object((void *)pc, &found)
		     : mw_os_object_table_listed(pc, &found)) != 0)
		return false;
	object->start = (uintptr_t)found.dlfo_map_start;
	object->limit = (uintptr_t)found.dlfo_map_end;
	object->link_map = found.dlfo_link_map;
	object->eh_frame = (uintptr_t)found.dlfo_eh_frame;
	mw_os_object_widen(found.dlfo_link_map->l_addr, &object->start, &object->limit);
	return true;
}

/* ---- adds a module ---- */

static MW_COLD void set_path(const object_t *object, uintptr_t pc, mw_state_module_t *module) {
	const char *name = object->link_map ? object->link_map->l_name : NULL;
	if (name && name[0] == '\0' && mw_os_executable(module->path, sizeof module->path) > 0)
		return;
	/* The loader's path is missing or relative to a former working directory: take it from the
	 * mappings. */
	object_t mapped = {.start = 0};
	maps_search_t search = {.pc = pc, .object = &mapped};
	if ((!name || name[0] != '/') && find_in_maps(&search))
		name = search.path;
	mw_fmt(module->path, sizeof module->path, "%s", name ? name : "");
}

static MW_COLD void mark_unloaded(uint32_t index) {
	mw_both_t both = mw_store_both(MW_SECTION_MODULES, index);
	mw_both_set64(both, MODULE(unloaded_ns), mw_os_realtime_ns());
	mw_event_log_add(MW_EVENT_UNLOAD, index, 0);
	mw_script_unloaded(modules.objects[index].start);
	note_change();
}

static uint32_t modules_used(void) {
	/* Pairs with the release in mw_store_take(). */
	return (uint32_t)atomic_load_explicit(&mw_store_live()->modules_used, memory_order_acquire);
}

static bool is_loaded(const mw_state_module_t *module) {
	return atomic_load_explicit(&module->unloaded_ns, memory_order_relaxed) == 0;
}

/* Marks as unloaded the modules whose addresses the new module has. */
static MW_COLD void unload_overlapping(uint64_t start, uint64_t limit) {
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, i);
		if (is_loaded(module) && module->start < limit && start < module->limit)
			mark_unloaded(i);
	}
}

static uint32_t recognise(uint64_t identity) {
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count && i < MODULES_MAX; i++)
		/* Pairs with the release in add(). */
		if (atomic_load_explicit(&modules.objects[i].identity, memory_order_acquire) ==
		    identity)
			return i;
	return NO_MODULE;
}

/* Adds an entry. Every entry below the count is complete, so the count is raised after the entry is
 * written. Only one thread at a time adds. `object`: NULL for a pseudo-module. */
static MW_COLD uint32_t append(const mw_state_module_t *module, const object_t *object,
			       uint64_t identity) {
	uint32_t index = modules_used();
	if (index >= MODULES_MAX || index >= MW_FRAME_MODULE_MAX - 1 ||
	    !mw_store_reach(MW_SECTION_MODULES, index)) {
		mw_store_set_flag(MW_STATE_MODULES_FULL);
		return NO_MODULE;
	}
	mw_both_copy(mw_store_both(MW_SECTION_MODULES, index), module, sizeof *module);
	if (object) {
		atomic_store_explicit(&modules.objects[index].link_map, object->link_map,
				      memory_order_relaxed);
		modules.objects[index].start = object->start;
		modules.objects[index].limit = object->limit;
		modules.objects[index].eh_frame = object->eh_frame;
	}
	/* Pairs with the acquire in recognise(). */
	atomic_store_explicit(&modules.objects[index].identity, identity, memory_order_release);
	mw_store_take(MW_SECTION_MODULES, 1);
	note_change();
	return index;
}

/* Returns the pseudo-module of an interpreter's frames. */
static MW_COLD uint32_t script_module(mw_script_kind_t kind) {
	const char *name = mw_script_module_name(kind);
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, i);
		if (mw_script_is_module(module->start) && mw_strcmp(module->path, name) == 0)
			return i;
	}
	mw_state_module_t module = {.start = mw_script_module_start(count),
				    .limit = mw_script_module_start(count + 1),
				    .bias = mw_script_module_start(count),
				    .loaded_ns = mw_os_realtime_ns()};
	mw_fmt(module.path, sizeof module.path, "%s", name);
	return append(&module, NULL, 0);
}

/* Has the frames of the object's functions read, if it is an interpreter. */
static MW_COLD void meet(const object_t *object, uintptr_t pc) {
	uintptr_t lo, hi;
	const mw_script_object_t met = {
		.link_map = object->link_map,
		.start = object->start,
		.limit = object->limit,
		.is_permanent = mw_os_object_permanent(pc, &lo, &hi) != MW_OS_NOT_PERMANENT,
	};
	mw_script_kind_t kind = object->link_map ? mw_script_recognise(&met) : MW_SCRIPT_KINDS;
	uint32_t module = kind != MW_SCRIPT_KINDS ? script_module(kind) : NO_MODULE;
	if (module != NO_MODULE)
		mw_script_start(kind, &met, (uint64_t)(module + 1) << MW_FRAME_MODULE_SHIFT);
}

static MW_COLD uint32_t add(const object_t *object, uint64_t identity, uintptr_t pc) {
	mw_state_module_t module = {0};
	if (!mw_module_read_elf(object->start, object->limit, &module)) {
		module = (mw_state_module_t){
			.start = object->start, .limit = object->limit, .bias = object->start};
	}
	set_path(object, pc, &module);
	module.loaded_ns = mw_os_realtime_ns();
	unload_overlapping(module.start, module.limit);
	uint32_t index = append(&module, object, identity);
	meet(object, pc);
	return index;
}

static const struct link_map *link_map_of(uint32_t index) {
	return atomic_load_explicit(&modules.objects[index].link_map, memory_order_relaxed);
}

/* The object was unloaded and loaded again, or seemed to be. Called with the lock. */
static MW_COLD void renew(uint32_t index, const object_t *object, uintptr_t pc) {
	const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, index);
	atomic_store_explicit(&modules.objects[index].link_map, object->link_map,
			      memory_order_relaxed);
	if (is_loaded(module))
		return;
	unload_overlapping(module->start, module->limit);
	mw_both_set64(mw_store_both(MW_SECTION_MODULES, index), MODULE(unloaded_ns), 0);
	meet(object, pc);
	note_change();
}

/* Adds the object, or finds it again after it was unloaded. Called with the lock. */
static uint32_t add_or_renew(const object_t *object, uint64_t identity, uintptr_t pc) {
	uint32_t index = recognise(identity);
	if (index == NO_MODULE)
		return add(object, identity, pc);
	renew(index, object, pc);
	return index;
}

/* `waits`: false in a signal handler, which may have interrupted the lock's holder. */
static uint32_t module_of(const object_t *object, uintptr_t pc, bool waits) {
	uint64_t identity = identity_of(object);
	uint32_t index = recognise(identity);
	if (MW_LIKELY(index != NO_MODULE && link_map_of(index) == object->link_map &&
		      is_loaded(mw_store_private(MW_SECTION_MODULES, index))))
		return index;
	if (!waits) {
		if (!mw_lock_try(&modules.lock))
			return NO_MODULE;
		index = add_or_renew(object, identity, pc);
		mw_lock_let_go(&modules.lock);
		return index;
	}
	mw_lock_acquire(&modules.lock, MW_RANK_MODULES);
	index = add_or_renew(object, identity, pc);
	mw_lock_release(&modules.lock, MW_RANK_MODULES);
	return index;
}

/* Returns whether the object that was found in /proc/self/maps is still there. The calling stack
 * uses code in its range. */
static bool is_same(uint32_t index) {
	object_t object = {.start = modules.objects[index].start,
			   .limit = modules.objects[index].limit};
	/* Pairs with the release in add(). */
	return atomic_load_explicit(&modules.objects[index].identity, memory_order_acquire) ==
	       identity_of(&object);
}

/* Without _dl_find_object: searches the known ranges, then /proc/self/maps. */
static MW_COLD uint32_t module_by_range(uintptr_t pc, object_t *object, bool waits) {
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, i);
		if (is_loaded(module) && pc >= module->start && pc < module->limit && is_same(i)) {
			object->start = module->start;
			object->limit = module->limit;
			return i;
		}
	}
	maps_search_t search = {.pc = pc, .object = object};
	return find_in_maps(&search) ? module_of(object, pc, waits) : NO_MODULE;
}

/* ---- encoding ---- */

/* A range of addresses whose frames have the same module and bias. */
typedef struct span {
	uintptr_t start, bytes; /* start + bytes: the first address behind the range */
	/* module: index + 1, shifted as in a frame. Without a module, bias and module are 0. */
	uint64_t bias, module;
	bool permanent;
} span_t;

static uint32_t find_module(uintptr_t pc, object_t *object, bool waits) {
	if (!has_find_object())
		return module_by_range(pc, object, waits);
	return find_object(pc, object, true) ? module_of(object, pc, waits) : NO_MODULE;
}

static void find_span(uintptr_t pc, span_t *span, bool waits) {
	/* The calling stack uses the object, so the object cannot be unloaded during this call. */
	object_t object = {.start = pc, .limit = pc + 1};
	uint32_t module = NO_MODULE, segment;
	segment = mw_os_object_permanent(pc, &object.start, &object.limit);
	if (segment == MW_OS_NOT_PERMANENT) {
		module = find_module(pc, &object, waits);
	} else {
		/* Pairs with the release below: the module's entry is complete. */
		uint32_t known =
			atomic_load_explicit(&modules.permanent[segment], memory_order_acquire);
		object_t found = {.start = pc, .limit = pc + 1};
		module = MW_LIKELY(known != 0) ? known - 1 : find_module(pc, &found, waits);
		if (known == 0 && module != NO_MODULE)
			atomic_store_explicit(&modules.permanent[segment], module + 1,
					      memory_order_release);
	}
	*span = (span_t){.start = object.start, .bytes = object.limit - object.start};
	if (module != NO_MODULE) {
		const mw_state_module_t *entry = mw_store_private(MW_SECTION_MODULES, module);
		span->bias = entry->bias;
		span->module = (uint64_t)(module + 1) << MW_FRAME_MODULE_SHIFT;
		span->permanent = segment != MW_OS_NOT_PERMANENT;
	}
}

/* The latest spans of one stack. */
typedef struct spans {
	span_t recent[RECENT];
	unsigned count;
	bool waits; /* as module_of() */
} spans_t;

static const span_t *span_of(spans_t *spans, uintptr_t pc) {
	unsigned held = spans->count < RECENT ? spans->count : RECENT;
	for (unsigned i = 0; i < held; i++)
		if (pc - spans->recent[i].start < spans->recent[i].bytes)
			return &spans->recent[i];
	span_t *span = &spans->recent[spans->count++ % RECENT];
	find_span(pc, span, spans->waits);
	return span;
}

/* ---- interface ---- */

static MW_NOINLINE bool encode(uint64_t *frames, unsigned depth, bool waits) {
	static const span_t none;
	const span_t *span = &none;
	spans_t spans;
	spans.count = 0;
	spans.waits = waits;
	bool permanent = true;
	for (unsigned i = 0; i < depth; i++) {
		uint64_t exact = frames[i] & MW_FRAME_EXACT, pc = frames[i] & ~MW_FRAME_EXACT;
		/* A return address may lie behind the object's last instruction. */
		uintptr_t inside = exact ? pc : pc - 1;
		/* Neighbouring frames are often of the same object. */
		if (MW_UNLIKELY(inside - span->start >= span->bytes)) {
			span = span_of(&spans, inside);
			permanent &= span->permanent;
		}
		frames[i] = exact | span->module | ((pc - span->bias) & MW_FRAME_ADDRESS_MASK);
	}
	return permanent;
}

bool mw_modules_encode(uint64_t *frames, unsigned depth) {
	return encode(frames, depth, true);
}

bool mw_modules_encode_at_once(uint64_t *frames, unsigned depth) {
	return encode(frames, depth, false);
}

MW_COLD void mw_modules_check(void) {
	if (!has_find_object())
		return;
	mw_lock_acquire(&modules.lock, MW_RANK_MODULES);
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, i);
		if (!link_map_of(i) || !is_loaded(module))
			continue;
		/* Only compared: the object may be unloaded at any time. */
		object_t now;
		uintptr_t start = modules.objects[i].start;
		if (!find_object(start, &now, false) || now.start != start ||
		    now.link_map != link_map_of(i) || now.eh_frame != modules.objects[i].eh_frame)
			mark_unloaded(i);
	}
	mw_lock_release(&modules.lock, MW_RANK_MODULES);
}

MW_COLD void mw_modules_check_if_due(uint64_t now_ns) {
	uint64_t due = atomic_load_explicit(&modules.check_ns, memory_order_relaxed);
	if (now_ns >= due &&
	    atomic_compare_exchange_strong_explicit(&modules.check_ns, &due, now_ns + CHECK_NS,
						    memory_order_relaxed, memory_order_relaxed))
		mw_modules_check();
}

MW_COLD void mw_modules_fork_prepare(void) {
	if (MW_UNLIKELY(mw_os_object_table_generation() != 0))
		modules.had_threads = mw_os_thread_count() != 1;
}

void mw_modules_forked(void) {
	/* The prepare handler has quiesced the tables, so that no thread holds this lock. If it
	 * timed out instead, the table is still valid: only entries below modules_used count. */
	atomic_store_explicit(&modules.lock.state, 0, memory_order_relaxed);
	mw_os_object_table_forked(modules.had_threads);
}
