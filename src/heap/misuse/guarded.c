/* SPDX-License-Identifier: MIT
 * guarded.c -- the pool of guarded slots: page 2 i + 1 of the pool is slot i's, all others are
 * guards. */
#include "heap/misuse/guarded.h"

#include <string.h>

#include "base/bits.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/misuse/guarded_slot.h"
#include "heap/misuse/misuse.h"
#include "os/file/file.h"
#include "os/file/proc_maps.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/time/clock.h"

/* The pool takes one entry of the address map.  A free slot holds no memory, so nothing else bounds
 * their number; 511 freed blocks wait before the first slot is used again. */
#define POOL_BYTES MW_CHUNK_BYTES
#define SLOTS ((unsigned)(POOL_BYTES / MW_OS_PAGE_BYTES / 2) - 1)
/* One block in four begins at its page's start, where an underflow is seen at once; the others end
 * at the page's end, where an overflow is. */
#define AT_START_EVERY 4u
/* Without marks for guard pages, the pool takes one in so many of the mappings that a process may
 * have: 255 slots with the kernel's default of 65,530. */
#define MAPPINGS_SHARE 128u
/* Fill of the bytes around a block in its page. */
#define FILL 0xfd

static struct {
	mw_lock_t lock;
	mw_guarded_config_t config; /* every == 0: there is no pool */
	char *base;
	mw_guarded_slot_t *slots;
	/* true: guard pages need no mappings of their own. */
	bool has_marks;
	unsigned slot_count; /* that are used, of SLOTS */
	_Atomic uint64_t samples, due_ns;
	/* Under the lock. */
	unsigned fresh; /* slots from here on were never used */
	uint16_t freed[SLOTS];
	unsigned freed_first, freed_count;
	uint64_t live, taken;
} pool;

static void lock_pool(void) {
	mw_lock_acquire(&pool.lock, MW_RANK_GUARDED);
}

static void unlock_pool(void) {
	mw_lock_release(&pool.lock, MW_RANK_GUARDED);
}

static char *page_of_slot(unsigned slot) {
	return pool.base + (size_t)(2 * slot + 1) * mw_os_page_bytes();
}

static bool was_used(const mw_guarded_slot_t *slot) {
	return atomic_load_explicit(&slot->state, memory_order_relaxed) != MW_GUARDED_UNUSED;
}

/* Returns the slot that an address of the pool belongs to; for a guard page the nearer of its two
 * neighbours that were ever used.  NULL: none. */
static mw_guarded_slot_t *slot_near(uintptr_t address) {
	size_t offset = address - (uintptr_t)pool.base;
	size_t page = offset / mw_os_page_bytes();
	if (page % 2 == 1) {
		mw_guarded_slot_t *slot = &pool.slots[page / 2];
		return page / 2 < SLOTS && was_used(slot) ? slot : NULL;
	}
	size_t before = page / 2 - 1, after = page / 2; /* before: huge for the first page */
	bool has_before = page > 0 && before < SLOTS && was_used(&pool.slots[before]);
	bool has_after = after < SLOTS && was_used(&pool.slots[after]);
	bool is_near_after = offset % mw_os_page_bytes() >= mw_os_page_bytes() / 2;
	if (has_after && (is_near_after || !has_before))
		return &pool.slots[after];
	return has_before ? &pool.slots[before] : NULL;
}

static void look_at_fault(uintptr_t address, mw_os_access_t access) {
	if (address - (uintptr_t)pool.base >= POOL_BYTES)
		return;
	const mw_guarded_slot_t *slot = slot_near(address);
	if (slot)
		mw_guarded_report_access(&pool.config, slot, address, access);
}

/* A slot that is open takes two mappings where guard pages are parts of mappings; a program with
 * many mappings comes to the kernel's limit. */
static unsigned slots_of(bool has_marks) {
	const unsigned room = (unsigned)(POOL_BYTES / mw_os_page_bytes() / 2) - 1;
	unsigned slots = has_marks ? room : mw_os_mappings_max() / MAPPINGS_SHARE / 2;
	return slots < room ? slots : room;
}

static bool guard_pool(char *base) {
	pool.has_marks = mw_os_guard(base, POOL_BYTES);
	pool.slot_count = slots_of(pool.has_marks);
	return pool.has_marks || mw_os_protect_none(base, POOL_BYTES);
}

static bool open_page(char *page) {
	return pool.has_marks ? mw_os_unguard(page, mw_os_page_bytes())
			      : mw_os_open_range(page, mw_os_page_bytes());
}

/* If the kernel refuses, later uses of the block are not found. */
static void close_page(char *page) {
	if (pool.has_marks && mw_os_guard(page, mw_os_page_bytes()))
		return;
	mw_os_purge(page, mw_os_page_bytes());
	if (!pool.has_marks)
		mw_os_protect_none(page, mw_os_page_bytes());
}

bool mw_guarded_start(const mw_guarded_config_t *config) {
	char *base = mw_os_map_aligned(POOL_BYTES, MW_CHUNK_BYTES);
	size_t slots_bytes = mw_round_up(SLOTS * sizeof(mw_guarded_slot_t), MW_OS_PAGE_BYTES);
	mw_guarded_slot_t *slots = mw_os_map(slots_bytes);
	pool.base = base;
	if (!base || !slots || (uintptr_t)base >> MW_ADDRESS_BITS || !guard_pool(base) ||
	    !mw_os_segv_start(look_at_fault)) {
		if (base)
			mw_os_unmap(base, POOL_BYTES);
		if (slots)
			mw_os_unmap(slots, slots_bytes);
		pool.base = NULL;
		return false;
	}
	pool.slots = slots;
	pool.config = *config;
	__atomic_store_n(&mw_address_map[(uintptr_t)base >> MW_CHUNK_SHIFT], MW_MAP_GUARDED,
			 __ATOMIC_RELAXED);
	return true;
}

/* Under the lock: returns a slot that holds no block; SLOTS: all hold one. */
static unsigned take_slot(void) {
	if (pool.fresh < pool.slot_count)
		return pool.fresh++;
	if (pool.freed_count == 0)
		return SLOTS;
	unsigned slot = pool.freed[pool.freed_first];
	pool.freed_first = (pool.freed_first + 1) % SLOTS;
	pool.freed_count--;
	return slot;
}

/* Under the lock. */
static void keep_freed(unsigned slot) {
	pool.freed[(pool.freed_first + pool.freed_count++) % SLOTS] = (uint16_t)slot;
}

/* Relaxed: it does not matter which samples are guarded. */
static bool is_due(void) {
	uint64_t sample = atomic_fetch_add_explicit(&pool.samples, 1, memory_order_relaxed);
	if (sample % pool.config.every != 0)
		return false;
	if (pool.config.gap_ns == 0)
		return true;
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	uint64_t due_ns = atomic_load_explicit(&pool.due_ns, memory_order_relaxed);
	return now_ns >= due_ns && atomic_compare_exchange_strong_explicit(
					   &pool.due_ns, &due_ns, now_ns + pool.config.gap_ns,
					   memory_order_relaxed, memory_order_relaxed);
}

static MW_NOINLINE void *take_guarded(size_t class_bytes, size_t requested_bytes) {
	if (class_bytes > mw_os_page_bytes() || !is_due())
		return NULL;
	mw_guarded_stack_t stack;
	mw_guarded_take_stack(&pool.config, &stack, false);
	lock_pool();
	unsigned number = take_slot();
	char *page = number < SLOTS ? page_of_slot(number) : NULL;
	if (page && !open_page(page)) {
		keep_freed(number);
		page = NULL;
	}
	if (!page) {
		unlock_pool();
		return NULL;
	}
	mw_os_segv_renew();
	mw_guarded_slot_t *slot = &pool.slots[number];
	bool at_start = pool.taken++ % AT_START_EVERY == AT_START_EVERY - 1;
	/* The block starts as if it had its class's size and ended with the page: it is aligned as
	 * its class. */
	slot->block = at_start ? page : page + mw_os_page_bytes() - class_bytes;
	slot->bytes = requested_bytes ? requested_bytes : 1;
	slot->class_bytes = class_bytes;
	slot->record = 0;
	slot->allocated = stack;
	atomic_store_explicit(&slot->state, MW_GUARDED_LIVE, memory_order_relaxed);
	pool.live++;
	unlock_pool();
	memset(page, FILL, mw_os_page_bytes());
	return slot->block;
}

/* Only the test of `every` runs for each sample in every process. */
void *mw_guarded_take(size_t class_bytes, size_t requested_bytes) {
	return MW_UNLIKELY(pool.config.every != 0) ? take_guarded(class_bytes, requested_bytes)
						   : NULL;
}

/* Under the lock: returns the slot of a live block.  If `block` is not a live block, releases the
 * lock and ends the program. */
static mw_guarded_slot_t *find_or_die(const char *function, const void *block, bool is_free) {
	mw_guarded_slot_t *slot = slot_near((uintptr_t)block);
	if (slot && slot->block == block &&
	    atomic_load_explicit(&slot->state, memory_order_relaxed) == MW_GUARDED_LIVE)
		return slot;
	unlock_pool();
	if (slot && slot->block == block)
		mw_guarded_report_freed(&pool.config, slot, function, is_free);
	mw_guarded_report_misaligned(&pool.config, slot, function, block);
}

void mw_guarded_bind(void *block, mw_record_id_t record) {
	lock_pool();
	find_or_die("malloc", block, false)->record = record;
	unlock_pool();
}

MW_COLD mw_record_id_t mw_guarded_record(const void *address) {
	lock_pool();
	const mw_guarded_slot_t *slot = slot_near((uintptr_t)address);
	bool is_live = slot && slot->block == address &&
		       atomic_load_explicit(&slot->state, memory_order_relaxed) == MW_GUARDED_LIVE;
	mw_record_id_t record = is_live ? slot->record : 0;
	unlock_pool();
	return record;
}

/* Returns the first byte of [start, end) that differs from the fill; NULL: none does. */
static const char *find_changed(const char *start, const char *end) {
	for (; start < end; start++)
		if ((unsigned char)*start != FILL)
			return start;
	return NULL;
}

static void check_surroundings(const mw_guarded_slot_t *slot, const char *page) {
	const char *changed = find_changed(slot->block + slot->bytes, page + mw_os_page_bytes());
	if (!changed)
		changed = find_changed(page, slot->block);
	if (changed)
		mw_guarded_report_changed(&pool.config, slot, changed);
}

mw_record_id_t mw_guarded_give(void *block, size_t *class_bytes) {
	mw_guarded_stack_t stack;
	mw_guarded_take_stack(&pool.config, &stack, false);
	lock_pool();
	mw_guarded_slot_t *slot = find_or_die(mw_misuse_function(), block, true);
	unsigned number = (unsigned)(slot - pool.slots);
	char *page = page_of_slot(number);
	mw_record_id_t record = slot->record;
	*class_bytes = slot->class_bytes;
	slot->freed = stack;
	atomic_store_explicit(&slot->state, MW_GUARDED_FREED, memory_order_relaxed);
	pool.live--;
	unlock_pool();
	/* No other thread gets the slot yet. */
	check_surroundings(slot, page);
	close_page(page);
	lock_pool();
	keep_freed(number);
	unlock_pool();
	return record;
}

size_t mw_guarded_usable_bytes(const char *function, const void *block) {
	lock_pool();
	size_t bytes = find_or_die(function, block, false)->bytes;
	unlock_pool();
	return bytes;
}

MW_COLD size_t mw_guarded_class_bytes(const char *function, const void *block) {
	lock_pool();
	size_t bytes = find_or_die(function, block, false)->class_bytes;
	unlock_pool();
	return bytes;
}

void mw_guarded_visit_live(void (*visit)(uintptr_t start, size_t bytes)) {
	for (unsigned i = 0; pool.base && i < SLOTS; i++)
		if (atomic_load_explicit(&pool.slots[i].state, memory_order_relaxed) ==
		    MW_GUARDED_LIVE)
			visit((uintptr_t)pool.slots[i].block, pool.slots[i].class_bytes);
}

void mw_guarded_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit)) {
	if (!pool.slots)
		return;
	visit((uintptr_t)pool.slots, (uintptr_t)(pool.slots + SLOTS));
	visit((uintptr_t)pool.base, (uintptr_t)pool.base + POOL_BYTES);
}

mw_guarded_stats_t mw_guarded_stats(void) {
	lock_pool();
	mw_guarded_stats_t stats = {.live = pool.live, .taken = pool.taken};
	unlock_pool();
	return stats;
}

void mw_guarded_fork_prepare(void) {
	mw_lock_fork_acquire(&pool.lock);
}

void mw_guarded_fork_release(bool in_child) {
	mw_lock_fork_release(&pool.lock, in_child);
}
