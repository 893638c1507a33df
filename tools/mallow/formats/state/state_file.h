/* SPDX-License-Identifier: MIT
 * state_file.h -- reads a state file (state/layout.h) into private memory and checks every
 * field.
 * Layer: formats/state.  The folder's door. state_file.c copies and checks, snapshot.c makes a
 * profile of the copy, groups.c adds up live samples, between.c subtracts two copies, history.c
 * makes the timeline.
 * The file is copied with pread(2) and never mapped, so a file that becomes shorter gives an
 * error and no SIGBUS. Of a sparse section only the used part is read, and of that part only
 * blocks that the file system holds.  The file may belong to a live process: the copy holds
 * everything that the process had published when the copy began. */
#ifndef MW_TOOL_FORMATS_STATE_STATE_FILE_H
#define MW_TOOL_FORMATS_STATE_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/history.h"
#include "model/profile.h"
#include "state/layout.h"

/* Parts to read in addition to header, control words and live page; bits. */
enum {
	MW_SNAPSHOT_STACKS = 1u << 0,    /* modules, stacks, frames and lifetimes */
	MW_SNAPSHOT_RECORDS = 1u << 1,   /* records, and names of threads */
	MW_SNAPSHOT_HISTORY = 1u << 2,   /* ticks and events */
	MW_SNAPSHOT_HEAP_WALK = 1u << 3, /* size classes and ranges of the last heap walk */
	MW_SNAPSHOT_ALL = 15u,
	/* The process runs, so its last values are those of the present moment. */
	MW_SNAPSHOT_OF_NOW = 1u << 4,
	MW_SNAPSHOT_CPU = 1u << 5, /* CPU samples, and names of threads; with MW_SNAPSHOT_STACKS */
	MW_SNAPSHOT_LEAKS = 1u << 6, /* the last leak check; with stacks and records */
};

/* Two kernel pages: at least one whole page of such a block is its own. */
#define MW_LARGE_BLOCK_BYTES 8192u

typedef struct mw_snapshot {
	/* Sections are checked; texts are NUL-terminated, `args` by two NULs. */
	mw_state_header_t header;
	mw_state_control_t control;
	mw_state_live_t live; /* counts are limited to the capacities */
	int64_t taken_ns;     /* CLOCK_REALTIME when the copy was made */
	/* taken_ns, or the time of the last write of a process that has ended. */
	int64_t time_ns;
	mw_state_module_t *modules; /* paths are NUL-terminated; lengths of build-ids are limited */
	size_t module_count;
	mw_state_stack_t *stacks; /* frame ranges are checked; a damaged stack has depth 0 */
	size_t stack_count;
	uint64_t *nodes; /* checked: the chain of each stack has as many nodes as the stack says */
	size_t node_count;
	uint64_t *frames;
	size_t frame_count;
	mw_state_function_t *functions; /* of scripts; not checked */
	size_t function_count;
	uint64_t *texts; /* not checked */
	size_t text_count;
	/* live samples only, each consistent; `reserved` is the record's number in the file */
	mw_state_record_t *records;
	size_t record_count;
	bool keeps_times; /* set by the caller: its profile has the label MW_LABEL_MADE */
	/* Set by the caller: blocks of at least MW_LARGE_BLOCK_BYTES have a sample each, with
	 * MW_LABEL_ADDRESS. */
	bool keeps_addresses;
	mw_state_tick_t *ticks; /* oldest first */
	size_t tick_count;
	mw_state_event_t *events; /* oldest first */
	size_t event_count;
	mw_state_lifetimes_t *lifetimes;
	size_t life_count;
	mw_state_size_t *sizes; /* checked: a damaged list of sizes is removed from its stack */
	size_t size_count;
	mw_state_thread_t *threads; /* names are NUL-terminated */
	size_t thread_count;
	mw_state_class_t *classes; /* empty if no heap walk has finished */
	size_t class_count;
	mw_state_range_t *ranges;
	size_t range_count;
	mw_state_chunk_t *chunks; /* not checked */
	size_t chunk_count;
	mw_state_cpu_t *cpu; /* checked: `stack` exists, or is 0, the unknown stack */
	size_t cpu_count;
	mw_state_leak_check_t leak_check; /* class_count is limited */
	mw_state_leak_t *leaks;           /* empty unless the check is done */
	size_t leak_count;
} mw_snapshot_t;

/* Reads a state file.  `what` is a set of MW_SNAPSHOT_* bits.  The caller frees the snapshot
 * with mw_snapshot_free(). */
int mw_snapshot_read(const char *path, unsigned what, mw_snapshot_t **snapshot, mw_error_t *error);
/* As mw_snapshot_read(), from an open descriptor, which stays open.  `name` appears in messages. */
int mw_snapshot_read_fd(int fd, const char *name, unsigned what, mw_snapshot_t **snapshot,
			mw_error_t *error);
void mw_snapshot_free(mw_snapshot_t *snapshot); /* NULL is allowed */

/* Changes `after` (read with stacks and records) so that it holds only allocations since
 * `before` (read with stacks).  In use are the records made at or after `since_ns`
 * (CLOCK_MONOTONIC).  Peaks and lifetimes cover the whole run and are dropped, and so are the
 * records. */
void mw_snapshot_since(mw_snapshot_t *after, const mw_snapshot_t *before, uint64_t since_ns);

/* Changes `after` so that it holds only the CPU samples since `before`; both were read with
 * MW_SNAPSHOT_CPU. */
void mw_snapshot_cpu_since(mw_snapshot_t *after, const mw_snapshot_t *before);

/* Returns whether the counters were set to zero between two snapshots of one process, `seconds`
 * apart
 * (`mallow reset`). Then `seconds` becomes the time since, which is all that the difference of both
 * covers. */
bool mw_snapshot_was_reset(const mw_snapshot_t *after, const mw_snapshot_t *before,
			   double *seconds);

/* Returns whether the heap has so small a part of a process's memory that most of it must have come
 * past malloc: from an allocator of the program's own, or from mmap(2). */
bool mw_heap_is_minor(uint64_t heap_bytes, uint64_t process_bytes);
/* Returns the memory that the heap had at most when its statistics were written. */
uint64_t mw_snapshot_heap_bytes(const mw_snapshot_t *snapshot);

/* Returns what the process's resident memory was used for when it had most, by the last count of
 * its pages (prof/mappings/resident_pages.h); bytes == 0: it counted none. */
mw_resident_t mw_resident_from_snapshot(const mw_snapshot_t *snapshot);

/* Adds the ticks and pauses of a snapshot that was read with MW_SNAPSHOT_HISTORY. Adds the peak,
 * too, if it lies between two ticks. */
void mw_history_from_snapshot(mw_history_t *history, const mw_snapshot_t *snapshot);

/* Returns the time when the object of a record was allocated (CLOCK_REALTIME). */
int64_t mw_snapshot_made_ns(const mw_snapshot_t *snapshot, const mw_state_record_t *record);

/* Changes `snapshot` (read with stacks and records) so that it holds only live objects allocated
 * at or after `from_ns` and before `until_ns` (CLOCK_REALTIME).  Freed objects and peaks are
 * dropped. */
void mw_snapshot_made_between(mw_snapshot_t *snapshot, int64_t from_ns, int64_t until_ns);

/* Returns the path under which the program was started: /usr/bin/redis-server may be a link to
 * redis-check-rdb.  Returns `buffer`, or the path of the executable if no link is known. */
const char *mw_path_as_started(const mw_state_header_t *header, char *buffer, size_t size);

/* Makes a profile of a snapshot that was read with MW_SNAPSHOT_STACKS. It has the types of
 * mw_profile_add_heap_types() and mw_profile_add_state_types(), and those of
 * mw_profile_add_mapping_types() if there are mappings, weights applied, and no symbols.
 * With MW_SNAPSHOT_RECORDS, memory in use is split by thread, size and age, allocations by size,
 * and freed memory by lifetime: neighbouring samples of one stack with the labels MW_LABEL_*.
 * With MW_SNAPSHOT_HISTORY, the profile has the history.  With MW_SNAPSHOT_CPU it has the CPU
 * samples, too, with types of their own.  The caller frees it. */
mw_profile_t *mw_profile_from_snapshot(const mw_snapshot_t *snapshot);

typedef struct mw_stack_bytes {
	uint32_t stack; /* number of a stack of the snapshot */
	uint64_t bytes;
} mw_stack_bytes_t;

/* Makes a profile of these stacks, one sample each, in this order, with the bytes as its only type.
 * The caller frees it. */
mw_profile_t *mw_profile_of_stacks(const mw_snapshot_t *snapshot, const mw_stack_bytes_t *stacks,
				   size_t count);

/* Makes a profile of the sampled blocks that the last leak check found reachable, of a snapshot as
 * for mw_profile_of_leaks() whose check was made with MW_LEAK_HOLDERS. Behind the frames of a
 * block's stack come those of the nearest sampled block that leads to it, if there is one, and then
 * where the pointer is: an address in data, a stack, registers. It has the types inuse_objects,
 * inuse_space and samples, and the labels MW_LABEL_HELD and MW_LABEL_THROUGH. The caller frees it.
 */
mw_profile_t *mw_profile_of_held(const mw_snapshot_t *snapshot);
/* Makes a profile of the leaks in a snapshot that was read with MW_SNAPSHOT_STACKS,
 * MW_SNAPSHOT_RECORDS and MW_SNAPSHOT_LEAKS: samples that the last leak check found leaked and that
 * were not freed since; with `earlier`, those among them that an earlier check of the process
 * found, too.  It has the types inuse_objects, inuse_space, inuse_requested, samples and
 * below_space (bytes of leaked blocks that hang below the objects), and the labels MW_LABEL_SIZE,
 * MW_LABEL_THREAD, MW_LABEL_THREAD_ID and those of leaked objects.  The values are the check's
 * sums by size class, divided as the samples are.  The caller frees it. */
mw_profile_t *mw_profile_of_leaks(const mw_snapshot_t *snapshot, const mw_snapshot_t *earlier);

/* What the samples of a leak check say of the number of leaked blocks. */
typedef struct mw_leak_estimate {
	bool is_more; /* significantly more than the check found, in a size class */
	double blocks, bytes;
	/* of size classes and kinds without a sample: no stack stands for them */
	uint64_t unsampled_bytes;
} mw_leak_estimate_t;

/* Estimates what leaked by the sampled blocks alone, of a snapshot as for mw_profile_of_leaks(). A
 * pointer to the end of an array hides the block behind, but no sampled one. */
mw_leak_estimate_t mw_leaks_estimate(const mw_snapshot_t *snapshot);

/* Makes a profile of the CPU samples of a snapshot that was read with MW_SNAPSHOT_STACKS and
 * MW_SNAPSHOT_CPU.  It has the types samples/count and cpu/nanoseconds, and the labels
 * MW_LABEL_THREAD and MW_LABEL_THREAD_ID.  The caller frees it. */
mw_profile_t *mw_profile_of_cpu(const mw_snapshot_t *snapshot);

#endif
