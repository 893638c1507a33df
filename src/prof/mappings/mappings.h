/* SPDX-License-Identifier: MIT
 * mappings.h -- which call of the program mapped what: counters by stack, ranges by address.
 * Layer: prof/mappings, the door of this folder. The folder holds the mappings that the program
 * made by mmap(2), mremap(2), sbrk(2) and shmat(2) itself, past malloc. A stack of such a call is
 * an entry of MW_SECTION_STACKS with the flag MW_STACK_MAPPING, whose counters are exact: objects
 * are ranges, bytes are address space. The folder may use src/base, src/os, src/state, prof/store,
 * prof/modules and prof/table. Reading order: mapping_call, interval_tree, mappings.
 *
 * A lock guards the ranges. Nobody waits for it forever, and a signal handler that interrupts its
 * holder does not wait at all: the handler leaves its change to the holder, in one of a few places.
 * Never allocates by malloc; errno is kept. */
#ifndef MW_PROF_MAPPINGS_MAPPINGS_H
#define MW_PROF_MAPPINGS_MAPPINGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/store/table_lock.h"

typedef enum mw_mapping_kind {
	MW_MAPPING_MMAP,
	MW_MAPPING_SBRK,
	MW_MAPPING_SHM,
	MW_MAPPING_KINDS,
} mw_mapping_kind_t;

/* A change of the address space. Changes may be applied late, and in another order than that of the
 * system calls: call numbers tell what is newer. Empty ranges stand for nothing. */
typedef struct mw_mapping_change {
	/* Not mapped any more: what calls before `gone_before` mapped here. */
	uint64_t gone_start, gone_limit, gone_before;
	/* Mapped by this call. */
	uint64_t start, limit, number;
	mw_mapping_kind_t kind; /* of both ranges, where `detaches` */
	bool detaches;          /* shmdt(2): the segment that was attached at gone_start is gone */
} mw_mapping_change_t;

/* A stack as the unwinder captured it. */
typedef struct mw_mapping_stack {
	uint64_t *frames; /* PCs, leaf first; mw_mappings_change() makes them frames */
	unsigned depth;
	bool truncated;
} mw_mapping_stack_t;

/* Bits: recording is on; the program watches its calls. */
enum { MW_MAPPINGS_RECORDED = 1u << 0, MW_MAPPINGS_WATCHED = 1u << 1 };
extern _Atomic unsigned mw_mappings_uses;

static inline unsigned mw_mappings_are_used(void) {
	/* Relaxed: a thread that sees the change late behaves as if it had called earlier. */
	return atomic_load_explicit(&mw_mappings_uses, memory_order_relaxed);
}

/* Begins or ends recording. At the end the ranges are forgotten, and nothing counts as mapped. */
MW_COLD void mw_mappings_set(bool on);
void mw_mappings_set_watched(bool on);
/* Returns the number of the next call. Taken before a call that removes, after one that maps. */
uint64_t mw_mappings_next_number(void);
/* Applies the change. `tables`: the tables' lock, which this function takes for stacks. Called
 * between mw_tables_enter() and mw_tables_leave(). */
void mw_mappings_change(const mw_mapping_change_t *change, const mw_mapping_stack_t *stack,
			mw_table_lock_t *tables);
/* Keeps the change for the next call of mw_mappings_change(): the caller is a signal handler that
 * interrupted the library. The oldest frames of a deep stack are left out. */
void mw_mappings_postpone(const mw_mapping_change_t *change, const mw_mapping_stack_t *stack);
/* Returns the number of a stack of encoded frames, leaf first, which is added if it is new. No
 * frame: a stack of one frame with address 0. Returns 0 if there is no room. Called with the
 * tables' lock.
 */
uint32_t mw_mappings_stack(const uint64_t *frames, unsigned depth, bool truncated);
/* Passes each range and the number of its stack to `see`, at most `max` of them. */
void mw_mappings_visit(void (*see)(uintptr_t start, uintptr_t limit, uint32_t stack), unsigned max);
/* Passes the address range of the tree's memory. */
void mw_mappings_visit_memory(void (*see)(uintptr_t start, uintptr_t limit));
/* Returns how many changes were lost: too many ranges, too many at once, or a lock never released.
 */
uint64_t mw_mappings_lost(void);
/* Returns the bytes that were mapped since the start. */
uint64_t mw_mappings_bytes(void);
/* Called in the child of a fork. */
void mw_mappings_forked(void);

#endif
