/* SPDX-License-Identifier: MIT
 * state_file.c -- copies a state file. check_snapshot.c checks the copy, snapshot.c makes a profile
 * of it. */
#include "formats/state/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/file/state_header.h"
#include "formats/state/check_snapshot.h"
#include "model/memory.h"

/* Most entries of a section that are read, so that a hostile header cannot make the command
 * allocate all memory.  Each limit is at least four times the library's own.  Parts that are
 * holes in the file cost only address space. */
static const uint64_t section_limits[MW_SECTION_COUNT] = {
	[MW_SECTION_CONTROL] = 1,
	[MW_SECTION_LIVE] = 1,
	[MW_SECTION_MODULES] = MW_FRAME_MODULE_MAX - 1, /* the last number is the kernel's */
	[MW_SECTION_STACKS] = (uint64_t)1 << 22,
	[MW_SECTION_FRAMES] = (uint64_t)1 << 26,
	[MW_SECTION_NODES] = (uint64_t)1 << 26,
	[MW_SECTION_RECORDS] = (uint64_t)1 << 23,
	[MW_SECTION_TIMELINE] = (uint64_t)1 << 20,
	[MW_SECTION_EVENTS] = (uint64_t)1 << 20,
	[MW_SECTION_LIFETIMES] = (uint64_t)1 << 22,
	[MW_SECTION_SIZES] = (uint64_t)1 << 23,
	[MW_SECTION_THREADS] = (uint64_t)1 << 12,
	[MW_SECTION_CLASSES] = (uint64_t)1 << 10,
	[MW_SECTION_RANGES] = (uint64_t)1 << 14,
	[MW_SECTION_CPU] = (uint64_t)1 << 20,
	[MW_SECTION_LEAK_CHECK] = 1,
	[MW_SECTION_LEAKS] = (uint64_t)1 << 22,
	[MW_SECTION_CHUNKS] = (uint64_t)1 << 16,
	[MW_SECTION_FUNCTIONS] = (uint64_t)1 << 20,
	[MW_SECTION_TEXTS] = (uint64_t)1 << 24,
};

/* Most times that a file is read because the process takes stacks out meanwhile. */
#define READ_ATTEMPTS 5u

/* A file that is being read, and the snapshot that it is read into. */
typedef struct source {
	int fd;
	const char *name;
	mw_error_t *error;
	mw_snapshot_t *snapshot;
	unsigned attempts;    /* to read the whole file */
	uint32_t collections; /* live.collections before this attempt */
} source_t;

static int read_exactly(const source_t *s, void *into, uint64_t offset, size_t length) {
	return mw_state_file_read_exactly(s->fd, s->name, into, offset, length, s->error);
}

/* Copies `length` bytes into zeroed memory, and skips holes of the file. */
static int read_sparse(const source_t *s, void *into, uint64_t offset, size_t length) {
	uint64_t end = offset + length, at = offset;
	while (at < end) {
		off_t data = lseek(s->fd, (off_t)at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break; /* the rest is a hole */
		off_t hole = data < 0 ? -1 : lseek(s->fd, data, SEEK_HOLE);
		/* The file system does not support SEEK_DATA: everything is read. */
		if (data < 0 || hole < 0) {
			data = (off_t)at;
			hole = (off_t)end;
		}
		uint64_t from = (uint64_t)data, to = (uint64_t)hole < end ? (uint64_t)hole : end;
		if (from >= end)
			break;
		if (to <= from)
			to = end; /* the file became shorter between the two calls */
		if (read_exactly(s, (char *)into + (from - offset), from, to - from) != 0)
			return -1;
		at = to;
	}
	return 0;
}

/* Returns the file offset of entry `from` of a section, and how many entries follow each other
 * there without a gap. */
static uint64_t place_of(const mw_state_section_t *section, size_t from, size_t *neighbours) {
	bool is_first = from < section->first_entries;
	*neighbours = is_first ? section->first_entries - from : SIZE_MAX;
	return (is_first ? section->first_offset_bytes : section->offset_bytes) +
	       from * (uint64_t)section->stride_bytes;
}

static int check_count(const source_t *s, mw_state_section_id_t id, size_t count) {
	if (count <= section_limits[id])
		return 0;
	return mw_error_set(s->error,
			    "%s: says it uses %zu entries of %s, more than the %" PRIu64
			    " this version reads; the file is damaged",
			    s->name, count, mw_snapshot_section_name(id), section_limits[id]);
}

/* Reads `count` entries of a section from number `first` on into memory of zeros: entries in holes
 * of the file stay zero. */
static int read_entries(const source_t *s, mw_state_section_id_t id, size_t first, size_t count,
			char *into) {
	const mw_state_section_t *section = &s->snapshot->header.sections[id];
	size_t stride = mw_state_stride(id);
	for (size_t done = 0, here; done < count; done += here) {
		uint64_t offset = place_of(section, first + done, &here);
		here = here < count - done ? here : count - done;
		if (read_sparse(s, into + done * stride, offset, here * stride) != 0)
			return -1;
	}
	return 0;
}

/* Returns the first `count` entries of a section; entries in holes of the file are zero.  NULL:
 * error. */
static void *read_section(const source_t *s, mw_state_section_id_t id, size_t count) {
	if (check_count(s, id, count) != 0)
		return NULL;
	char *entries = mw_xcalloc(count, mw_state_stride(id));
	if (read_entries(s, id, 0, count, entries) == 0)
		return entries;
	free(entries);
	return NULL;
}

/* Reads the live page and limits its counts to the sections' capacities. */
static int read_live(const source_t *s, mw_state_live_t *live) {
	const mw_state_section_t *sections = s->snapshot->header.sections;
	if (read_exactly(s, live, sections[MW_SECTION_LIVE].offset_bytes, sizeof(*live)) != 0)
		return -1;
	struct {
		_Atomic uint64_t *count;
		mw_state_section_id_t id;
	} counts[] = {
		{&live->modules_used, MW_SECTION_MODULES},
		{&live->stacks_used, MW_SECTION_STACKS},
		{&live->frames_used, MW_SECTION_FRAMES},
		{&live->nodes_used, MW_SECTION_NODES},
		{&live->records_used, MW_SECTION_RECORDS},
		{&live->ticks_written, MW_SECTION_TIMELINE},
		{&live->lifetimes_used, MW_SECTION_LIFETIMES},
		{&live->sizes_used, MW_SECTION_SIZES},
		{&live->cpu_used, MW_SECTION_CPU},
		{&live->functions_used, MW_SECTION_FUNCTIONS},
		{&live->texts_used, MW_SECTION_TEXTS},
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (*counts[i].count > sections[counts[i].id].capacity)
			*counts[i].count = sections[counts[i].id].capacity;
	if (live->stat_count > MW_STAT_CAPACITY)
		live->stat_count = MW_STAT_CAPACITY;
	return 0;
}

/* Reads the stacks' counters, then the live page: everything that these stacks refer to was
 * counted before.  If a new peak began meanwhile, the stacks hold values of two peaks, so they
 * are read again. */
static int read_counters(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	/* A process whose heap grows all the time may begin a new peak during every attempt.
	 * After the fifth attempt the peak is incomplete by origin.peak_gap_bytes (mw_origin_t). */
	for (int attempt = 0; attempt < 5; attempt++) {
		uint32_t peak_number = snapshot->live.peak_number;
		free(snapshot->stacks);
		snapshot->stack_count = (size_t)snapshot->live.stacks_used;
		snapshot->stacks = read_section(s, MW_SECTION_STACKS, snapshot->stack_count);
		if (snapshot->stacks == NULL || read_live(s, &snapshot->live) != 0)
			return -1;
		if (snapshot->live.peak_number == peak_number)
			break;
	}
	snapshot->live.stacks_used = snapshot->stack_count;
	snapshot->life_count = (size_t)snapshot->live.lifetimes_used;
	snapshot->size_count = (size_t)snapshot->live.sizes_used;
	if ((snapshot->lifetimes = read_section(s, MW_SECTION_LIFETIMES, snapshot->life_count)) !=
	    NULL)
		snapshot->sizes = read_section(s, MW_SECTION_SIZES, snapshot->size_count);
	return snapshot->sizes == NULL ? -1 : 0;
}

/* Functions of scripts and their texts: those of all frames were counted before the frames. */
static int read_functions(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	snapshot->function_count = (size_t)snapshot->live.functions_used;
	snapshot->text_count = (size_t)snapshot->live.texts_used;
	snapshot->functions = read_section(s, MW_SECTION_FUNCTIONS, snapshot->function_count);
	if (snapshot->functions != NULL)
		snapshot->texts = read_section(s, MW_SECTION_TEXTS, snapshot->text_count);
	return snapshot->texts == NULL ? -1 : 0;
}

static int read_stacks(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	if (read_counters(s) != 0)
		return -1;
	snapshot->node_count = (size_t)snapshot->live.nodes_used;
	snapshot->frame_count = (size_t)snapshot->live.frames_used;
	snapshot->module_count = (size_t)snapshot->live.modules_used;
	if ((snapshot->nodes = read_section(s, MW_SECTION_NODES, snapshot->node_count)) != NULL &&
	    (snapshot->frames = read_section(s, MW_SECTION_FRAMES, snapshot->frame_count)) != NULL)
		snapshot->modules = read_section(s, MW_SECTION_MODULES, snapshot->module_count);
	if (snapshot->modules == NULL || read_functions(s) != 0)
		return -1;
	for (size_t i = 0; i < snapshot->module_count; i++) {
		mw_state_module_t *module = &snapshot->modules[i];
		module->path[sizeof(module->path) - 1] = '\0';
		if (module->build_id_bytes > sizeof(module->build_id))
			module->build_id_bytes = 0;
	}
	mw_snapshot_check_stacks(snapshot);
	return 0;
}

/* True for a live sample of the current generation whose stack exists. */
static bool record_counts(const mw_snapshot_t *snapshot, const mw_state_record_t *record) {
	return record->stack != MW_RECORD_FREE && record->address != 0 &&
	       record->generation == snapshot->live.generation &&
	       record->stack < snapshot->live.stacks_used;
}

/* Reads one record until it is consistent.  False: the process wrote to it during every attempt. */
static bool reread_record(const source_t *s, size_t number, mw_state_record_t *record) {
	size_t neighbours;
	uint64_t offset =
		place_of(&s->snapshot->header.sections[MW_SECTION_RECORDS], number, &neighbours);
	/* A writer needs well under a microsecond.  Eight attempts suffice unless the writer is
	 * preempted. */
	for (int attempt = 0; attempt < 8; attempt++) {
		uint32_t after;
		if (pread(s->fd, record, sizeof(*record), (off_t)offset) != sizeof(*record) ||
		    pread(s->fd, &after, sizeof(after), (off_t)offset) != sizeof(after))
			return false;
		if (after == record->sequence && after % 2 == 0)
			return true;
	}
	return false;
}

/* Reads the names of threads.  They are in a ring, whose order does not matter. */
static int read_threads(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	uint64_t capacity = snapshot->header.sections[MW_SECTION_THREADS].capacity;
	uint64_t written = snapshot->live.threads_written;
	snapshot->thread_count = (size_t)(written < capacity ? written : capacity);
	snapshot->threads = read_section(s, MW_SECTION_THREADS, snapshot->thread_count);
	if (snapshot->threads == NULL)
		return -1;
	for (size_t i = 0; i < snapshot->thread_count; i++)
		snapshot->threads[i].name[sizeof(snapshot->threads[i].name) - 1] = '\0';
	return 0;
}

/* Reads the CPU samples.  Called before the stacks are read: those hold every stack that a sample
 * has by now. */
static int read_cpu(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	snapshot->cpu_count = (size_t)snapshot->live.cpu_used;
	snapshot->cpu = read_section(s, MW_SECTION_CPU, snapshot->cpu_count);
	if (snapshot->cpu == NULL)
		return -1;
	return read_live(s, &snapshot->live);
}

static size_t capped(const mw_snapshot_t *snapshot, mw_state_section_id_t id, uint64_t count) {
	uint64_t capacity = snapshot->header.sections[id].capacity;
	return (size_t)(count < capacity ? count : capacity);
}

/* Reads the results of the last heap walk, again if the process was writing them. */
static int read_heap_walk(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	/* A process writes the results in microseconds, or in milliseconds if its heap has many
	 * gigabytes.  A process that was killed meanwhile leaves them incomplete. */
	for (int attempt = 0; attempt < 4; attempt++) {
		mw_state_live_t *live = &snapshot->live;
		uint64_t sequence = live->heap_walk_sequence;
		free(snapshot->classes);
		free(snapshot->ranges);
		free(snapshot->chunks);
		snapshot->chunks = NULL;
		snapshot->class_count = capped(snapshot, MW_SECTION_CLASSES, live->classes_used);
		snapshot->range_count = capped(snapshot, MW_SECTION_RANGES, live->ranges_used);
		snapshot->classes = read_section(s, MW_SECTION_CLASSES, snapshot->class_count);
		snapshot->ranges = snapshot->classes == NULL ? NULL
							     : read_section(s, MW_SECTION_RANGES,
									    snapshot->range_count);
		snapshot->chunk_count = capped(snapshot, MW_SECTION_CHUNKS, live->chunks_used);
		if (snapshot->ranges != NULL)
			snapshot->chunks =
				read_section(s, MW_SECTION_CHUNKS, snapshot->chunk_count);
		if (snapshot->chunks == NULL || read_live(s, live) != 0)
			return -1;
		if (live->heap_walk_sequence == sequence && sequence % 2 == 0)
			return 0;
		usleep(2000);
	}
	snapshot->class_count = snapshot->range_count = snapshot->chunk_count = 0;
	return 0;
}

/* Records that are read at once.  Most records of a process that frees its blocks are free: they
 * are left out while they are in the processor's cache. */
#define RECORDS_AT_ONCE 4096u

typedef struct records_piece {
	mw_state_record_t first[RECORDS_AT_ONCE], second[RECORDS_AT_ONCE];
} records_piece_t;

/* Adds the live samples among `count` records from number `number` on to the snapshot, which has
 * room.  Copies each record twice: if the sequence number is even and equal in both copies, nobody
 * wrote to the record while the first copy was made. */
static int read_piece(const source_t *s, records_piece_t *piece, size_t number, size_t count) {
	mw_snapshot_t *snapshot = s->snapshot;
	memset(piece, 0, sizeof(*piece));
	if (read_entries(s, MW_SECTION_RECORDS, number, count, (char *)piece->first) != 0 ||
	    read_entries(s, MW_SECTION_RECORDS, number, count, (char *)piece->second) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		mw_state_record_t *record = &piece->first[i];
		bool whole =
			record->sequence == piece->second[i].sequence && record->sequence % 2 == 0;
		if (!whole && !reread_record(s, number + i, record))
			continue;
		if (!record_counts(snapshot, record))
			continue;
		/* MW_SECTION_LEAKS refers to records by number. */
		record->reserved = number + i;
		snapshot->records[snapshot->record_count++] = *record;
	}
	return 0;
}

static int read_records(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	size_t count = (size_t)snapshot->live.records_used, room = 0;
	snapshot->records = mw_xcalloc(1, sizeof(*snapshot->records));
	if (check_count(s, MW_SECTION_RECORDS, count) != 0)
		return -1;
	records_piece_t *piece = mw_xcalloc(1, sizeof(*piece));
	int result = 0;
	for (size_t at = 0; at < count && result == 0; at += RECORDS_AT_ONCE) {
		size_t here = count - at < RECORDS_AT_ONCE ? count - at : RECORDS_AT_ONCE;
		if (room - snapshot->record_count < here) {
			room = 2 * snapshot->record_count + here;
			snapshot->records =
				mw_xrealloc(snapshot->records, room, sizeof(*snapshot->records));
		}
		result = read_piece(s, piece, at, here);
	}
	free(piece);
	return result;
}

/* Reads the last leak check.  The copy of the process, which writes it, writes `state` last. */
static int read_leaks(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	mw_state_leak_check_t *check = read_section(s, MW_SECTION_LEAK_CHECK, 1);
	if (check == NULL)
		return -1;
	snapshot->leak_check = *check;
	free(check);
	if (snapshot->leak_check.class_count > MW_LEAK_CLASS_CAPACITY)
		snapshot->leak_check.class_count = MW_LEAK_CLASS_CAPACITY;
	bool is_done = snapshot->leak_check.state == MW_LEAK_CHECK_DONE;
	snapshot->leak_count =
		is_done ? capped(snapshot, MW_SECTION_LEAKS, snapshot->leak_check.leaks_used) : 0;
	snapshot->leaks = read_section(s, MW_SECTION_LEAKS, snapshot->leak_count);
	return snapshot->leaks == NULL ? -1 : 0;
}

/* Reads the events.  They are in a ring, which is rotated so that the oldest event comes first. */
static int read_events(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	uint64_t capacity = snapshot->header.sections[MW_SECTION_EVENTS].capacity;
	uint64_t written = snapshot->live.events_written;
	size_t count = (size_t)(written < capacity ? written : capacity);
	mw_state_event_t *ring = read_section(s, MW_SECTION_EVENTS, count);
	if (ring == NULL)
		return -1;
	size_t oldest = written > capacity ? (size_t)(written % capacity) : 0;
	snapshot->events = mw_xcalloc(count, sizeof(*ring));
	memcpy(snapshot->events, ring + oldest, (count - oldest) * sizeof(*ring));
	memcpy(snapshot->events + count - oldest, ring, oldest * sizeof(*ring));
	snapshot->event_count = count;
	free(ring);
	return 0;
}

/* Reads the ticks.  They are ordered by time, except ticks that the process has not moved yet
 * while it thins out the timeline. */
static int read_ticks(const source_t *s) {
	mw_snapshot_t *snapshot = s->snapshot;
	size_t count = (size_t)snapshot->live.ticks_written, kept = 0;
	mw_state_tick_t *ticks = read_section(s, MW_SECTION_TIMELINE, count);
	snapshot->ticks = ticks;
	if (ticks == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (ticks[i].time_ns > (kept > 0 ? ticks[kept - 1].time_ns : 0))
			ticks[kept++] = ticks[i];
	snapshot->tick_count = kept;
	return 0;
}

static int read_all(source_t *s, unsigned what) {
	mw_snapshot_t *snapshot = s->snapshot;
	if (mw_state_header_read(s->fd, s->name, &snapshot->header, s->error) != 0 ||
	    mw_snapshot_check_sections(&snapshot->header, s->name, s->error) != 0 ||
	    read_live(s, &snapshot->live) != 0 ||
	    read_exactly(s, &snapshot->control,
			 snapshot->header.sections[MW_SECTION_CONTROL].offset_bytes,
			 sizeof(snapshot->control)) != 0)
		return -1;
	s->collections = snapshot->live.collections;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	snapshot->taken_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	/* Before the stacks, whose counts have to match the live page that is read with them. */
	if ((what & MW_SNAPSHOT_HEAP_WALK) != 0 && read_heap_walk(s) != 0)
		return -1;
	if ((what & MW_SNAPSHOT_CPU) != 0 && read_cpu(s) != 0)
		return -1;
	/* Before the records: each leak is a record that was there before. */
	if ((what & MW_SNAPSHOT_LEAKS) != 0 && read_leaks(s) != 0)
		return -1;
	if ((what & MW_SNAPSHOT_STACKS) != 0 && read_stacks(s) != 0)
		return -1;
	mw_snapshot_check_cpu(snapshot);
	if ((what & MW_SNAPSHOT_RECORDS) != 0 && read_records(s) != 0)
		return -1;
	if ((what & (MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_CPU)) != 0 && read_threads(s) != 0)
		return -1;
	if ((what & MW_SNAPSHOT_HISTORY) != 0 && (read_ticks(s) != 0 || read_events(s) != 0))
		return -1;
	uint64_t updated_ns = snapshot->live.updated_realtime_ns;
	bool has_ended = (what & MW_SNAPSHOT_OF_NOW) == 0 && !mw_state_file_is_held(s->fd) &&
			 updated_ns != 0 && updated_ns <= INT64_MAX;
	snapshot->time_ns = has_ended ? (int64_t)updated_ns : snapshot->taken_ns;
	return 0;
}

/* Returns whether the process took stacks out while their sections were read, so that a number may
 * stand for two stacks, and the sections are to be read again.  A collection takes milliseconds. A
 * process that was killed in one leaves the number odd, and every entry whole. */
static bool stacks_have_changed(source_t *s) {
	mw_state_live_t live;
	bool same = read_live(s, &live) == 0 && live.collections == s->collections;
	if ((same && live.collections % 2 == 0) || ++s->attempts >= READ_ATTEMPTS)
		return false;
	if (live.collections % 2 != 0)
		usleep(10000);
	return true;
}

int mw_snapshot_read_fd(int fd, const char *name, unsigned what, mw_snapshot_t **snapshot,
			mw_error_t *error) {
	source_t source = {.fd = fd, .name = name, .error = error};
	mw_memory_limit_begin(name);
	int result;
	do {
		mw_snapshot_free(source.snapshot);
		source.snapshot = mw_xcalloc(1, sizeof(mw_snapshot_t));
		result = read_all(&source, what);
	} while (result == 0 && stacks_have_changed(&source));
	mw_memory_limit_end();
	if (result != 0) {
		mw_snapshot_free(source.snapshot);
		return -1;
	}
	*snapshot = source.snapshot;
	return 0;
}

int mw_snapshot_read(const char *path, unsigned what, mw_snapshot_t **snapshot, mw_error_t *error) {
	int fd = mw_open_file(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot open: %s", path, strerror(errno));
	int result = mw_snapshot_read_fd(fd, path, what, snapshot, error);
	close(fd);
	return result;
}

void mw_snapshot_free(mw_snapshot_t *snapshot) {
	if (snapshot == NULL)
		return;
	free(snapshot->modules);
	free(snapshot->stacks);
	free(snapshot->nodes);
	free(snapshot->frames);
	free(snapshot->functions);
	free(snapshot->texts);
	free(snapshot->records);
	free(snapshot->ticks);
	free(snapshot->events);
	free(snapshot->lifetimes);
	free(snapshot->sizes);
	free(snapshot->threads);
	free(snapshot->classes);
	free(snapshot->ranges);
	free(snapshot->chunks);
	free(snapshot->cpu);
	free(snapshot->leaks);
	free(snapshot);
}
