/* SPDX-License-Identifier: MIT
 * places.h -- where the state files of this machine are.
 * Layer: live.  Three kinds of place: the directories the library writes to (/dev/shm, then the
 * user's runtime directory), the mappings of a process in another mount namespace, and anonymous
 * memory, which only the mappings of the process that made it lead to.  Nothing here trusts what is
 * in a file: that is read/'s work. */
#ifndef MW_LIVE_PLACES_H
#define MW_LIVE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mw_place {
	char *path;  /* what to open */
	char *shown; /* what to tell the user: where the process made it */
	int pid;     /* as seen from here when alive; else as the file's name says */
	uint64_t start_ticks;
	uid_t owner;
	dev_t device;
	ino_t inode;
	uint64_t modified_ns;
	bool alive;  /* its process exists, not only as a zombie */
	bool by_map; /* found through the mappings of the process, and no way else */
} mw_place_t;

typedef struct mw_places {
	mw_place_t *items;
	size_t count;
	size_t capacity;
} mw_places_t;

/* Who may see what: root sees every user's files, others their own. */

/* Adds the state files in the directories of this mount namespace. */
void mw_places_add_directories(mw_places_t *places);

/* Adds the state files mapped by processes that have none in `places` yet, and those that ended
 * processes left in the containers of others, as far as /proc/<pid>/root lets in. */
void mw_places_add_mapped(mw_places_t *places);

/* Both: every state file that can be found from here. */
void mw_places_add_all(mw_places_t *places);

/* Adds the state file the live process `pid` maps, if any. */
void mw_places_add_process(mw_places_t *places, int pid);

/* Adds a state file that this process holds open, for an ended process `pid`, unless a file of that
 * process is in `places` already. */
void mw_places_add_held(mw_places_t *places, int fd, int pid, uint64_t start_ticks);

void mw_places_release(mw_places_t *places);

/* Removes the file of a place, and the directory with it when that is empty now. */
void mw_place_remove(const mw_place_t *place);

#endif
