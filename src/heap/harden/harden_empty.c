/* SPDX-License-Identifier: MIT
 * harden_empty.c -- blocks of 0 bytes.  Part of libmallow_secure only. */
#include "heap/harden/harden_empty.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/misuse/misuse.h"
#include "os/memory/map.h"

#define ADDRESSES (MW_CHUNK_BYTES / MW_BLOCK_ALIGN)
#define BITS 64u
/* Addresses tried when one after the other is in use. */
#define TRIES 4096u

static struct {
	_Atomic uintptr_t base; /* 0: the range is not mapped yet; release pairs with acquire */
	_Atomic uint32_t next;  /* number of the address that is tried next; relaxed */
	_Atomic uint64_t live[ADDRESSES / BITS]; /* relaxed: a bit belongs to who changes it */
} empty;

static void set_kind(uintptr_t base, uint8_t kind) {
	__atomic_store_n(&mw_address_map[base >> MW_CHUNK_SHIFT], kind, __ATOMIC_RELAXED);
}

/* Two threads may map a range at once: the second one's goes away again. */
static MW_COLD MW_NOINLINE uintptr_t map_range(void) {
	uintptr_t base = (uintptr_t)mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES), other = 0;
	if (!base)
		return 0;
	if (base >> MW_ADDRESS_BITS || !mw_os_protect_none((void *)base, MW_CHUNK_BYTES)) {
		mw_os_unmap((void *)base, MW_CHUNK_BYTES);
		return 0;
	}
	mw_os_no_dump((void *)base, MW_CHUNK_BYTES);
	set_kind(base, MW_MAP_EMPTY);
	atomic_store_explicit(&empty.next, (uint32_t)mw_harden_mix((void *)base),
			      memory_order_relaxed);
	if (atomic_compare_exchange_strong_explicit(&empty.base, &other, base, memory_order_release,
						    memory_order_acquire))
		return base;
	set_kind(base, MW_MAP_FOREIGN);
	mw_os_unmap((void *)base, MW_CHUNK_BYTES);
	return other;
}

void *mw_harden_empty_alloc(void) {
	uintptr_t base = atomic_load_explicit(&empty.base, memory_order_acquire);
	if (MW_UNLIKELY(!base) && (base = map_range()) == 0)
		return NULL;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		size_t number =
			atomic_fetch_add_explicit(&empty.next, 1, memory_order_relaxed) % ADDRESSES;
		uint64_t bit = (uint64_t)1 << number % BITS;
		if (!(atomic_fetch_or_explicit(&empty.live[number / BITS], bit,
					       memory_order_relaxed) &
		      bit))
			return (void *)(base + number * MW_BLOCK_ALIGN);
	}
	return NULL;
}

/* Returns the word of the address and its bit in it; 0: it is not the start of a block. */
static uint64_t find(const void *block, _Atomic uint64_t **word) {
	size_t offset = (uintptr_t)block & (MW_CHUNK_BYTES - 1), number = offset / MW_BLOCK_ALIGN;
	*word = &empty.live[number / BITS];
	return offset % MW_BLOCK_ALIGN == 0 ? (uint64_t)1 << number % BITS : 0;
}

void mw_harden_empty_check(const char *function, const void *block) {
	_Atomic uint64_t *word;
	uint64_t bit = find(block, &word);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		mw_misuse_empty(function, block);
}

void mw_harden_empty_free(const char *function, const void *block) {
	_Atomic uint64_t *word;
	uint64_t bit = find(block, &word);
	if (!(atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed) & bit))
		mw_misuse_empty(function, block);
}
