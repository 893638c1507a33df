/* SPDX-License-Identifier: MIT
 * modules.h -- finds the loaded object of a PC, also after the object was unloaded.
 * Layer: prof/modules, the door of this folder. Objects are found through glibc's lock-free
 * _dl_find_object or the table of objects in its place, in static programs through /proc/self/maps.
 * Known objects are recognised without a lock; the lock MW_RANK_MODULES serialises adding one. An
 * object that is loaded at the address of an unloaded one gets an entry of its own. module_elf
 * reads an object's ELF header and build-id. */
#ifndef MW_PROF_MODULES_MODULES_H
#define MW_PROF_MODULES_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Converts the PCs of one stack of the calling thread into frames as in state/layout.h. Returns
 * true if none of the code can be unloaded: the same PCs then always give the same frames. Called
 * with the tables' lock (prof/store/table_lock.h). */
bool mw_modules_encode(uint64_t *frames, unsigned depth);
/* Encodes frames like mw_modules_encode(), but never waits for the lock: for signal handlers. If
 * the lock is held, a frame of an object that was not found before keeps its PC and has no module.
 */
bool mw_modules_encode_at_once(uint64_t *frames, unsigned depth);
/* Number that changes when an object is found for the first time, found again, or found unloaded.
 * While it is unchanged, a PC gives the same frame. */
uint32_t mw_modules_generation(void);
/* Marks objects that were unloaded. Called between mw_tables_enter() and mw_tables_leave(). */
void mw_modules_check(void);
/* Does that once a second. */
void mw_modules_check_if_due(uint64_t now_ns);
/* Called before a fork, and in its child. */
void mw_modules_fork_prepare(void);
void mw_modules_forked(void);

#ifdef MW_TESTING
/* For tests. true: behaves as if libc had no _dl_find_object. */
void mw_modules_use_maps(bool use_maps);
#endif

#endif
