/* SPDX-License-Identifier: MIT
 * state_places.h -- finds the state files of this machine.
 * Layer: live.  There are three kinds of places: the directories that the library writes to
 * (/dev/shm, or the user's runtime directory), mappings of processes in other mount namespaces,
 * and anonymous memory, which only the mappings of its process lead to.  The content of files is
 * not read here; formats/state reads and checks it. */
#ifndef MW_TOOL_LIVE_STATE_PLACES_H
#define MW_TOOL_LIVE_STATE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mw_place {
	char *path;  /* path to open */
	char *shown; /* path to show to the user: where the process created the file */
	/* Pid as seen here if `alive` and not `is_elsewhere`, otherwise the pid of the file's
	 * name. */
	int pid;
	uint64_t start_ticks;
	uint64_t pid_namespace; /* number in the file's name */
	uid_t owner;
	dev_t device;
	ino_t inode;
	uint64_t modified_ns;
	bool alive;        /* its process holds the file's lock */
	bool is_elsewhere; /* the process runs in a pid namespace that cannot be seen from here */
	bool by_map;       /* only the mappings of the process lead to the file */
} mw_place_t;

typedef struct mw_places {
	mw_place_t *items;
	size_t count;
	size_t capacity;
	int wanted[2]; /* in directories only files whose names have one of these pids; {0}: all */
} mw_places_t;

/* Root sees the files of all users, other users see their own. */

/* Adds the state files in the directories of this mount namespace. */
void mw_places_add_directories(mw_places_t *places);

/* Adds state files mapped by processes that have none in `places` yet, and files that ended
 * processes left in other processes' containers, if /proc/<pid>/root may be read. */
void mw_places_add_mapped(mw_places_t *places);

/* Adds every state file that can be found from here. */
void mw_places_add_all(mw_places_t *places);

/* Adds the state file that the live process `pid` maps, if there is one. */
void mw_places_add_process(mw_places_t *places, int pid);

/* Adds a state file that this command holds open, of the ended process `pid`, unless `places`
 * has a file of that process. */
void mw_places_add_held(mw_places_t *places, int fd, int pid, uint64_t start_ticks);

void mw_places_release(mw_places_t *places);

/* Returns whether a live process is about to make this file: it has created it, and has not locked
 * it yet. */
bool mw_place_is_begun(const mw_place_t *place);

/* Removes the file of a place, unless another file has replaced it, or a process holds it by now
 * or is about to (EBUSY).  A file that only mappings lead to is not removed.  Returns 0, or -1 with
 * errno. */
int mw_place_remove(const mw_place_t *place);

#endif
