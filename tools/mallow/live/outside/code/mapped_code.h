/* SPDX-License-Identifier: MIT
 * mapped_code.h -- the files that a process has mapped as code, open for reading.
 * Layer: live/outside/code, the door of this folder, which finds out where to probe:
 * allocator_functions.h finds functions in the files, probe_sites.h an instruction in a function.
 * Files are opened through the kernel's own links to them: they are the ones
 * that are mapped, whatever their names lead to by now. */
#ifndef MW_TOOL_LIVE_OUTSIDE_CODE_MAPPED_CODE_H
#define MW_TOOL_LIVE_OUTSIDE_CODE_MAPPED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/error.h"

typedef struct mw_outside_module {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t base;      /* lowest address of the file in the process */
	char *path;         /* as the kernel shows it */
	char build_id[129]; /* hexadecimal; "" = not known (copied_stack.h fills it in) */
} mw_outside_module_t;

/* A mapping of code. */
typedef struct mw_outside_range {
	uint64_t start, limit, offset;
	size_t module;
} mw_outside_range_t;

/* A zeroed one is empty. */
typedef struct mw_outside_modules {
	mw_outside_module_t *all;
	size_t count, capacity;
	mw_outside_range_t *ranges; /* by rising address */
	size_t range_count, range_capacity;
} mw_outside_modules_t;

/* Reads the mappings of the process: modules that are known stay, new ones are added at the end.
 * -1: they cannot be read. */
int mw_outside_modules_read(mw_outside_modules_t *modules, int pid, mw_error_t *error);
void mw_outside_modules_release(mw_outside_modules_t *modules);

/* Returns the mapping that holds an address; NULL: none. */
const mw_outside_range_t *mw_outside_modules_find(const mw_outside_modules_t *modules,
						  uint64_t address);

#endif
