/* SPDX-License-Identifier: MIT
 * spool.h -- profiles on disk that are to be sent, oldest first, within a bound.
 * Layer: agent/spool.  An entry is a profile.proto file with its identity.  A worker writes it as
 * FOLDER/new/KEY.pb.gz, and CPU time as KEY.time.pb.gz; the agent commits it by one rename(2) to
 * FOLDER/ready/, where the sender takes it and removes it once the receiver has it.  Whatever is
 * killed meanwhile, and on a full disk, an entry is in ready/ whole or not at all.  A committed
 * entry that exceeds the bound takes the place of the oldest ones.
 *
 * Names of entries begin with the time of their commit, which never goes back: their order is that
 * of the commits even if the clock of the host jumps. */
#ifndef MW_TOOL_AGENT_SPOOL_SPOOL_H
#define MW_TOOL_AGENT_SPOOL_SPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/spool/folder.h"
#include "model/error.h"

/* Bytes of an entry's name, with its 0. */
#define MW_SPOOL_NAME_BYTES 64

typedef struct mw_spool {
	const mw_agent_folder_t *folder;
	int fresh, ready;     /* descriptors of new/ and ready/ */
	uint64_t limit_bytes; /* of all entries */
	uint64_t bytes;       /* of all entries now */
	size_t count;         /* of entries now */
	uint64_t last_ns;     /* time in the name of the latest entry */
} mw_spool_t;

/* An entry as its name says. */
typedef struct mw_spool_entry {
	char name[MW_SPOOL_NAME_BYTES];
	uint64_t time_ns; /* of the commit, about */
	uint64_t key;     /* of the process */
	bool is_last;     /* of a process that has ended */
	bool is_time;     /* CPU time; else the heap */
	uint64_t bytes;
} mw_spool_entry_t;

/* What had to go. */
typedef struct mw_spool_loss {
	size_t count;
	uint64_t bytes;
	uint64_t first_ns, last_ns; /* times of the commits of the first and the last of them */
} mw_spool_loss_t;

/* Opens the spool of a folder, which outlives it; removes what workers left in new/.  Returns 0:
 * the caller calls mw_spool_close(). */
int mw_spool_open(mw_spool_t *out, const mw_agent_folder_t *folder, uint64_t limit_bytes,
		  mw_error_t *error);
void mw_spool_close(mw_spool_t *spool);

/* Writes the path at which a worker writes the entry of a process; one worker a process. */
void mw_spool_new_path(const mw_spool_t *spool, uint64_t key, char *path, size_t size);
/* Writes the path beside it for a second entry of the process, with its CPU time. */
void mw_spool_time_path(const char *path, char *time_path, size_t size);
/* Removes what a worker wrote for the process, if anything. */
void mw_spool_discard(const mw_spool_t *spool, uint64_t key);
/* Commits what a worker wrote for the process; `now_ns`: CLOCK_REALTIME.  Adds to `loss` what had
 * to go.  -1: the entry is not there, and nothing has changed. */
int mw_spool_commit(mw_spool_t *spool, uint64_t key, bool is_last, uint64_t now_ns,
		    mw_spool_loss_t *loss, mw_error_t *error);
/* Changes the bound, and removes the oldest entries that exceed it. */
void mw_spool_limit(mw_spool_t *spool, uint64_t limit_bytes, mw_spool_loss_t *loss);

/* Lists the entries, oldest first; counts and bytes of the spool become those of the disk.  The
 * caller frees the list. */
mw_spool_entry_t *mw_spool_list(mw_spool_t *spool, size_t *count);
/* Writes the path of an entry. */
void mw_spool_path(const mw_spool_t *spool, const mw_spool_entry_t *entry, char *path, size_t size);
/* Removes an entry that was sent, or that nobody takes. */
int mw_spool_remove(mw_spool_t *spool, const mw_spool_entry_t *entry);

#endif
