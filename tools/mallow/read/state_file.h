/* SPDX-License-Identifier: MIT
 * state_file.h -- reads a state file (state/layout.h) into private memory and checks every field.
 * Layer: tools/read.  The file is copied with pread(2), never mapped, so that a file that shrinks
 * meanwhile costs an error and no SIGBUS; of its sparse sections only the used parts are read, and
 * of those only what the file system holds blocks for.  The file may be live: what is read is what
 * the process had published when the copy began. */
#ifndef MW_TOOL_READ_STATE_FILE_H
#define MW_TOOL_READ_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"
#include "state/layout.h"

/* What to read besides header, control words and live page; bits. */
enum {
	MW_SNAPSHOT_STACKS = 1u << 0,  /* modules, stacks, frames and lives */
	MW_SNAPSHOT_RECORDS = 1u << 1, /* and the threads' names */
	MW_SNAPSHOT_HISTORY = 1u << 2, /* timeline and events */
	MW_SNAPSHOT_SURVEY = 1u << 3,  /* size classes and ranges */
	MW_SNAPSHOT_ALL = 15u,
	MW_SNAPSHOT_OF_NOW = 1u << 4, /* the process runs: what it wrote last holds still */
};

typedef struct mw_snapshot {
	mw_state_header_t header; /* sections checked; all text NUL-terminated, `args` twice */
	mw_state_control_t control;
	mw_state_live_t live;       /* counts clamped to capacities */
	int64_t taken_ns;           /* CLOCK_REALTIME when the copy was made */
	int64_t time_ns;            /* that, or when an ended process wrote last */
	mw_state_module_t *modules; /* paths NUL-terminated, build-id lengths clamped */
	size_t module_count;
	mw_state_stack_t *stacks; /* frame ranges checked: what is bad has depth 0 */
	size_t stack_count;
	size_t part_count; /* of these, parts of others, with which they were added up */
	uint64_t *nodes;   /* checked: those of `stacks` lead to as many frames as they say */
	size_t node_count;
	uint64_t *frames;
	size_t frame_count;
	mw_state_record_t *records; /* live samples only, each seen whole */
	size_t record_count;
	mw_state_tick_t *ticks; /* oldest first */
	size_t tick_count;
	mw_state_event_t *events; /* oldest first */
	size_t event_count;
	mw_state_life_t *lives;
	size_t life_count;
	mw_state_size_t *sizes; /* checked: lists of `stacks` that lead astray are none */
	size_t size_count;
	mw_state_thread_t *threads; /* names NUL-terminated */
	size_t thread_count;
	mw_state_class_t *classes; /* none while there is no survey */
	size_t class_count;
	mw_state_range_t *ranges;
	size_t range_count;
} mw_snapshot_t;

/* Does the file begin like a state file?  (It may still be bad.) */
bool mw_state_file_is_magic(const void *bytes, size_t length);

/* A state file begins with zeros until its process has written the header. */
bool mw_state_file_is_blank(const char *path);

/* `what` is a set of MW_SNAPSHOT_*.  On success the caller frees with mw_snapshot_free(). */
int mw_snapshot_read(const char *path, unsigned what, mw_snapshot_t **snapshot, mw_error_t *error);
/* The same from an open descriptor (which stays open); `name` is for messages. */
int mw_snapshot_read_fd(int fd, const char *name, unsigned what, mw_snapshot_t **snapshot,
			mw_error_t *error);
void mw_snapshot_free(mw_snapshot_t *snapshot); /* NULL is fine */

/* Leaves in `after` (stacks and records) what was allocated since `before` (stacks), and of that
 * what is still live: the records that are not older than `since_ns` (CLOCK_MONOTONIC).  Peaks and
 * lifetimes, which are of the whole run, and the records are dropped. */
void mw_snapshot_since(mw_snapshot_t *after, const mw_snapshot_t *before, uint64_t since_ns);

/* The profile of a snapshot with MW_SNAPSHOT_STACKS: the sample types of a heap profile and those
 * of mw_state_types, weights applied, without symbols.  With MW_SNAPSHOT_RECORDS what is in use is
 * split by thread, size and age, what was allocated by size, what was freed by lifetime:
 * neighbouring samples of one stack with the labels MW_LABEL_*.  The caller frees it. */
mw_profile_t *mw_profile_from_snapshot(const mw_snapshot_t *snapshot);

#endif
