/* SPDX-License-Identifier: MIT
 * dump.c -- creates, names, keeps and removes dump files. */
#include "prof/dump/dump.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/dump/dump_view.h"
#include "prof/sample/program_hooks.h"
#include "prof/store/event_log.h"
#include "prof/store/state_file.h"
#include "prof/store/store.h"

/* Number of dump files that the process remembers: the largest dump_keep, the one with the most
 * bytes in use, and the newest. */
#define KEPT_MAX 66u
/* Names with a number that are tried if the intended name exists. */
#define SUFFIXES_MAX 100u

typedef struct kept {
	char path[MW_STATE_DUMP_PATH_BYTES];
	int64_t live_bytes;
} kept_t;

static struct {
	mw_lock_t lock;  /* taken without waiting; protects all fields below except the names */
	mw_lock_t names; /* protects pattern and prefix; not held while a file is written */
	char pattern[MW_STATE_DUMP_NAME_BYTES];
	const char *prefix; /* NULL: empty */
	_Atomic uint32_t keep;
	uint64_t number; /* number of dumps tried so far */
	uint64_t reason_numbers[MW_DUMP_REASON_COUNT];
	unsigned kept_count; /* the oldest comes first */
	uint32_t said;       /* kinds of failures that were printed on stderr, one bit each */
} dump;
static MW_SPARSE kept_t kept[KEPT_MAX];
static MW_SPARSE char prefix_set[PATH_MAX + 1];

/* Memory for one dump, mapped while the dump is written. */
typedef struct work {
	char path[PATH_MAX];
	char part[PATH_MAX + 16];
	char final[PATH_MAX + 16]; /* final name; empty: the dump is not a file */
	mw_writer_t out;
} work_t;

static size_t work_bytes(void) {
	return (sizeof(work_t) + MW_OS_PAGE_BYTES - 1) & ~(size_t)(MW_OS_PAGE_BYTES - 1);
}

mw_lock_t *mw_dump_lock(void) {
	return &dump.lock;
}

static void wait_for_names(void) {
	unsigned attempt = 0;
	while (!mw_lock_enter(&dump.names))
		mw_os_back_off(attempt++);
}

void mw_dump_set_name(const char *pattern) {
	wait_for_names();
	mw_fmt_copy(dump.pattern, sizeof dump.pattern, pattern);
	mw_lock_leave(&dump.names);
}

void mw_dump_start_prefix(const char *prefix) {
	dump.prefix = prefix;
}

void mw_dump_set_prefix(const char *prefix) {
	wait_for_names();
	mw_fmt(prefix_set, sizeof prefix_set, "%s", prefix);
	dump.prefix = prefix_set;
	mw_lock_leave(&dump.names);
}

const char *mw_dump_prefix(void) {
	return dump.prefix ? dump.prefix : "";
}

void mw_dump_set_keep(unsigned newest) {
	atomic_store_explicit(&dump.keep, newest, memory_order_relaxed);
}

/* ---- removes old dumps ---- */

static void forget(unsigned index, bool remove) {
	if (remove)
		mw_os_remove(MW_OS_NO_DIRECTORY, kept[index].path);
	dump.kept_count--;
	mw_memmove(&kept[index], &kept[index + 1], (dump.kept_count - index) * sizeof kept[0]);
}

static unsigned largest(void) {
	unsigned best = 0;
	for (unsigned i = 1; i < dump.kept_count; i++)
		if (kept[i].live_bytes > kept[best].live_bytes)
			best = i;
	return best;
}

/* Adds a dump, and removes older ones beyond dump_keep, except the one with the most bytes in
 * use. */
static void remember(const char *path, int64_t live_bytes) {
	unsigned keep = atomic_load_explicit(&dump.keep, memory_order_relaxed);
	if (keep == 0 || path[0] != '/' || mw_strlen(path) >= sizeof kept[0].path)
		return;
	if (dump.kept_count == KEPT_MAX)
		forget(0, false);
	kept_t *entry = &kept[dump.kept_count++];
	entry->live_bytes = live_bytes;
	mw_fmt(entry->path, sizeof entry->path, "%s", path);
	while (dump.kept_count > keep) {
		unsigned best = largest();
		if (dump.kept_count == keep + 1 && best == 0)
			return;
		forget(best == 0, true);
	}
}

/* ---- one file ---- */

static bool ends_in(const char *path, size_t length, const char *suffix) {
	size_t suffix_length = mw_strlen(suffix);
	return length > suffix_length &&
	       memcmp(path + length - suffix_length, suffix, suffix_length) == 0;
}

static mw_dump_format_t choose_format(const char *path, bool *gzip) {
	size_t length = mw_strlen(path);
	*gzip = ends_in(path, length, ".gz");
	length -= *gzip ? 3 : 0;
	return ends_in(path, length, ".heap") || ends_in(path, length, ".txt") ? MW_DUMP_HEAP_V2
									       : MW_DUMP_PROTO;
}

static mw_result_t write_profile(mw_writer_t *out, mw_dump_format_t format) {
	mw_writer_start(out);
	bool done =
		format == MW_DUMP_HEAP_V2 ? mw_dump_write_heap_v2(out) : mw_dump_write_proto(out);
	mw_result_t result = mw_writer_finish(out);
	return done ? result : MW_ERR_NO_MEMORY;
}

/* Renames the file to its final name, or to that name and a number if the name exists. */
static mw_result_t give_name(work_t *work) {
	mw_result_t result = MW_ERR_BAD_VALUE;
	for (unsigned i = 0; i < SUFFIXES_MAX && result == MW_ERR_BAD_VALUE; i++) {
		if (i == 0)
			mw_fmt(work->final, sizeof work->final, "%s", work->path);
		else
			mw_fmt(work->final, sizeof work->final, "%s.%u", work->path, i);
		result = mw_os_rename_new(work->part, work->final);
	}
	return result;
}

/* Makes the name that the file has until it is complete: longer than the final name, unless the
 * kernel refuses the length. */
static void name_part(work_t *work) {
	const char *slash = mw_strrchr(work->path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - work->path) : 0;
	unsigned pid = mw_os_process_id();
	size_t length = mw_fmt(work->part, sizeof work->part, "%s.%u.part", work->path, pid);
	if (length >= PATH_MAX || length - folder > NAME_MAX)
		mw_fmt(work->part + folder, sizeof work->part - folder, ".%u.part", pid);
}

static mw_result_t write_file(work_t *work) {
	mw_dump_format_t format = choose_format(work->path, &work->out.gzip);
	name_part(work);
	int file = mw_os_open(MW_OS_NO_DIRECTORY, work->part, MW_OS_CREATE_SHARED);
	if (file == MW_ERR_IO) {
		/* A process of the same pid that was killed has left this file. */
		mw_os_remove(MW_OS_NO_DIRECTORY, work->part);
		file = mw_os_open(MW_OS_NO_DIRECTORY, work->part, MW_OS_CREATE_SHARED);
	}
	if (file < 0)
		return (mw_result_t)file;
	work->out.file = file;
	mw_result_t result = write_profile(&work->out, format);
	mw_os_close(file);
	if (result == MW_OK)
		result = give_name(work);
	if (result != MW_OK)
		mw_os_remove(MW_OS_NO_DIRECTORY, work->part);
	return result;
}

/* Makes the path absolute, if it is not too long for the kernel: the program may change its
 * directory before the file is removed. */
static void make_absolute(work_t *work, size_t length) {
	char *folder = work->part; /* the buffer is unused at this time */
	if (!mw_os_working_directory(folder, PATH_MAX))
		return;
	size_t folder_length = mw_strlen(folder);
	if (folder_length > 1)
		folder[folder_length++] = '/';
	if (folder_length + length >= sizeof work->path)
		return;
	mw_memmove(work->path + folder_length, work->path, length + 1);
	memcpy(work->path, folder, folder_length);
}

static bool make_path(work_t *work, const mw_dump_moment_t *moment, const char *path) {
	size_t room = sizeof work->path;
	size_t length = path ? mw_fmt(work->path, room, "%s", path)
			     : mw_dump_expand(dump.pattern, moment, work->path, room);
	if (length >= room)
		return false;
	if (work->path[0] != '/')
		make_absolute(work, length);
	return true;
}

/* Copies the path, or its end if it is too long. */
static void show_path(char *buffer, size_t capacity, const char *path) {
	size_t length = mw_strlen(path);
	const char *cut = length < capacity ? "" : MW_STATE_PATH_CUT;
	mw_fmt(buffer, capacity, "%s%s", cut,
	       *cut ? path + length - (capacity - 1 - mw_strlen(cut)) : path);
}

static void show(const work_t *work) {
	mw_both_t live = mw_store_live_both();
	mw_both_add(live, MW_LIVE(dumps_written), 1);
	char *sides[2] = {live.table, live.published};
	for (unsigned i = 0; i < 2; i++)
		if (sides[i])
			show_path(sides[i] + MW_LIVE(last_dump), MW_STATE_DUMP_PATH_BYTES,
				  work->final);
}

const char *mw_dump_failure(mw_result_t result) {
	static const char *const why[] = {
		[-MW_ERR_NO_MEMORY] = "no space is left on the file system",
		[-MW_ERR_IO] = "the file cannot be written",
		[-MW_ERR_FORBIDDEN] = "writing the file is not permitted",
		[-MW_ERR_BAD_VALUE] = "all names of this pattern exist already",
		[-MW_ERR_UNSUPPORTED] = "the file system does not support the operation",
		[-MW_ERR_NOT_FOUND] = "the directory does not exist, or the name is too long",
	};
	return why[-result];
}

/* Prints a message about a failed dump. `advice`: text that says what the user can do. */
static void complain(mw_dump_reason_t reason, const work_t *work, mw_result_t result,
		     const char *advice) {
	mw_both_add(mw_store_live_both(), MW_LIVE(dumps_failed), 1);
	mw_event_log_add(MW_EVENT_DUMP_FAILED, reason, (uint64_t)-result);
	if (dump.said & 1u << -result)
		return;
	dump.said |= 1u << -result;
	char shown[200];
	show_path(shown, sizeof shown, work->path);
	mw_warn("dump %s: %s%s", shown, mw_dump_failure(result), advice);
}

static int dump_file(work_t *work, mw_dump_reason_t reason, const char *path) {
	/* Another thread changes the names, or this thread does and a signal interrupted it. */
	if (!mw_lock_enter(&dump.names))
		return MW_DUMP_BUSY;
	if (mw_store_header()->pid != mw_os_process_id())
		mw_state_file_describe();
	int64_t live_bytes =
		atomic_load_explicit(&mw_store_live()->live_bytes, memory_order_relaxed);
	mw_dump_moment_t moment = {.reason = reason,
				   .number = ++dump.number,
				   .reason_number = dump.reason_numbers[reason]++,
				   .realtime_ns = mw_os_realtime_ns(),
				   .live_bytes = live_bytes > 0 ? (uint64_t)live_bytes : 0};
	bool has_path = make_path(work, &moment, path);
	mw_lock_leave(&dump.names);
	mw_result_t result = has_path ? write_file(work) : MW_ERR_NOT_FOUND;
	if (result != MW_OK) {
		/* No option changes a path that the program passed. */
		complain(reason, work, result, path ? "" : "; set dump_name to another path");
		return result;
	}
	show(work);
	mw_event_log_add(MW_EVENT_DUMP, reason, moment.number);
	/* The program removes files that it named itself. */
	if (!path)
		remember(work->final, live_bytes);
	return MW_OK;
}

/* Runs `act` as the only dump, with memory to work in. */
static int with_work(int (*act)(work_t *work, const void *what), const void *what) {
	int saved_errno = errno, result = MW_DUMP_BUSY;
	if (!mw_store_exists() || !mw_lock_enter(&dump.lock))
		return result;
	work_t *work = mw_os_map(work_bytes());
	result = work ? act(work, what) : MW_ERR_NO_MEMORY;
	mw_lock_leave(&dump.lock);
	/* Done after this dump: the program may request another. */
	if (result == MW_OK && work->final[0])
		mw_program_hook_dumped(work->final);
	if (work)
		mw_os_unmap(work, work_bytes());
	errno = saved_errno;
	return result;
}

typedef struct file_request {
	mw_dump_reason_t reason;
	const char *path;
} file_request_t;

static int act_file(work_t *work, const void *what) {
	const file_request_t *request = what;
	return dump_file(work, request->reason, request->path);
}

int mw_dump_to_file(mw_dump_reason_t reason, const char *path) {
	return with_work(act_file, &(file_request_t){reason, path});
}

typedef struct function_request {
	mw_dump_format_t format;
	mw_writer_write_t write;
	void *context;
} function_request_t;

static int act_function(work_t *work, const void *what) {
	const function_request_t *request = what;
	if (mw_store_header()->pid != mw_os_process_id())
		mw_state_file_describe();
	work->out.write = request->write;
	work->out.context = request->context;
	return write_profile(&work->out, request->format);
}

int mw_dump_to_function(mw_dump_format_t format, mw_writer_write_t write, void *context) {
	return with_work(act_function, &(function_request_t){format, write, context});
}

void mw_dump_forked(void) {
	mw_lock_leave(&dump.lock);
	mw_lock_leave(&dump.names);
	dump.kept_count = 0;
	dump.number = 0;
	memset(dump.reason_numbers, 0, sizeof dump.reason_numbers);
}
