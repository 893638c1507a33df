/* SPDX-License-Identifier: MIT
 * guarded_slot.h -- the state of a guarded slot, and the reports about its block.
 * Layer: heap.  Private to guarded.c and guarded_report.c. */
#ifndef MW_HEAP_GUARDED_SLOT_H
#define MW_HEAP_GUARDED_SLOT_H

#include <stdatomic.h>

#include "heap/layout/record.h"
#include "heap/misuse/guarded.h"
#include "os/signal/segv.h"

typedef struct mw_guarded_stack {
	uint32_t thread_id; /* 0: no stack was taken */
	uint32_t depth;
	uint64_t pcs[MW_GUARDED_DEPTH];
} mw_guarded_stack_t;

typedef enum mw_guarded_state {
	MW_GUARDED_UNUSED,
	MW_GUARDED_LIVE,
	MW_GUARDED_FREED
} mw_guarded_state_t;

/* Written under the pool's lock by the thread that allocates or frees; a signal handler reads it
 * without the lock. */
typedef struct mw_guarded_slot {
	char *block;
	size_t bytes; /* as requested */
	size_t class_bytes;
	_Atomic uint32_t state;
	mw_record_id_t record;
	mw_guarded_stack_t allocated, freed;
} mw_guarded_slot_t;

void mw_guarded_take_stack(const mw_guarded_config_t *config, mw_guarded_stack_t *stack,
			   bool in_handler);
/* Reports a fault at an address of the pool that belongs to the slot.  Returns. */
void mw_guarded_report_access(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot,
			      uintptr_t address, mw_os_access_t access);
/* Reports that the block was passed to `function` after it had been freed. */
_Noreturn void mw_guarded_report_freed(const mw_guarded_config_t *config,
				       const mw_guarded_slot_t *slot, const char *function,
				       bool is_free);
/* Reports that an address that is not the start of a block was passed to `function`.  `slot` may be
 * NULL. */
_Noreturn void mw_guarded_report_misaligned(const mw_guarded_config_t *config,
					    const mw_guarded_slot_t *slot, const char *function,
					    const void *address);
/* Reports that the byte at `address`, beside the block, had changed when the block was freed. */
_Noreturn void mw_guarded_report_changed(const mw_guarded_config_t *config,
					 const mw_guarded_slot_t *slot, const char *address);

#endif
