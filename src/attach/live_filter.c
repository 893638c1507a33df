/* SPDX-License-Identifier: MIT
 * live_filter.c -- an open-addressed table that doubles. A table that was replaced stays mapped,
 * because look-ups may still read it: all of those together are smaller than the last one. */
#include "attach/live_filter.h"

#include "os/file/proc.h"
#include "os/lock/futex.h"
#include "os/memory/map.h"

/* Entries of the first table: 64 KiB. */
#define FIRST_LOG2 12u
/* Tries to get the lock: it is held for less than a microsecond, or while a table doubles. */
#define TRIES 200u
/* Looks at a table that changes meanwhile, before the look-up takes the lock. */
#define LOOKS 16u

typedef struct entry {
	_Atomic uintptr_t address; /* 0: free */
	_Atomic uint32_t record;
} entry_t;

typedef struct table {
	unsigned log2;
	uint32_t live;
	entry_t entries[]; /* 1 << log2 */
} table_t;

static _Atomic(table_t *) current; /* NULL: none yet */

static bool lock(void) {
	for (unsigned i = 0; i < TRIES; i++) {
		bool nobody = false;
		/* Acquire pairs with the release in unlock(). */
		if (atomic_compare_exchange_strong_explicit(&mw_attach_wiped.live_is_locked,
							    &nobody, true, memory_order_acquire,
							    memory_order_relaxed))
			return true;
		mw_os_back_off(i);
	}
	return false;
}

static void unlock(void) {
	atomic_store_explicit(&mw_attach_wiped.live_is_locked, false, memory_order_release);
}

static size_t mask_of(const table_t *table) {
	return ((size_t)1 << table->log2) - 1;
}

static size_t place_of(const table_t *table, uintptr_t address) {
	return (size_t)((address >> 4) * 0x9e3779b97f4a7c15u >> (64 - table->log2));
}

static uintptr_t address_in(const entry_t *entry) {
	/* Pairs with the release in set(). */
	return atomic_load_explicit(&entry->address, memory_order_acquire);
}

static uint32_t record_in(const entry_t *entry) {
	return atomic_load_explicit(&entry->record, memory_order_relaxed);
}

/* The record is there before the address. */
static void set(entry_t *entry, uintptr_t address, uint32_t record) {
	atomic_store_explicit(&entry->record, record, memory_order_relaxed);
	atomic_store_explicit(&entry->address, address, memory_order_release);
}

/* Returns the address's entry, or the free one behind those that it may have. */
static entry_t *place(table_t *table, uintptr_t address) {
	size_t i = place_of(table, address);
	for (uintptr_t there; (there = address_in(&table->entries[i])) != address && there != 0;)
		i = (i + 1) & mask_of(table);
	return &table->entries[i];
}

static uint32_t look(uintptr_t address) {
	/* Pairs with the release in grow(). */
	table_t *table = atomic_load_explicit(&current, memory_order_acquire);
	const entry_t *entry = table ? place(table, address) : NULL;
	return entry && address_in(entry) == address ? record_in(entry) : 0;
}

uint32_t mw_attach_live_find(uintptr_t address) {
	for (unsigned i = 0; i < LOOKS; i++) {
		/* Acquire and fence: pair with those in begin_moves() and end_moves(). */
		uint32_t before =
			atomic_load_explicit(&mw_attach_wiped.live_moves, memory_order_acquire);
		uint32_t record = look(address);
		atomic_thread_fence(memory_order_acquire);
		if (before % 2 == 0 && before == atomic_load_explicit(&mw_attach_wiped.live_moves,
								      memory_order_relaxed))
			return record;
		mw_os_relax();
	}
	if (!lock())
		return 0;
	uint32_t record = look(address);
	unlock();
	return record;
}

static void begin_moves(void) {
	atomic_fetch_add_explicit(&mw_attach_wiped.live_moves, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_moves(void) {
	atomic_fetch_add_explicit(&mw_attach_wiped.live_moves, 1, memory_order_release);
}

/* Makes a table of twice the size. Called with the lock. */
static MW_COLD table_t *grow(table_t *old) {
	unsigned log2 = old ? old->log2 + 1 : FIRST_LOG2;
	table_t *table = mw_os_map(sizeof *table + (sizeof(entry_t) << log2));
	if (!table)
		return NULL;
	table->log2 = log2;
	table->live = old ? old->live : 0;
	for (size_t i = 0; old && i <= mask_of(old); i++) {
		uintptr_t address = address_in(&old->entries[i]);
		if (address != 0)
			set(place(table, address), address, record_in(&old->entries[i]));
	}
	begin_moves();
	atomic_store_explicit(&current, table, memory_order_release);
	end_moves();
	return table;
}

/* Empties the entry and moves up those behind it that would not be found any more. */
static void empty(table_t *table, entry_t *entry) {
	size_t mask = mask_of(table), hole = (size_t)(entry - table->entries);
	begin_moves();
	for (size_t i = (hole + 1) & mask;; i = (i + 1) & mask) {
		uintptr_t address = address_in(&table->entries[i]);
		if (address == 0)
			break;
		/* The entry stays if its first place lies behind the hole. */
		if (((i - place_of(table, address)) & mask) < ((i - hole) & mask))
			continue;
		set(&table->entries[hole], address, record_in(&table->entries[i]));
		hole = i;
	}
	set(&table->entries[hole], 0, 0);
	end_moves();
}

static _Atomic uint8_t *filter_of(uintptr_t address) {
	return &mw_attach_wiped.filter[(uint32_t)(address >> 4) * 0x9e3779b1u >> 16];
}

/* Called with the lock. A byte that has reached 255 stays. */
static void count(uintptr_t address, int by) {
	_Atomic uint8_t *filter = filter_of(address);
	uint8_t before = atomic_load_explicit(filter, memory_order_relaxed);
	if (before != UINT8_MAX)
		atomic_store_explicit(filter, (uint8_t)(before + by), memory_order_relaxed);
}

bool mw_attach_live_add(uintptr_t address, uint32_t record, uint32_t *replaced) {
	*replaced = 0;
	if (!lock())
		return false;
	table_t *table = atomic_load_explicit(&current, memory_order_relaxed);
	if (!table || (size_t)table->live * 2 >= mask_of(table))
		table = grow(table);
	entry_t *entry = table ? place(table, address) : NULL;
	if (entry && address_in(entry) == address) {
		*replaced = atomic_exchange_explicit(&entry->record, record, memory_order_relaxed);
	} else if (entry) {
		table->live++;
		set(entry, address, record);
		count(address, 1);
	}
	unlock();
	return entry != NULL;
}

bool mw_attach_live_remove(uintptr_t address, uint32_t record) {
	if (!lock())
		return false;
	table_t *table = atomic_load_explicit(&current, memory_order_relaxed);
	entry_t *entry = table ? place(table, address) : NULL;
	bool is_it = entry && address_in(entry) == address && record_in(entry) == record;
	if (is_it) {
		empty(table, entry);
		table->live--;
		count(address, -1);
	}
	unlock();
	return is_it;
}

bool mw_attach_live_clear(void) {
	if (!lock())
		return false;
	table_t *table = atomic_load_explicit(&current, memory_order_relaxed);
	begin_moves();
	for (size_t i = 0; table && i <= mask_of(table); i++)
		set(&table->entries[i], 0, 0);
	if (table)
		table->live = 0;
	end_moves();
	for (size_t i = 0; i < sizeof mw_attach_wiped.filter; i++)
		atomic_store_explicit(&mw_attach_wiped.filter[i], 0, memory_order_relaxed);
	unlock();
	return true;
}
