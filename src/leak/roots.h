/* SPDX-License-Identifier: MIT
 * roots.h -- memory outside of the heap from which a program may reach blocks: registers, stacks,
 * thread-local storage, writable data of the program and its libraries, other private mappings.
 * Layer: leak. In a copy of the process: see block_index.h. */
#ifndef MW_LEAK_ROOTS_H
#define MW_LEAK_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/process/stop.h"

typedef struct mw_leak_memory {
	uintptr_t start, limit;
} mw_leak_memory_t;

/* Which memory is a root. All zero: registers, stacks, data, and other private mappings. */
typedef struct mw_leak_scope {
	bool reads_shared;  /* memory that is shared with other processes, too */
	bool skips_threads; /* not registers and stacks */
	bool skips_data;    /* not data and other mappings */
	bool notes_holders; /* who holds the blocks of records: data comes first, then threads */
	/* Farthest from the start of a block that an address leads to the block; 0: anywhere. */
	size_t max_offset_bytes;
	/* Places of pointers, a power of two up to 8; 0: 8. */
	size_t step_bytes;
	/* Memory that is a root in any case. */
	const mw_leak_memory_t *regions;
	size_t region_count;
} mw_leak_scope_t;

typedef struct mw_leak_roots {
	mw_os_stop_t others;  /* threads of the process without the calling one */
	mw_os_stopped_t self; /* the calling thread */
	mw_leak_scope_t scope;
} mw_leak_roots_t;

typedef struct mw_leak_roots_read {
	uint64_t bytes;        /* read */
	uint64_t unread_bytes; /* that the kernel did not let read */
} mw_leak_roots_read_t;

/* Follows the pointers of all roots. Not read: mappings that other processes share unless they are
 * to be read, devices, code and constants of files, the part of a stack below the stack pointer of
 * the thread that executes on it, and stacks that the C library keeps of ended threads. */
mw_leak_roots_read_t mw_leak_roots_flood(const mw_leak_roots_t *roots);

#endif
