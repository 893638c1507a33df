/* SPDX-License-Identifier: MIT
 * blob.h -- the code that `mallow attach` puts into a process: the blob.
 * Layer: attach, the door of this folder, above prof, in the place of heap and api. state/attach.h
 * says how the command loads and enters it.
 *
 * The blob calls no function of libc, has no thread-local storage of the linker's, and makes all
 * system calls itself, so a thread may enter it wherever it was stopped. It calls the process's
 * allocator only where the program called the allocator, and dl_iterate_phdr(3) only where the
 * program called malloc after dlopen(3). It never ends the process: an error inside switches it
 * off.
 *
 * Reading order: entry (how a thread enters), attach_detach (requests), replaced_slots (global
 * offset tables), replacements (the functions that the program then calls), account (which
 * allocation is a sample), thread_records, live_filter (addresses of live samples), heap_hooks
 * (what prof wants from a heap), errors, libc_calls. */
#ifndef MW_ATTACH_BLOB_H
#define MW_ATTACH_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "state/attach.h"

extern mw_attach_work_t mw_attach_work;
extern mw_attach_module_t mw_attach_modules[MW_ATTACH_MODULES_MAX];
extern mw_attach_slot_t mw_attach_slots[MW_ATTACH_SLOTS_MAX];

static inline mw_attach_state_t mw_attach_state(void) {
	/* Acquire: pairs with the release when the state is set. */
	return (mw_attach_state_t)atomic_load_explicit(&mw_attach_work.state, memory_order_acquire);
}

/* Called by the entry code, on the blob's own stack, with all signals blocked: follows the request
 * in mw_attach_work. */
void mw_attach_enter(void);

/* Ends sampling, restores the slots, and writes `reason` to work area and state file. */
MW_COLD void mw_attach_stop(mw_attach_state_t state, mw_attach_reason_t reason);
/* Called where the program allocates, without locks: detaches if it is time. */
void mw_attach_check_time(void);
/* Detaches, because the program is about to set a filter of system calls, which may end it at one
 * of the blob's. */
MW_COLD void mw_attach_before_filter(void);
/* Writes the numbers of slots and modules to the state file. */
MW_COLD void mw_attach_show_counts(void);

/* ---- replaced_slots.c ---- */

/* Only one thread changes slots and their table. False: another one, or the function that this
 * thread interrupted, does so now. */
bool mw_attach_lock_slots(void);
void mw_attach_unlock_slots(void);
/* Replaces the slots that the command listed, and counts them. With the lock. */
MW_COLD void mw_attach_replace_slots(void);
/* With the lock, but after an error inside. */
MW_COLD void mw_attach_restore_slots(void);
/* Replaces the slots of modules that came since. Waits for the lock of dl_iterate_phdr(3). False:
 * another thread changes slots, or is loading a module; call again later. */
MW_COLD bool mw_attach_look_for_modules(void);

/* ---- account.c ---- */

/* Called in place of the rest of a replacement when the thread's countdown is over or the thread
 * has no record. `block`: what the allocator returned; NULL: nothing. `frame`:
 * __builtin_frame_address(0) of the function that the program called. */
void mw_attach_account(void *block, size_t bytes, const uintptr_t *frame);
/* Returns the record of the live sample at the address; 0: none. */
uint32_t mw_attach_sample_at(const void *block);
/* The block is being freed. */
void mw_attach_freed(const void *block, uint32_t record);

/* ---- libc_calls.c ---- */

/* Reads the auxiliary vector. Called first. */
MW_COLD void mw_attach_libc_start(void);
/* From now on dl_iterate_phdr() is the process's. Before, it reports the program and the blob
 * first, then all modules that the command listed: other objects may be unloaded later. */
MW_COLD void mw_attach_libc_ready(void);

#endif
