/* SPDX-License-Identifier: MIT
 * loaded_modules.h -- the loaded objects of a process, in the order of its dynamic linker.
 * Layer: live/loaded, the door of this folder.  address_space.h reads memory, exported_functions.h
 * finds functions in a module, allocator.h says which of them the program allocates with, slots.h
 * finds the words through which modules call these.
 *
 * Everything is read from the process's memory, which may hold anything: no file is opened, each
 * length is bounded by the mapping that it lies in, and each loop ends.  glibc's and musl's linkers
 * keep the list that is read here (r_debug and link_map of <link.h>). */
#ifndef MW_TOOL_LIVE_LOADED_LOADED_MODULES_H
#define MW_TOOL_LIVE_LOADED_LOADED_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/loaded/address_space.h"
#include "model/error.h"

typedef struct mw_module {
	uint64_t bias;           /* address - address in the ELF file */
	uint64_t start, limit;   /* of the module's segments */
	uint64_t headers;        /* address of the program headers */
	uint32_t header_count;   /* 1 .. MW_MODULE_HEADERS_MAX */
	uint64_t name;           /* address of its path, as the linker has it */
	uint64_t symbols;        /* address; bounded by `limit` */
	mw_module_table_t names; /* of symbols */
	uint64_t hash, gnu_hash; /* addresses; 0: none */
	mw_module_table_t jumps; /* relocations of the procedure linkage table */
	mw_module_table_t data;  /* the other relocations */
	mw_module_table_t relro; /* pages that are read only once the module is relocated */
	const mw_map_t *first;   /* mapping of the file's first bytes */
} mw_module_t;

enum { MW_MODULE_HEADERS_MAX = 64 };

typedef struct mw_modules {
	mw_module_t *items;
	size_t count, capacity;
	size_t left_out; /* entries of the list that are no module as expected */
	bool is_static;  /* the program has no dynamic linker, and no list */
	/* The dynamic linker has not begun the list, or is changing it. */
	bool is_unfinished;
} mw_modules_t;

/* What the kernel has told the program at its start (/proc/PID/auxv). */
typedef struct mw_program_start {
	uint64_t headers, header_count; /* of the program */
} mw_program_start_t;

/* Reads the auxiliary vector of a thread's process. */
bool mw_program_start_read(int thread, mw_program_start_t *out);

/* Reads the list.  Returns 0, and the program is the first module, or -1 with a part of a sentence
 * in `error`.  The caller calls mw_modules_free() in both cases.  `space` outlives the list. */
int mw_modules_read(const mw_address_space_t *space, const mw_program_start_t *start,
		    mw_modules_t *out, mw_error_t *error);
void mw_modules_free(mw_modules_t *modules);

#endif
