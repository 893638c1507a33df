/* SPDX-License-Identifier: MIT
 * object_table.h -- the loaded objects in a table of the library, where libc has no
 * _dl_find_object: glibc before 2.35, musl. Why: doc/adr/0046-table-of-objects.md.
 * Layer: os/unwind. The table is a copy of the dynamic linker's list. A look-up takes no lock and
 * is async-signal-safe. Before it returns an object, it compares the object's first page with what
 * the table knows, so an object that was unloaded is not found, and neither is another one in its
 * place. A look-up that finds nothing notes the address. mw_os_object_table_refresh(), called
 * outside of signal handlers, copies the list anew and learns which of these addresses lie in no
 * object. errno kept. */
#ifndef MW_OS_OBJECT_TABLE_H
#define MW_OS_OBJECT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dl_find_object; /* os/platform/libc_calls.h has it where libc does not */

/* Objects beyond this number are not found. */
#define MW_OS_OBJECTS_MAX 1024u

/* Number that changes when the table learns of objects, or of code that belongs to none. 0: libc
 * has _dl_find_object, and the table is not used. */
extern _Atomic uint32_t mw_os_object_table_number;

static inline uint32_t mw_os_object_table_generation(void) {
	/* Relaxed: a reader that sees the change late looks once more. */
	return atomic_load_explicit(&mw_os_object_table_number, memory_order_relaxed);
}

/* Makes the table and has mw_libc_calls._dl_find_object search it, if libc has no such function or
 * the environment variable MALLOW_TEST_OBJECT_TABLE is set (for tests). Called once, before threads
 * exist. */
void mw_os_object_table_start(void);

/* Like _dl_find_object(3), with or without the table. Does not touch the object, so that it may be
 * unloaded meanwhile; with the table, the answer is that of the last copy. */
int mw_os_object_table_listed(uintptr_t address, struct dl_find_object *result);
/* Returns whether the address, in which a look-up found no object, may lie in an object that the
 * table does not know yet. false: it is generated code. */
bool mw_os_object_table_may_hide(uintptr_t address);

/* Returns whether a look-up found nothing since the last refresh. */
bool mw_os_object_table_is_due(void);
/* Copies the list if it changed. Waits for the lock of dl_iterate_phdr(3): called with no lock of
 * the library held, never in a signal handler. */
void mw_os_object_table_refresh(void);

/* In the child of fork(2). `had_threads`: another thread of the parent may have held the lock of
 * dl_iterate_phdr(3), which libc does not free in the child: the table then stays as it is. */
void mw_os_object_table_forked(bool had_threads);

#endif
