/* SPDX-License-Identifier: MIT
 * huge.c -- huge blocks. */
#include "heap/large/huge.h"

#include "base/bits.h"
#include "base/check.h"
#include "heap/arena/arena.h"
#include "heap/large/huge_table.h"
#include "heap/large/range_cache.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/memory/harden_space.h"
#include "heap/memory/limit.h"
#include "heap/misuse/misuse.h"
#include "os/lock/lock.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "state/stats.h"

/* Freed ranges are kept as long as the bytes in them and in live blocks are at most 5/4 of the most
 * bytes that were live at once a moment ago, plus CACHE_MIN_BYTES.  Blocks of 5 to 25 MiB that
 * replace each other at random leave a third of the memory in ranges that fit none of the next
 * blocks. */
#define CACHE_MIN_BYTES ((size_t)16 << 20)
/* Ranges are unmapped before their time only when their bytes exceed the live bytes by this factor.
 */
#define EARLY_FACTOR 2
/* Ranges that mremap(2) is tried on before fresh memory is mapped.  It refuses ranges of several
 * mappings, which the kernel does not join once one of them was moved. */
#define GROW_TRIES 8
/* Freed blocks remembered for the message of a double free. */
#define FREED_PLACES 32

typedef struct freed {
	const void *base;
	size_t bytes;
} freed_t;

static struct {
	mw_lock_t lock;
	mw_huge_table_t table;
	mw_range_cache_t cache;
	mw_harden_budget_t close_budget;
	freed_t freed[FREED_PLACES]; /* ring */
	unsigned freed_next;
	_Atomic size_t live_bytes;
	size_t most_blocks, most_bytes; /* most that were live at once */
	/* Most bytes live at once in the running purge delay, and in the one before. */
	size_t high_bytes, high_before_bytes;
	uint64_t high_end_ns;
	_Atomic uint64_t next_due_ns;
	mw_decay_t decay;
} huge = {.decay = {.delay_ns = MW_DECAY_DEFAULT_NS, .early = true}, .next_due_ns = UINT64_MAX};

static void lock_huge(void) {
	mw_lock_acquire(&huge.lock, MW_RANK_HUGE);
}

static void unlock_huge(void) {
	mw_lock_release(&huge.lock, MW_RANK_HUGE);
}

/* Under the lock: enters the block into table and address map.  False: no memory. */
static bool publish(char *base, size_t bytes, uint32_t arena) {
	mw_huge_block_t block = {(uintptr_t)base, bytes, 0, arena};
	if (!mw_huge_table_insert(&huge.table, &block))
		return false;
	for (unsigned i = 0; i < FREED_PLACES; i++)
		if (huge.freed[i].base == base)
			huge.freed[i].base = NULL;
	__atomic_store_n(&mw_address_map[(uintptr_t)base >> MW_CHUNK_SHIFT], MW_MAP_HUGE,
			 __ATOMIC_RELAXED);
	size_t live_bytes =
		atomic_fetch_add_explicit(&huge.live_bytes, bytes, memory_order_relaxed) + bytes;
	if (live_bytes > huge.most_bytes)
		huge.most_bytes = live_bytes;
	if (huge.table.count > huge.most_blocks)
		huge.most_blocks = huge.table.count;
	return true;
}

/* Grows a range that is too small by mremap(2), so that only the missing bytes are new; tries the
 * largest range first.  NULL: none could be grown. */
static char *grow_cached(size_t bytes, bool *closed) {
	mw_range_t refused[GROW_TRIES];
	unsigned count = 0;
	size_t fresh_bytes = bytes;
	char *base = NULL;
	lock_huge();
	while (!base && count < GROW_TRIES &&
	       mw_range_cache_take_largest(&huge.cache, bytes / 8, &refused[count])) {
		unlock_huge();
		base = mw_os_remap(refused[count].base, refused[count].bytes, bytes, true);
		if (base) {
			fresh_bytes -= refused[count].bytes;
			*closed = refused[count].is_closed;
		} else {
			count++;
		}
		lock_huge();
	}
	mw_decay_missed(&huge.decay, fresh_bytes);
	mw_range_t lost[GROW_TRIES];
	unsigned lost_count = 0;
	for (unsigned i = 0; i < count; i++)
		if (!mw_range_cache_put(&huge.cache, &refused[i], SIZE_MAX))
			lost[lost_count++] = refused[i];
	unlock_huge();
	for (unsigned i = 0; i < lost_count; i++)
		mw_os_unmap(lost[i].base, lost[i].bytes);
	return base;
}

/* Takes a kept range, which needs no page fault.  NULL: none fits. */
static char *take_cached(size_t bytes, size_t align) {
	bool closed = false;
	lock_huge();
	char *base = mw_range_cache_take(&huge.cache, bytes, align, &closed);
	if (base)
		mw_decay_reused(&huge.decay, huge.cache.total_bytes);
	unlock_huge();
	if (!base && align == mw_os_page_bytes())
		base = grow_cached(bytes, &closed);
	if (base && closed && !mw_harden_open(base, bytes)) {
		mw_os_unmap(base, bytes);
		return NULL;
	}
	return base;
}

static void purge_if_due(void) {
	if (!mw_background_is_running())
		mw_huge_purge(false);
}

/* A program's function may return memory that is a huge block of this heap already.  Such a block
 * is not entered twice. */
static char *map_in_arena(mw_arena_t *arena, size_t bytes, size_t align, bool *zeroed) {
	char *base = mw_arena_map(arena, bytes, align, zeroed);
	if (!base)
		return NULL;
	lock_huge();
	bool published = !mw_huge_table_find(&huge.table, (uintptr_t)base) &&
			 publish(base, bytes, arena->number);
	unlock_huge();
	if (published)
		return base;
	mw_arena_unmap(arena->number, base, bytes);
	return NULL;
}

/* A heap that is smaller asks for no huge pages. */
#define HUGE_PAGES_FROM_BYTES ((size_t)32 << 20)

/* A block that is filled from its start leaves the end of one huge page unused.  A block of which
 * the program uses pieces may become resident whole: it is smaller than the rest of the heap. */
static mw_os_huge_pages_use_t use_of(size_t bytes) {
	size_t heap_bytes = mw_chunk_in_use_bytes() + mw_huge_live_bytes();
	return !MW_HARDEN_ON && heap_bytes >= HUGE_PAGES_FROM_BYTES && bytes <= heap_bytes
		       ? MW_OS_HUGE_PAGES_ALL
		       : MW_OS_HUGE_PAGES_UNKNOWN;
}

static char *map_block(size_t bytes, size_t align, bool *zeroed) {
	purge_if_due();
	char *base = take_cached(bytes, align);
	*zeroed = base == NULL;
	if (!base) {
		size_t huge_align = mw_os_huge_pages_align(bytes);
		if (align < huge_align)
			align = huge_align;
		base = mw_os_map_aligned(bytes, align);
		/* Address space may be short: unmap kept ranges and free chunks. */
		if (!base && mw_huge_purge(true) > 0)
			base = mw_os_map_aligned(bytes, align);
		if (!base && mw_chunk_unmap_free() > 0)
			base = mw_os_map_aligned(bytes, align);
		if (base)
			mw_os_huge_pages_advise(base, bytes, use_of(bytes));
	}
	if (!base || (uintptr_t)base >> MW_ADDRESS_BITS)
		return NULL;
	mw_background_heap_grew();
	lock_huge();
	bool published = publish(base, bytes, 0);
	unlock_huge();
	if (published)
		return base;
	mw_os_unmap(base, bytes);
	return NULL;
}

void *mw_huge_alloc(mw_arena_t *arena, size_t bytes, size_t align, size_t *usable_bytes,
		    bool *zeroed) {
	if (bytes > (size_t)PTRDIFF_MAX - MW_OS_PAGE_MAX_BYTES)
		return NULL;
	bytes = mw_os_whole_pages(bytes);
	if (align < mw_os_page_bytes())
		align = mw_os_page_bytes();
	bool counted;
	if (!mw_limit_begin(bytes, &counted))
		return NULL;
	*usable_bytes = bytes;
	char *base = MW_UNLIKELY(arena != NULL) ? map_in_arena(arena, bytes, align, zeroed)
						: map_block(bytes, align, zeroed);
	mw_limit_end(bytes, counted);
	return base;
}

/* Under the lock: finds the block; ends the program when it is not there. */
static mw_huge_block_t *find_or_die(const char *function, const void *block) {
	mw_huge_block_t *found = mw_huge_table_find(&huge.table, (uintptr_t)block);
	if (found && block)
		return found;
	for (unsigned i = 0; i < FREED_PLACES; i++)
		if (huge.freed[i].base == block)
			mw_misuse_double_free_huge(function, block, huge.freed[i].bytes);
	mw_misuse_foreign(function, block);
}

void mw_huge_set_record(void *block, mw_record_id_t record) {
	lock_huge();
	find_or_die("malloc", block)->record = record;
	unlock_huge();
}

/* Under the lock: most bytes live at once in this purge delay and the one before. */
static size_t recent_high_bytes(void) {
	return huge.high_bytes > huge.high_before_bytes ? huge.high_bytes : huge.high_before_bytes;
}

/* Under the lock, before a live block is freed. */
static void note_high(uint64_t now_ns) {
	size_t live_bytes = mw_huge_live_bytes();
	if (now_ns >= huge.high_end_ns) {
		bool next = now_ns - huge.high_end_ns < huge.decay.delay_ns;
		huge.high_before_bytes = next ? huge.high_bytes : 0;
		huge.high_bytes = 0;
		huge.high_end_ns = now_ns + huge.decay.delay_ns;
	}
	if (huge.high_bytes < live_bytes)
		huge.high_bytes = live_bytes;
}

/* Under the lock.  False: the range is not kept. */
static bool keep(char *base, size_t bytes, uint64_t now_ns) {
	if (huge.decay.delay_ns == 0)
		return false;
	bool closed = mw_harden_may_close(&huge.close_budget, bytes, now_ns);
	if (closed && !mw_harden_close(base, bytes))
		return false;
	size_t high_bytes = recent_high_bytes();
	mw_range_t range = {base, bytes, now_ns + huge.decay.delay_ns, closed};
	if (!mw_range_cache_put(&huge.cache, &range,
				CACHE_MIN_BYTES + high_bytes + high_bytes / 4 -
					mw_huge_live_bytes()))
		return false;
	if (range.due_ns < atomic_load_explicit(&huge.next_due_ns, memory_order_relaxed))
		atomic_store_explicit(&huge.next_due_ns, range.due_ns, memory_order_relaxed);
	return true;
}

/* Unmaps kept ranges that the program does not seem to need, in the order in which they are due. */
static void unmap_early(void) {
	if (mw_background_is_running())
		return;
	lock_huge();
	size_t excess = mw_decay_excess_bytes(&huge.decay, huge.cache.total_bytes,
					      EARLY_FACTOR * mw_huge_live_bytes()),
	       gone = 0;
	mw_range_t range;
	while (gone < excess && mw_range_cache_take_oldest(&huge.cache, &range)) {
		unlock_huge();
		mw_os_unmap(range.base, range.bytes);
		gone += range.bytes;
		lock_huge();
	}
	if (gone > 0)
		mw_decay_went_early(&huge.decay, gone, mw_os_monotonic_coarse_ns());
	unlock_huge();
}

mw_huge_block_t mw_huge_free(void *block) {
	lock_huge();
	mw_huge_block_t *found = find_or_die(mw_misuse_function(), block), freed = *found;
	mw_huge_table_remove(&huge.table, found);
	huge.freed[huge.freed_next++ % FREED_PLACES] = (freed_t){block, freed.bytes};
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	note_high(now_ns);
	atomic_fetch_sub_explicit(&huge.live_bytes, freed.bytes, memory_order_relaxed);
	bool kept = freed.arena == 0 && keep(block, freed.bytes, now_ns);
	unlock_huge();
	if (freed.arena)
		mw_arena_unmap(freed.arena, block, freed.bytes);
	else if (!kept)
		mw_os_unmap(block, freed.bytes);
	else
		mw_background_notify();
	unmap_early();
	purge_if_due();
	return freed;
}

size_t mw_huge_bytes(const char *function, const void *block) {
	lock_huge();
	size_t bytes = find_or_die(function, block)->bytes;
	unlock_huge();
	return bytes;
}

uint32_t mw_huge_arena(const void *block) {
	lock_huge();
	uint32_t arena = find_or_die(mw_misuse_function(), block)->arena;
	unlock_huge();
	return arena;
}

bool mw_huge_find(const void *address, mw_huge_block_t *block) {
	lock_huge();
	const mw_huge_block_t *found = mw_huge_table_find(&huge.table, (uintptr_t)address);
	if (found)
		*block = *found;
	unlock_huge();
	return found != NULL;
}

bool mw_huge_next_of_arena(uint32_t arena, uintptr_t after, mw_huge_block_t *block) {
	bool found = false;
	lock_huge();
	for (size_t i = 0; i < huge.table.capacity; i++) {
		const mw_huge_block_t *place = &huge.table.places[i];
		if (place->base > after && place->arena == arena &&
		    (!found || place->base < block->base)) {
			*block = *place;
			found = true;
		}
	}
	unlock_huge();
	return found;
}

bool mw_huge_take_of_arena(uint32_t arena, mw_huge_block_t *block) {
	lock_huge();
	mw_huge_block_t *found = NULL;
	for (size_t i = 0; i < huge.table.capacity && !found; i++)
		if (huge.table.places[i].base && huge.table.places[i].arena == arena)
			found = &huge.table.places[i];
	if (found) {
		*block = *found;
		mw_huge_table_remove(&huge.table, found);
		atomic_fetch_sub_explicit(&huge.live_bytes, block->bytes, memory_order_relaxed);
	}
	unlock_huge();
	return found != NULL;
}

static void *resize(void *block, size_t new_bytes, mw_record_id_t *record) {
	/* The lock is held over mremap(2): once the block has moved, another thread may map memory
	 * at its old address. */
	lock_huge();
	mw_huge_block_t old = *find_or_die("realloc", block);
	char *moved = old.arena ? NULL : mw_os_remap(block, old.bytes, new_bytes, true);
	if (moved && (uintptr_t)moved >> MW_ADDRESS_BITS)
		mw_fatal("mremap went beyond %u bits of address: %p", MW_ADDRESS_BITS,
			 (void *)moved);
	if (!moved) {
		unlock_huge();
		return NULL;
	}
	mw_huge_table_remove(&huge.table, mw_huge_table_find(&huge.table, old.base));
	atomic_fetch_sub_explicit(&huge.live_bytes, old.bytes, memory_order_relaxed);
	/* The table has room: it just lost a block. */
	publish(moved, new_bytes, 0);
	unlock_huge();
	*record = old.record;
	return moved;
}

/* Returns whether mremap(2) was refused because there is no address space.  It also refuses blocks
 * of several mappings. */
static bool is_space_short(const void *block, size_t new_bytes) {
	size_t old_bytes = mw_huge_bytes("realloc", block);
	if (new_bytes <= old_bytes || mw_huge_arena(block))
		return false;
	void *probe = mw_os_map(new_bytes - old_bytes);
	if (probe)
		mw_os_unmap(probe, new_bytes - old_bytes);
	return probe == NULL;
}

void *mw_huge_resize(void *block, size_t bytes, size_t *usable_bytes, mw_record_id_t *record) {
	if (bytes > (size_t)PTRDIFF_MAX - MW_OS_PAGE_MAX_BYTES)
		return NULL;
	size_t new_bytes = mw_os_whole_pages(bytes), growth_bytes = 0;
	bool counted = false;
	if (mw_limit_is_set()) {
		size_t old_bytes = mw_huge_bytes("realloc", block);
		growth_bytes = new_bytes > old_bytes ? new_bytes - old_bytes : 0;
		if (growth_bytes > 0 && !mw_limit_begin(growth_bytes, &counted))
			return NULL;
	}
	void *moved = resize(block, new_bytes, record);
	if (!moved && is_space_short(block, new_bytes) &&
	    mw_huge_purge(true) + mw_chunk_unmap_free() > 0)
		moved = resize(block, new_bytes, record);
	mw_limit_end(growth_bytes, counted);
	*usable_bytes = new_bytes;
	return moved;
}

/* Unmaps some of the ranges that are due. Returns how many, and adds up their bytes. */
static unsigned purge_some(bool all, uint64_t now_ns, size_t *total) {
	mw_range_t gone[MW_RANGE_CACHE_GONE];
	uint64_t next_ns;
	lock_huge();
	unsigned count = mw_range_cache_expire(&huge.cache, now_ns, all, gone, &next_ns);
	atomic_store_explicit(&huge.next_due_ns, next_ns, memory_order_relaxed);
	for (unsigned i = 0; i < count && !all; i++)
		mw_decay_went_late(&huge.decay, gone[i].bytes);
	unlock_huge();
	for (unsigned i = 0; i < count; i++) {
		mw_os_unmap(gone[i].base, gone[i].bytes);
		*total += gone[i].bytes;
	}
	return count;
}

size_t mw_huge_purge(bool all) {
	/* Relaxed: a purge may be late. */
	uint64_t due_ns = atomic_load_explicit(&huge.next_due_ns, memory_order_relaxed);
	if (due_ns == UINT64_MAX)
		return 0;
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	if (!all && now_ns < due_ns)
		return 0;
	size_t total = 0;
	while (purge_some(all, now_ns, &total) == MW_RANGE_CACHE_GONE)
		continue;
	return total;
}

void mw_huge_set_decay(uint64_t delay_ns, bool early) {
	lock_huge();
	huge.decay.delay_ns = delay_ns;
	huge.decay.early = early;
	unlock_huge();
}

void mw_huge_set_keep_min_bytes(size_t bytes) {
	lock_huge();
	huge.decay.keep_min_bytes = bytes;
	unlock_huge();
}

uint64_t mw_huge_next_purge_ns(void) {
	return atomic_load_explicit(&huge.next_due_ns, memory_order_relaxed);
}

void mw_huge_stats(mw_huge_stats_t *stats) {
	lock_huge();
	*stats = (mw_huge_stats_t){
		.blocks = huge.table.count,
		.live_bytes = mw_huge_live_bytes(),
		.cached_bytes = huge.cache.total_bytes,
		.most_blocks = huge.most_blocks,
		.most_bytes = huge.most_bytes,
	};
	unlock_huge();
}

size_t mw_huge_cached_bytes(void) {
	return __atomic_load_n(&huge.cache.total_bytes, __ATOMIC_RELAXED);
}

size_t mw_huge_live_bytes(void) {
	return atomic_load_explicit(&huge.live_bytes, memory_order_relaxed);
}

size_t mw_heap_in_use_bytes(void) {
	return mw_chunk_in_use_bytes() + mw_huge_live_bytes() + mw_arena_in_use_bytes();
}

void mw_huge_visit(void (*visit)(uintptr_t start, uintptr_t limit, unsigned kind)) {
	lock_huge();
	for (size_t i = 0; i < huge.table.capacity; i++) {
		const mw_huge_block_t *block = &huge.table.places[i];
		if (block->base)
			visit(block->base, block->base + block->bytes, MW_RANGE_HUGE);
	}
	for (size_t i = 0; i < MW_RANGE_CACHE_PLACES; i++) {
		uintptr_t base = (uintptr_t)huge.cache.places[i].base;
		if (base)
			visit(base, base + huge.cache.places[i].bytes, MW_RANGE_HUGE_CACHED);
	}
	if (huge.table.places)
		visit((uintptr_t)huge.table.places,
		      (uintptr_t)(huge.table.places + huge.table.capacity), MW_RANGE_METADATA);
	unlock_huge();
}

mw_lock_t *mw_huge_lock(void) {
	return &huge.lock;
}

void mw_huge_fork_prepare(void) {
	mw_lock_fork_acquire(&huge.lock);
}

void mw_huge_fork_release(bool in_child) {
	mw_lock_fork_release(&huge.lock, in_child);
}
