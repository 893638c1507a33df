/* SPDX-License-Identifier: MIT
 * cleanup.c -- selects the files of dead processes that are removed. */
#include "prof/store/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/time/clock.h"
#include "state/layout.h"

#define SECOND_NS ((uint64_t)1000000000)
/* Of files of forked children that ended by _exit(2) half as many are kept. Servers fork hundreds
 * of such children, whose files would displace those of killed processes. */
#define QUIT_SHARE 2u
/* Most names that one cleanup reads. It then delays a starting process by about ten milliseconds:
 * to open a file, test its lock and close it takes two microseconds. */
#define NAMES_MAX 4096u
#define DEAD_MAX 256u
/* The program needs the file system, too. */
#define FILE_SYSTEM_SHARE 4u
/* A file that has had no magic for this long is not being created any more. */
#define MAKING_NS (60 * SECOND_NS)
#define NAME_BYTES 72u
/* Size of the buffer for names, about 25 of them. The buffer is on the stack of the program's
 * thread. */
#define NAMES_BYTES 1024u

typedef struct dead_file {
	char name[NAME_BYTES];
	uint64_t updated_ns;
	uint64_t allocated_bytes;
	bool quit; /* true: a forked child that ended by _exit(2) */
} dead_file_t;

/* Not on the stack of the program's thread. Protected by the control lock. */
static struct {
	uint64_t keep_ns, keep_bytes;
	unsigned keep_files;
} limits = {
	/* one day: a crash can be examined the next morning */
	.keep_ns = 24 * 3600 * SECOND_NS,
	.keep_bytes = (uint64_t)256 << 20,
	.keep_files = 64,
};

/* Separate from small variables: if no files were left, no page of the list is touched. */
static MW_SPARSE dead_file_t dead_files[DEAD_MAX];
static unsigned dead_count;

static const char *parse_number(const char *text, uint64_t *number) {
	const char *cursor = text;
	for (*number = 0; *cursor >= '0' && *cursor <= '9' && cursor - text < 19; cursor++)
		*number = *number * 10 + (uint64_t)(*cursor - '0');
	return cursor == text ? NULL : cursor;
}

/* Returns whether the whole name is "<pid>.<start_ticks>.<pid_namespace>". */
static bool is_name(const char *name) {
	uint64_t number;
	const char *end = parse_number(name, &number);
	for (int more = 0; more < 2 && end; more++)
		end = *end == '.' ? parse_number(end + 1, &number) : NULL;
	return end && *end == '\0' && mw_strlen(name) < NAME_BYTES;
}

bool mw_cleanup_is_held(int directory, const char *name) {
	int file = mw_os_open(directory, name, MW_OS_REWRITE);
	bool is_held = file >= 0 && mw_os_is_byte_locked(file, MW_STATE_ALIVE_LOCK);
	if (file >= 0)
		mw_os_close(file);
	return is_held;
}

/* Reads the time of the last update from the live section. Stores through a mapping do not change
 * the file's own time, so the file of a process that ran for a month would seem old. */
static void read_live(int file, const mw_state_header_t *header, dead_file_t *entry) {
	uint64_t live = header->sections[MW_SECTION_LIVE].offset_bytes, updated_ns = 0;
	uint32_t flags = 0;
	entry->quit = header->parent_pid != 0 &&
		      mw_os_read_at(file, &flags, sizeof flags,
				    live + offsetof(mw_state_live_t, flags)) == sizeof flags &&
		      flags & MW_STATE_QUIT;
	uint64_t at = live + offsetof(mw_state_live_t, updated_realtime_ns);
	if (mw_os_read_at(file, &updated_ns, sizeof updated_ns, at) == sizeof updated_ns &&
	    updated_ns > entry->updated_ns && updated_ns <= mw_os_realtime_ns())
		entry->updated_ns = updated_ns;
}

/* Returns false if the file's process is alive or may be creating the file. */
static bool is_left_behind(int file, dead_file_t *entry) {
	mw_state_header_t header = {.layout_version = 0};
	mw_os_file_info_t info;
	if (mw_os_is_byte_locked(file, MW_STATE_ALIVE_LOCK) ||
	    mw_os_file_info(file, &info) != MW_OK || info.is_directory)
		return false;
	entry->updated_ns = info.modified_ns;
	entry->allocated_bytes = info.allocated_bytes;
	long bytes = mw_os_read_at(file, &header, offsetof(mw_state_header_t, library_version), 0);
	/* A process writes the magic after it has taken the lock. */
	if (bytes < 0 || !mw_same_bytes(header.magic, MW_STATE_MAGIC, sizeof header.magic))
		return mw_os_realtime_ns() - info.modified_ns > MAKING_NS;
	if (header.layout_version == MW_STATE_VERSION)
		read_live(file, &header, entry);
	return true;
}

static void consider(int directory, const char *name) {
	int file = is_name(name) ? mw_os_open(directory, name, MW_OS_REWRITE) : -1;
	if (file < 0)
		return;
	dead_file_t *entry = &dead_files[dead_count];
	*entry = (dead_file_t){.updated_ns = 0};
	if (is_left_behind(file, entry)) {
		memcpy(entry->name, name, mw_strlen(name) + 1);
		dead_count++;
	}
	mw_os_close(file);
}

static void collect(int directory, const char *own_name) {
	_Alignas(8) char names[NAMES_BYTES];
	dead_count = 0;
	mw_os_list_again(directory);
	for (unsigned seen = 0; seen < NAMES_MAX && dead_count < DEAD_MAX;) {
		long bytes = mw_os_list(directory, names, sizeof names);
		if (bytes <= 0)
			return;
		size_t position = 0;
		const char *name;
		while (seen < NAMES_MAX && dead_count < DEAD_MAX &&
		       (name = mw_os_next_name(names, (size_t)bytes, &position))) {
			seen++;
			if (mw_strcmp(name, own_name) != 0)
				consider(directory, name);
		}
	}
}

/* Sorts newest first, by insertion: there are few files, and qsort(3) may allocate. */
static void sort_files(void) {
	for (unsigned i = 1; i < dead_count; i++) {
		dead_file_t file = dead_files[i];
		unsigned k = i;
		for (; k > 0 && dead_files[k - 1].updated_ns < file.updated_ns; k--)
			dead_files[k] = dead_files[k - 1];
		dead_files[k] = file;
	}
}

void mw_cleanup_configure(uint64_t age_seconds, unsigned files, uint64_t total_bytes) {
	limits.keep_ns = age_seconds * SECOND_NS;
	limits.keep_files = files;
	limits.keep_bytes = total_bytes;
}

static uint64_t most_bytes(int directory) {
	uint64_t share = mw_os_file_system(directory, NULL).bytes / FILE_SYSTEM_SHARE;
	return share > 0 && share < limits.keep_bytes ? share : limits.keep_bytes;
}

void mw_cleanup_run(int directory, const char *own_name) {
	collect(directory, own_name);
	sort_files();
	uint64_t now = mw_os_realtime_ns(), bytes = 0, keep_bytes = most_bytes(directory);
	unsigned kept = 0, kept_quit = 0;
	for (unsigned i = 0; i < dead_count; i++) {
		const dead_file_t *file = &dead_files[i];
		bytes += file->allocated_bytes;
		bool old = file->updated_ns < now && now - file->updated_ns > limits.keep_ns;
		if (old || kept >= limits.keep_files || bytes > keep_bytes ||
		    (file->quit && kept_quit >= limits.keep_files / QUIT_SHARE)) {
			mw_os_remove(directory, file->name);
			continue;
		}
		kept++;
		kept_quit += file->quit;
	}
}

unsigned mw_cleanup_make_room(int directory, const char *own_name, uint64_t bytes) {
	unsigned removed = 0;
	uint64_t removed_bytes = 0;
	collect(directory, own_name);
	sort_files();
	for (unsigned i = dead_count; i-- > 0 && removed_bytes < bytes;) {
		if (mw_os_remove(directory, dead_files[i].name) != MW_OK)
			continue;
		removed_bytes += dead_files[i].allocated_bytes;
		removed++;
	}
	return removed;
}
