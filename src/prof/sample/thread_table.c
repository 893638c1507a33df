/* SPDX-License-Identifier: MIT
 * thread_table.c -- open addressing over the ring of thread names. */
#include "prof/sample/thread_table.h"
#include "base/bits.h"

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "prof/store/store.h"

static uint32_t slot_of(uint32_t thread_id) {
	return thread_id * 2654435769u % MW_THREAD_TABLE_SLOTS; /* Knuth's multiplier */
}

static const mw_state_thread_t *entry_at(const mw_thread_table_t *table, uint32_t entry) {
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_THREADS].capacity;
	return mw_store_private(MW_SECTION_THREADS, (table->first + entry) % capacity);
}

void mw_thread_table_fill(mw_thread_table_t *table) {
	mw_words_clear(table, sizeof *table);
	/* Pairs with the release in take_entry(): the entries have memory. */
	uint64_t written =
		atomic_load_explicit(&mw_store_live()->threads_written, memory_order_acquire);
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_THREADS].capacity;
	MW_ASSERT(capacity <= MW_THREAD_TABLE_SLOTS / 2);
	table->first = written > capacity ? written - capacity : 0;
	table->count = (uint32_t)(written - table->first);
	for (uint32_t entry = 0; entry < table->count; entry++) {
		uint32_t id = entry_at(table, entry)->thread_id, slot = slot_of(id);
		if (id == 0) /* its thread has not written the entry yet */
			continue;
		while (table->slots[slot].thread_id != 0 && table->slots[slot].thread_id != id)
			slot = (slot + 1) % MW_THREAD_TABLE_SLOTS;
		table->slots[slot].thread_id = id;
		table->slots[slot].entry = entry;
	}
}

uint32_t mw_thread_table_entry(const mw_thread_table_t *table, uint32_t thread_id) {
	uint32_t slot = slot_of(thread_id);
	for (; table->slots[slot].thread_id != 0; slot = (slot + 1) % MW_THREAD_TABLE_SLOTS)
		if (table->slots[slot].thread_id == thread_id)
			return table->slots[slot].entry;
	return MW_THREAD_UNKNOWN;
}

uint64_t mw_thread_table_number(const mw_thread_table_t *table, uint32_t entry) {
	return table->first + entry;
}

void mw_thread_table_name(const mw_thread_table_t *table, uint32_t entry, char name[16]) {
	memcpy(name, entry_at(table, entry)->name, 16);
	name[15] = '\0';
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			*c = '_';
}
