/* SPDX-License-Identifier: MIT
 * stale.c -- what is kept of the files of dead processes, and what goes. */
#include "prof/stale.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "state/layout.h"

#define SECOND_NS ((uint64_t)1000000000)
/* Of children that were forked and left by _exit(2), which servers make by the hundred, half as
 * many: they would push out those that were killed. */
#define LEFT_SHARE 2u
/* A full directory costs a starting process about a millisecond: to read a name and ask whether
 * there is such a process takes a quarter of a microsecond. */
#define NAMES_MAX 4096u
#define DEAD_MAX 256u
/* To compare start times takes ten: each start does it for one process in so many. */
#define COMPARE_SHARE 16u
#define NAME_BYTES 40u
/* Read at a time, some 25 of them: on a stack that is a thread of the program's. */
#define NAMES_BYTES 1024u

typedef struct stale_file {
	char name[NAME_BYTES];
	uint64_t updated_ns;
	uint64_t allocated_bytes;
	bool left; /* forked, and left by _exit(2) */
} stale_file_t;

/* Not on the stack, which is a thread of the program's; guarded by the control lock. */
static struct {
	uint64_t keep_ns, keep_bytes;
	unsigned keep_files;
} limits = {
	/* Long enough to come back to a crash on the next morning. */
	.keep_ns = 24 * 3600 * SECOND_NS,
	.keep_bytes = (uint64_t)256 << 20,
	.keep_files = 64,
};

/* Beside the small variables: where nothing is stale, no page of the list is touched. */
static MW_SPARSE stale_file_t dead_files[DEAD_MAX];
static unsigned dead_count;

static const char *parse_number(const char *text, uint64_t *number) {
	const char *cursor = text;
	for (*number = 0; *cursor >= '0' && *cursor <= '9' && cursor - text < 19; cursor++)
		*number = *number * 10 + (uint64_t)(*cursor - '0');
	return cursor == text ? NULL : cursor;
}

/* "<pid>.<start_ticks>", and no more. */
static bool parse_name(const char *name, uint32_t *pid, uint64_t *ticks) {
	uint64_t number;
	const char *dot = parse_number(name, &number);
	if (!dot || *dot != '.' || number > INT32_MAX || strlen(name) >= NAME_BYTES)
		return false;
	*pid = (uint32_t)number;
	const char *end = parse_number(dot + 1, ticks);
	return end && *end == '\0';
}

/* In doubt it is: a pid that was used again is noticed by one start in COMPARE_SHARE. */
static bool is_running(uint32_t pid, uint64_t ticks) {
	if (!mw_os_process_exists(pid))
		return false;
	if ((pid ^ mw_os_process_id()) % COMPARE_SHARE != 0)
		return true;
	uint64_t now = mw_os_start_ticks(pid);
	return now == 0 || ticks == 0 || now == ticks;
}

/* Writing through a mapping leaves the file's own time alone, so a process that ran for a month and
 * was killed a moment ago has an old one: the time in the live section is asked too. */
static void read_header(int file, stale_file_t *entry) {
	mw_state_header_t header = {.layout_version = 0};
	if (mw_os_read_at(file, &header, offsetof(mw_state_header_t, library_version), 0) < 0 ||
	    !mw_same_bytes(header.magic, MW_STATE_MAGIC, sizeof header.magic) ||
	    header.layout_version != MW_STATE_VERSION)
		return;
	uint64_t live = header.sections[MW_SECTION_LIVE].offset_bytes, updated_ns = 0;
	uint32_t flags = 0;
	entry->left = header.parent_pid != 0 &&
		      mw_os_read_at(file, &flags, sizeof flags,
				    live + offsetof(mw_state_live_t, flags)) == sizeof flags &&
		      flags & MW_STATE_LEFT;
	uint64_t at = live + offsetof(mw_state_live_t, updated_realtime_ns);
	if (mw_os_read_at(file, &updated_ns, sizeof updated_ns, at) == sizeof updated_ns &&
	    updated_ns > entry->updated_ns && updated_ns <= mw_os_realtime_ns())
		entry->updated_ns = updated_ns;
}

static void consider(int directory, const char *name) {
	uint32_t pid;
	uint64_t ticks;
	if (!parse_name(name, &pid, &ticks) || is_running(pid, ticks))
		return;
	int file = mw_os_open(directory, name, MW_OS_REWRITE);
	if (file < 0)
		return;
	mw_os_file_info_t info;
	if (mw_os_file_info(file, &info) == MW_OK && !info.is_directory) {
		stale_file_t *entry = &dead_files[dead_count++];
		*entry = (stale_file_t){.updated_ns = info.modified_ns,
					.allocated_bytes = info.allocated_bytes};
		memcpy(entry->name, name, strlen(name) + 1);
		read_header(file, entry);
	}
	mw_os_close(file);
}

static void collect(int directory, const char *own_name) {
	_Alignas(8) char names[NAMES_BYTES];
	dead_count = 0;
	for (unsigned seen = 0; seen < NAMES_MAX && dead_count < DEAD_MAX;) {
		long bytes = mw_os_list(directory, names, sizeof names);
		if (bytes <= 0)
			return;
		size_t position = 0;
		const char *name;
		while (seen < NAMES_MAX && dead_count < DEAD_MAX &&
		       (name = mw_os_next_name(names, (size_t)bytes, &position))) {
			seen++;
			if (strcmp(name, own_name) != 0)
				consider(directory, name);
		}
	}
}

/* Newest first.  Insertion: there are few, and qsort(3) may allocate. */
static void sort_files(void) {
	for (unsigned i = 1; i < dead_count; i++) {
		stale_file_t file = dead_files[i];
		unsigned k = i;
		for (; k > 0 && dead_files[k - 1].updated_ns < file.updated_ns; k--)
			dead_files[k] = dead_files[k - 1];
		dead_files[k] = file;
	}
}

MW_RESIDENT void mw_stale_configure(uint64_t age_seconds, unsigned files, uint64_t total_bytes) {
	limits.keep_ns = age_seconds * SECOND_NS;
	limits.keep_files = files;
	limits.keep_bytes = total_bytes;
}

void mw_stale_clean(int directory, const char *own_name) {
	collect(directory, own_name);
	sort_files();
	uint64_t now = mw_os_realtime_ns(), bytes = 0;
	unsigned kept = 0, kept_left = 0;
	for (unsigned i = 0; i < dead_count; i++) {
		const stale_file_t *file = &dead_files[i];
		bytes += file->allocated_bytes;
		bool old = file->updated_ns < now && now - file->updated_ns > limits.keep_ns;
		if (old || kept >= limits.keep_files || bytes > limits.keep_bytes ||
		    (file->left && kept_left >= limits.keep_files / LEFT_SHARE)) {
			mw_os_remove(directory, file->name);
			continue;
		}
		kept++;
		kept_left += file->left;
	}
}
