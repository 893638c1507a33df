/* SPDX-License-Identifier: MIT
 * reuse.c -- a list of numbers for each section that has free entries. */
#include "prof/table/reuse.h"

#include <stdatomic.h>

#include "os/memory/map.h"

/* A list has room for all entries of its section, is mapped at the first collection and never
 * unmapped: a thread that lost the tables' lock (table_lock.h) may still read it. */
static struct free_list {
	_Atomic(uint32_t *) numbers; /* falling; NULL: not mapped */
	_Atomic uint64_t count;
} lists[MW_SECTION_COUNT] MW_SPARSE;

static uint64_t list_bytes(mw_state_section_id_t section) {
	return mw_store_header()->sections[section].capacity * sizeof(uint32_t);
}

uint64_t mw_reuse_left(mw_state_section_id_t section) {
	return atomic_load_explicit(&lists[section].count, memory_order_relaxed);
}

uint64_t mw_reuse_take(mw_state_section_id_t section) {
	struct free_list *list = &lists[section];
	/* Pairs with the release in mw_reuse_set(). */
	uint64_t count = atomic_load_explicit(&list->count, memory_order_acquire);
	while (count > 0)
		if (atomic_compare_exchange_weak_explicit(&list->count, &count, count - 1,
							  memory_order_acquire,
							  memory_order_acquire))
			return atomic_load_explicit(&list->numbers,
						    memory_order_relaxed)[count - 1];
	return mw_store_take(section, 1);
}

bool mw_reuse_prepare(mw_state_section_id_t section) {
	struct free_list *list = &lists[section];
	if (atomic_load_explicit(&list->numbers, memory_order_relaxed))
		return true;
	uint32_t *numbers = mw_os_map(list_bytes(section));
	atomic_store_explicit(&list->numbers, numbers, memory_order_relaxed);
	return numbers != NULL;
}

void mw_reuse_set(mw_state_section_id_t section, const uint64_t *kept, uint64_t used) {
	struct free_list *list = &lists[section];
	uint32_t *numbers = atomic_load_explicit(&list->numbers, memory_order_relaxed);
	uint64_t count = 0;
	for (uint64_t number = used; number-- > 1;)
		if (!(kept[number / 64] >> number % 64 & 1))
			numbers[count++] = (uint32_t)number;
	/* Pairs with the acquire in mw_reuse_take(): the numbers are there. */
	atomic_store_explicit(&list->count, count, memory_order_release);
}

void mw_reuse_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		uintptr_t start =
			(uintptr_t)atomic_load_explicit(&lists[i].numbers, memory_order_relaxed);
		if (start)
			see(start, start + list_bytes((mw_state_section_id_t)i));
	}
}
