/* SPDX-License-Identifier: MIT
 * modules.c -- the table of loaded objects. */
#include "prof/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/object.h"
#include "os/proc.h"
#include "prof/image.h"
#include "prof/journal.h"
#include "prof/module_elf.h"

/* Objects of one stack that are remembered while it is encoded: more than four are rare. */
#define RECENT 4u
/* As many as the modules section ever has (image.c). */
#define MODULES_MAX 4096u
#define NO_MODULE UINT32_MAX
#define MODULE(field) offsetof(mw_state_module_t, field)

/* Absent from C libraries other than glibc 2.35 and later. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* An object as it is found at one moment. */
typedef struct object {
	uintptr_t start, limit;
	const struct link_map *link_map; /* NULL: found in /proc/self/maps */
	uintptr_t eh_frame;
} object_t;

static struct {
	mw_lock_t lock;
	/* Of each segment of program start, once it was asked for: its module's number + 1.  Such
	 * objects are never unloaded, so the answer holds for good, also in a child. */
	_Atomic uint32_t permanent[MW_OS_PERMANENT_MAX];
	/* What is known of each module's object, together: few pages are touched. */
	struct {
		/* The mixed identity, by which it is recognised.  Written (release) after the
		 * entry.  0: none. */
		_Atomic uint64_t identity;
		/* The loader's entry, which differs when an object was loaded anew.  Changed under
		 * the lock; a stale value only leads there. */
		_Atomic(const struct link_map *) link_map;
		/* By which mw_modules_check() looks whether it is still there; under the lock. */
		uintptr_t start, eh_frame;
	} objects[MODULES_MAX];
	_Atomic uint32_t generation; /* relaxed: who changes it is in the reader's turn, or late */
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

static uint64_t mix(uint64_t hash, uint64_t value) {
	unsigned __int128 product = (unsigned __int128)(hash ^ value) * 0x9e3779b97f4a7c15u;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Addresses alone are not enough: another object may come to lie at the same place.  The ELF
 * header, which holds the offsets of the object's tables, tells most of them apart, see
 * is_still_there(). */
static uint64_t identity_of(const object_t *object) {
	uint64_t hash = mix(object->start, object->limit);
	hash = mix(hash, object->eh_frame);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->start;
	if (mw_same_bytes(header->e_ident, ELFMAG, SELFMAG)) {
		hash = mix(hash, header->e_shoff);
		hash = mix(hash, header->e_entry ^ (uint64_t)header->e_shnum << 48);
	}
	if (object->link_map)
		hash = mix(hash, (uintptr_t)object->link_map->l_ld);
	return hash ? hash : 1;
}

/* ---- finding the object of a PC ---- */

typedef struct maps_search {
	uintptr_t pc;
	object_t *object;
	bool found;
	char path[sizeof((mw_state_module_t *)0)->path];
} maps_search_t;

static bool visit_mapping(void *context, const mw_os_mapping_t *mapping) {
	maps_search_t *search = context;
	object_t *object = search->object;
	/* The object's first mapping has the start of its file. */
	if (mapping->file_offset == 0 || strcmp(mapping->path, search->path) != 0) {
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

static bool find_object(uintptr_t pc, object_t *object) {
	struct dl_find_object found;
	/* Lock-free, by its documentation also in signal handlers. */
	if (_dl_find_object((void *)pc, &found) != 0)
		return false;
	object->start = (uintptr_t)found.dlfo_map_start;
	object->limit = (uintptr_t)found.dlfo_map_end;
	object->link_map = found.dlfo_link_map;
	object->eh_frame = (uintptr_t)found.dlfo_eh_frame;
	mw_os_object_widen(found.dlfo_link_map->l_addr, &object->start, &object->limit);
	return true;
}

/* ---- adding a module ---- */

static void set_path(const object_t *object, uintptr_t pc, mw_state_module_t *module) {
	const char *name = object->link_map ? object->link_map->l_name : NULL;
	if (name && name[0] == '\0' && mw_os_executable(module->path, sizeof module->path) > 0)
		return;
	/* Relative to a directory that may have changed since, the vdso, or not the loader's. */
	object_t mapped = {.start = 0};
	maps_search_t search = {.pc = pc, .object = &mapped};
	if ((!name || name[0] != '/') && find_in_maps(&search))
		name = search.path;
	mw_fmt(module->path, sizeof module->path, "%s", name ? name : "");
}

static void mark_unloaded(uint32_t index) {
	mw_twin_t twin = mw_image_twin(MW_SECTION_MODULES, index);
	mw_twin_set64(twin, MODULE(unloaded_ns), mw_os_realtime_ns());
	mw_journal_event(MW_EVENT_UNLOAD, index, 0);
	note_change();
}

static uint32_t modules_used(void) {
	return (uint32_t)atomic_load_explicit(&mw_image_live()->modules_used, memory_order_relaxed);
}

static bool is_loaded(const mw_state_module_t *module) {
	return atomic_load_explicit(&module->unloaded_ns, memory_order_relaxed) == 0;
}

/* Those that lie where the new one is now, are gone. */
static void unload_overlapping(uint64_t start, uint64_t limit) {
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_image_entry(MW_SECTION_MODULES, i);
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

static uint32_t add(const object_t *object, uint64_t identity, uintptr_t pc) {
	mw_state_module_t module = {0};
	if (!mw_module_read_elf(object->start, object->limit, &module)) {
		module = (mw_state_module_t){
			.start = object->start, .limit = object->limit, .bias = object->start};
	}
	set_path(object, pc, &module);
	module.loaded_ns = mw_os_realtime_ns();
	unload_overlapping(module.start, module.limit);
	/* The count says that an entry is complete, so it is raised after writing; adding is
	 * locked. */
	uint32_t index = modules_used();
	if (index >= MODULES_MAX || index >= MW_FRAME_MODULE_MAX - 1 ||
	    !mw_image_reach(MW_SECTION_MODULES, index)) {
		mw_image_set_flag(MW_STATE_MODULES_FULL);
		return NO_MODULE;
	}
	mw_twin_copy(mw_image_twin(MW_SECTION_MODULES, index), &module, sizeof module);
	atomic_store_explicit(&modules.objects[index].link_map, object->link_map,
			      memory_order_relaxed);
	modules.objects[index].start = object->start;
	modules.objects[index].eh_frame = object->eh_frame;
	/* Pairs with the acquire in recognise(). */
	atomic_store_explicit(&modules.objects[index].identity, identity, memory_order_release);
	mw_image_take(MW_SECTION_MODULES, 1);
	note_change();
	return index;
}

static const struct link_map *link_map_of(uint32_t index) {
	return atomic_load_explicit(&modules.objects[index].link_map, memory_order_relaxed);
}

/* A known object was unloaded, and one just like it loaded at its place: the same again, if the
 * build-id says so.  If not, the old entry is not recognised any more.  Under the lock. */
static bool is_still_there(uint32_t index, const object_t *object) {
	mw_state_module_t now = {0};
	const mw_state_module_t *then = mw_image_entry(MW_SECTION_MODULES, index);
	if (mw_module_read_elf(object->start, object->limit, &now) &&
	    now.build_id_bytes == then->build_id_bytes &&
	    mw_same_bytes(now.build_id, then->build_id, sizeof now.build_id)) {
		atomic_store_explicit(&modules.objects[index].link_map, object->link_map,
				      memory_order_relaxed);
		mw_twin_set64(mw_image_twin(MW_SECTION_MODULES, index), MODULE(unloaded_ns), 0);
		note_change();
		return true;
	}
	atomic_store_explicit(&modules.objects[index].identity, 0, memory_order_relaxed);
	return false;
}

static uint32_t module_of(const object_t *object, uintptr_t pc) {
	uint64_t identity = identity_of(object);
	uint32_t index = recognise(identity);
	if (MW_LIKELY(index != NO_MODULE && link_map_of(index) == object->link_map &&
		      is_loaded(mw_image_entry(MW_SECTION_MODULES, index))))
		return index;
	mw_lock_acquire(&modules.lock, MW_RANK_MODULES);
	index = recognise(identity);
	if (index == NO_MODULE || ((link_map_of(index) != object->link_map ||
				    !is_loaded(mw_image_entry(MW_SECTION_MODULES, index))) &&
				   !is_still_there(index, object)))
		index = add(object, identity, pc);
	mw_lock_release(&modules.lock, MW_RANK_MODULES);
	return index;
}

/* Without _dl_find_object: by the ranges known so far, then by /proc/self/maps.  An object that
 * took the place of another is then noticed only when their ranges differ. */
static uint32_t module_by_range(uintptr_t pc, object_t *object) {
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_image_entry(MW_SECTION_MODULES, i);
		if (is_loaded(module) && pc >= module->start && pc < module->limit) {
			object->start = module->start;
			object->limit = module->limit;
			return i;
		}
	}
	maps_search_t search = {.pc = pc, .object = object};
	return find_in_maps(&search) ? module_of(object, pc) : NO_MODULE;
}

/* ---- encoding ---- */

/* A range of addresses that are encoded alike. */
typedef struct span {
	uintptr_t start, bytes; /* start + bytes: the first address beyond */
	uint64_t bias, module;  /* the latter in its place in a frame; both 0 without a module */
	bool permanent;
} span_t;

static uint32_t find_module(uintptr_t pc, object_t *object) {
	if (!has_find_object())
		return module_by_range(pc, object);
	return find_object(pc, object) ? module_of(object, pc) : NO_MODULE;
}

static span_t find_span(uintptr_t pc) {
	/* The object is in use by this very stack, so it cannot go away meanwhile. */
	object_t object = {.start = pc, .limit = pc + 1};
	uintptr_t lo, hi;
	uint32_t module = NO_MODULE, segment = mw_os_object_permanent(pc, &lo, &hi);
	if (segment == MW_OS_NOT_PERMANENT) {
		module = find_module(pc, &object);
	} else {
		/* Pairs with the release below: the module's entry is complete. */
		uint32_t known =
			atomic_load_explicit(&modules.permanent[segment], memory_order_acquire);
		module = known ? known - 1 : find_module(pc, &object);
		object.start = lo;
		object.limit = hi;
		if (!known && module != NO_MODULE)
			atomic_store_explicit(&modules.permanent[segment], module + 1,
					      memory_order_release);
	}
	span_t span = {.start = object.start, .bytes = object.limit - object.start};
	if (module != NO_MODULE) {
		const mw_state_module_t *entry = mw_image_entry(MW_SECTION_MODULES, module);
		span.bias = entry->bias;
		span.module = (uint64_t)(module + 1) << MW_FRAME_MODULE_SHIFT;
		span.permanent = segment != MW_OS_NOT_PERMANENT;
	}
	return span;
}

/* The spans of one stack, the latest of which are kept. */
typedef struct spans {
	span_t recent[RECENT];
	unsigned count;
} spans_t;

static span_t span_of(spans_t *spans, uintptr_t pc) {
	unsigned held = spans->count < RECENT ? spans->count : RECENT;
	for (unsigned i = 0; i < held; i++)
		if (pc - spans->recent[i].start < spans->recent[i].bytes)
			return spans->recent[i];
	return spans->recent[spans->count++ % RECENT] = find_span(pc);
}

/* ---- the interface ---- */

bool mw_modules_encode(uint64_t *frames, unsigned depth) {
	spans_t spans;
	spans.count = 0;
	span_t span = {.bytes = 0};
	bool permanent = true;
	for (unsigned i = 0; i < depth; i++) {
		uint64_t exact = frames[i] & MW_FRAME_EXACT, pc = frames[i] & ~MW_FRAME_EXACT;
		/* A return address may lie behind the object's last instruction. */
		uintptr_t inside = exact ? pc : pc - 1;
		/* Neighbours are often of one object. */
		if (MW_UNLIKELY(inside - span.start >= span.bytes)) {
			span = span_of(&spans, inside);
			permanent &= span.permanent;
		}
		frames[i] = exact | span.module | ((pc - span.bias) & MW_FRAME_ADDRESS_MASK);
	}
	return permanent;
}

void mw_modules_check(void) {
	if (!has_find_object())
		return;
	mw_lock_acquire(&modules.lock, MW_RANK_MODULES);
	uint32_t count = modules_used();
	for (uint32_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_image_entry(MW_SECTION_MODULES, i);
		if (!link_map_of(i) || !is_loaded(module))
			continue;
		/* Only compared: nothing keeps the object from being unloaded right now. */
		object_t now;
		uintptr_t start = modules.objects[i].start;
		if (!find_object(start, &now) || now.start != start ||
		    now.link_map != link_map_of(i) || now.eh_frame != modules.objects[i].eh_frame)
			mark_unloaded(i);
	}
	mw_lock_release(&modules.lock, MW_RANK_MODULES);
}

void mw_modules_forked(void) {
	/* Prepare waited until nobody was inside the gate, where the lock is taken; should it have
	 * given up waiting, the table is still sound: entries count from modules_used on. */
	atomic_store_explicit(&modules.lock.state, 0, memory_order_relaxed);
}
