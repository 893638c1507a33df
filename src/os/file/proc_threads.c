/* SPDX-License-Identifier: MIT
 * proc_threads.c -- reads names and files of /proc/self/task. */
#include "os/file/proc_threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/platform/system_call.h"

MW_COLD uint32_t mw_os_thread_of_name(const char *name) {
	uint32_t number = 0;
	for (; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (uint32_t)(*name - '0');
	return *name == '\0' ? number : 0;
}

/* Returns the signals that a line of /proc/PID/status has; UINT64_MAX: there is no such line. */
static uint64_t signals_of(const char *text, const char *key) {
	const char *digit = mw_strstr(text, key);
	if (!digit)
		return UINT64_MAX;
	uint64_t signals = 0;
	for (digit += mw_strlen(key); *digit > ' '; digit++)
		signals =
			signals << 4 | (uint64_t)(*digit <= '9' ? *digit - '0' : *digit - 'a' + 10);
	return signals;
}

MW_COLD uint64_t mw_os_blocked_signals(uint32_t thread_id) {
	char path[64], text[4096];
	mw_fmt(path, sizeof path, "/proc/self/task/%u/status", thread_id);
	return mw_os_read_text(path, text, sizeof text) > 0 ? signals_of(text, "\nSigBlk:\t")
							    : UINT64_MAX;
}

/* Signals that the program has the first thread block, kept while that answers a tool. */
static struct {
	_Atomic bool is_set;
	_Atomic uint64_t blocked;
} first MW_SPARSE;

MW_COLD void mw_os_note_answering(const uint64_t *blocked) {
	if (mw_os_thread_id() != mw_os_process_id())
		return;
	if (blocked)
		atomic_store_explicit(&first.blocked, *blocked, memory_order_relaxed);
	/* Pairs with the acquire in mw_os_first_blocked_signals(). */
	atomic_store_explicit(&first.is_set, blocked != NULL, memory_order_release);
}

MW_COLD uint64_t mw_os_first_blocked_signals(void) {
	if (atomic_load_explicit(&first.is_set, memory_order_acquire))
		return atomic_load_explicit(&first.blocked, memory_order_relaxed);
	return mw_os_blocked_signals(mw_os_process_id());
}

static bool read_of_thread(int directory, uint32_t thread_id, const char *name, char *text,
			   size_t capacity) {
	char path[64];
	mw_fmt(path, sizeof path, "%u/%s", thread_id, name);
	int file = mw_os_open(directory, path, MW_OS_READ);
	long bytes = file >= 0 ? mw_os_read(file, text, capacity - 1) : -1;
	if (file >= 0)
		mw_os_close(file);
	text[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
}

MW_COLD bool mw_os_thread_filters_calls(int directory, uint32_t thread_id) {
	char text[4096];
	return !read_of_thread(directory, thread_id, "status", text, sizeof text) ||
	       mw_strstr(text, "\nSeccomp:\t0\n") == NULL;
}

#if defined(__aarch64__)
MW_COLD bool mw_os_thread_has_signal(int directory, uint32_t thread_id) {
	char text[4096];
	if (!read_of_thread(directory, thread_id, "status", text, sizeof text))
		return false;
	uint64_t waiting = signals_of(text, "\nSigPnd:\t") | signals_of(text, "\nShdPnd:\t");
	return (waiting & ~signals_of(text, "\nSigBlk:\t") & signals_of(text, "\nSigCgt:\t")) != 0;
}
#endif

MW_COLD char mw_os_thread_state(int directory, uint32_t thread_id) {
	char text[1024];
	if (!read_of_thread(directory, thread_id, "stat", text, sizeof text))
		return 0;
	/* The program may choose the name, which is in parentheses. */
	const char *end = mw_strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

bool mw_os_thread_exists(uint32_t thread_id) {
	int saved_errno = errno;
	bool exists = mw_system_call(SYS_tgkill, mw_os_process_id(), thread_id, 0) == 0;
	errno = saved_errno;
	return exists;
}
