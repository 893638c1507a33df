/* SPDX-License-Identifier: MIT
 * host_search.h -- the processes that run mallow, and those that have left their state file.
 * Layer: agent/host.  A child searches (live/state_places.h) and writes what it found into a file
 * in memory: a directory of a container may be on a file system that does not answer. */
#ifndef MW_TOOL_AGENT_HOST_HOST_SEARCH_H
#define MW_TOOL_AGENT_HOST_HOST_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/state_places.h"
#include "model/error.h"

/* Most processes of a host that the agent looks after. */
#define MW_SEARCH_MAX 8192

typedef struct mw_found {
	uint64_t key; /* of the state file: no other one of this host has it until it restarts */
	mw_place_t place; /* owns its paths */
} mw_found_process_t;

typedef struct mw_found_list {
	mw_found_process_t *items; /* sorted by key, each key once */
	size_t count;
	size_t left_out; /* beyond MW_SEARCH_MAX */
	/* Users whose state files this user may not read, at most as many as there is room for. */
	uid_t closed[16];
	size_t closed_count;
} mw_search_list_t;

/* Searches, and writes a list to the file.  -1: the file cannot be written. */
int mw_host_search(int file);
/* Reads such a list.  Returns 0: the caller calls mw_host_search_release(). */
int mw_host_search_read(int file, mw_search_list_t *out, mw_error_t *error);
void mw_host_search_release(mw_search_list_t *list);
/* Frees the paths of one entry. */
void mw_search_free(mw_found_process_t *found);

/* Returns the key of a state file.  `boot`: an id of this start of the kernel. */
uint64_t mw_host_search_key(const char *boot, uint64_t device, uint64_t inode);

#endif
