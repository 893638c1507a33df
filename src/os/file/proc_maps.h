/* SPDX-License-Identifier: MIT
 * proc_maps.h -- the mappings of a process, as the kernel lists them.
 * Layer: os/file. No locks, never allocates, errno kept. Without /proc there are none. */
#ifndef MW_OS_PROC_MAPS_H
#define MW_OS_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mw_os_mapping {
	uintptr_t start, limit;
	uint64_t file_offset;
	bool readable, writable, executable;
	bool shared; /* changes reach the file, or other processes */
	/* Of mw_os_visit_mapping_flags(): fork does not copy the mapping, or as zeros (madvise(2),
	 * MADV_DONTFORK and MADV_WIPEONFORK). */
	bool is_not_copied, is_wiped;
	char path[256]; /* empty: anonymous memory; longer paths are cut */
} mw_os_mapping_t;

/* Returns how many mappings the kernel allows to a process; its default if /proc does not tell. */
unsigned mw_os_mappings_max(void);
/* Calls `visit` for the mappings of this process in rising order, until `visit` returns false.
 * Reads /proc/self/maps in pieces. */
void mw_os_visit_mappings(bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			  void *context);
/* Those of another process. */
void mw_os_visit_mappings_of(uint32_t process_id,
			     bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			     void *context);
/* With the flags. The kernel visits all page tables of the process meanwhile. */
void mw_os_visit_mapping_flags(uint32_t process_id,
			       bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			       void *context);

#endif
