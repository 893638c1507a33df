/* SPDX-License-Identifier: MIT
 * mallow_files.c -- reads the files of a process's code in another process. */
#include "live/process/mallow_files.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "live/files/apart.h"
#include "live/files/own_allocator.h"
#include "live/process/maps.h"
#include "live/process/process.h"
#include "model/memory.h"

/* How long the files of one process are read.  A file takes some 20 us, or a disk's access. */
#define READING_MS 2000
/* Number of files that may take all of that time. */
#define LATE_FILES_MAX 2u
/* Most files of one process that are read. */
#define FILES_MAX 4096u

typedef enum verdict { NOT_READ, READING, OTHER, MALLOW } verdict_t;

typedef struct file {
	int pid; /* whose file it is: its path may lead to another one elsewhere */
	dev_t device;
	ino_t inode;
	bool is_anywhere; /* the path led to this very file: it is known for all processes */
	bool is_mallow;
} file_t;

static struct {
	file_t *items;
	size_t count, capacity;
} known;

static const file_t *find(int pid, dev_t device, ino_t inode) {
	for (size_t i = 0; i < known.count; i++) {
		const file_t *file = &known.items[i];
		if (file->inode == inode && file->device == device &&
		    (file->is_anywhere || file->pid == pid))
			return file;
	}
	return NULL;
}

bool mw_mallow_files_has(int pid, dev_t device, ino_t inode) {
	const file_t *file = inode != 0 ? find(pid, device, inode) : NULL;
	return file != NULL && file->is_mallow;
}

/* A file to be read. */
typedef struct candidate {
	dev_t device;
	ino_t inode;
	char *path;
} candidate_t;

/* The reading process writes one of these for each file. */
typedef struct result {
	verdict_t verdict;
	ino_t inode; /* of the file that was read */
} result_t;

typedef struct reading {
	candidate_t *files;
	size_t count, capacity;
	result_t *results; /* in memory that both processes share */
	int pid;
	bool is_first_enough; /* the files behind one that is mallow are not read */
} reading_t;

static bool is_listed(const reading_t *reading, const mw_map_t *map) {
	for (size_t i = 0; i < reading->count; i++)
		if (reading->files[i].inode == map->inode &&
		    reading->files[i].device == map->device)
			return true;
	return false;
}

/* Lists the files that are not known yet.  Returns whether a known one is mallow. */
static bool list_files(reading_t *reading) {
	mw_maps_t maps;
	mw_map_t map;
	bool found = false;
	if (!mw_maps_open(&maps, reading->pid))
		return false;
	while (!found && reading->count < FILES_MAX && mw_maps_next(&maps, " r-xp ", &map)) {
		if (map.inode == 0 || map.name[0] != '/' || is_listed(reading, &map))
			continue;
		if (find(reading->pid, map.device, map.inode) != NULL) {
			found = mw_mallow_files_has(reading->pid, map.device, map.inode);
			continue;
		}
		reading->files = mw_grow(reading->files, &reading->capacity, reading->count + 1,
					 sizeof(candidate_t));
		reading->files[reading->count++] = (candidate_t){
			.device = map.device, .inode = map.inode, .path = mw_xstrdup(map.name)};
	}
	mw_maps_close(&maps);
	return found;
}

/* In the process that may never end: nothing but the results leaves it. */
static mw_apart_outcome_t read_files(const void *context, mw_error_t *error) {
	const reading_t *reading = context;
	char path[PATH_MAX + 64];
	(void)error;
	for (size_t i = 0; i < reading->count; i++) {
		volatile result_t *result = &reading->results[i];
		if (result->verdict != NOT_READ)
			continue;
		ino_t inode = 0;
		result->verdict = READING;
		mw_process_file(reading->pid, reading->files[i].path, path, sizeof(path));
		bool is_mallow = mw_file_has_mallow(path, &inode);
		result->inode = inode;
		result->verdict = is_mallow ? MALLOW : OTHER;
		if (is_mallow && reading->is_first_enough)
			break;
	}
	return MW_APART_DONE;
}

/* Keeps what was found out.  A file that was not read in time is not tried again. */
static bool keep(const reading_t *reading) {
	bool found = false;
	for (size_t i = 0; i < reading->count; i++) {
		const candidate_t *file = &reading->files[i];
		result_t result = reading->results[i];
		if (result.verdict == NOT_READ && reading->is_first_enough)
			break;
		known.items =
			mw_grow(known.items, &known.capacity, known.count + 1, sizeof(file_t));
		known.items[known.count++] = (file_t){.pid = reading->pid,
						      .device = file->device,
						      .inode = file->inode,
						      .is_anywhere = result.inode == file->inode,
						      .is_mallow = result.verdict == MALLOW};
		found |= result.verdict == MALLOW;
	}
	return found;
}

static bool read_all(reading_t *reading, mw_reading_t how) {
	size_t bytes = reading->count * sizeof(result_t);
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	reading->results = shared;
	if (how == MW_READ_HERE)
		read_files(reading, NULL);
	for (unsigned late = 0; how == MW_READ_APART && late < LATE_FILES_MAX; late++)
		if (mw_apart_do(read_files, reading, READING_MS / (int)LATE_FILES_MAX, NULL) !=
		    MW_APART_LATE)
			break;
	bool found = keep(reading);
	/* A process that is late has a mapping of its own. */
	munmap(shared, bytes);
	return found;
}

bool mw_mallow_files_read(int pid, mw_reading_t how) {
	reading_t reading = {.pid = pid, .is_first_enough = how == MW_READ_HERE};
	bool found = list_files(&reading);
	if (reading.count > 0)
		found |= read_all(&reading, how);
	for (size_t i = 0; i < reading.count; i++)
		free(reading.files[i].path);
	free(reading.files);
	return found;
}
