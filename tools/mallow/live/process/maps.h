/* SPDX-License-Identifier: MIT
 * maps.h -- reads /proc/<pid>/maps, line by line.
 * Layer: live/process.  All lines are of the address space that the process had at
 * mw_maps_open(): after an exec(2) there are no more. */
#ifndef MW_TOOL_LIVE_PROCESS_MAPS_H
#define MW_TOOL_LIVE_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct mw_map {
	uint64_t start, limit;
	uint64_t offset; /* in the file */
	dev_t device;
	ino_t inode; /* 0: no file */
	bool is_readable, is_writable, is_code, is_shared;
	bool is_stack; /* of the first thread, which grows */
	/* Path as the kernel shows it, "[stack]" and the like, or "".  Valid until the next line
	 * is read. */
	char *name;
} mw_map_t;

typedef struct mw_maps {
	FILE *file;
	char *line;
	size_t capacity;
} mw_maps_t;

/* False, with errno: the mappings cannot be read.  `pid` may be a thread's id. */
bool mw_maps_open(mw_maps_t *maps, int pid);
/* Reads the next line that contains the text; "": the next line.  False: there is none. */
bool mw_maps_next(mw_maps_t *maps, const char *text, mw_map_t *out);
void mw_maps_close(mw_maps_t *maps);

/* Returns whether the process maps this file to share it, as it does its state file.  Also if the
 * file has no name any more.  False, with errno != 0: the mappings cannot be read. */
bool mw_process_maps_file(int pid, dev_t device, ino_t inode);

#endif
