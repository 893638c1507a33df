/* SPDX-License-Identifier: MIT
 * control.c -- the tool's side of the conversation of state/layout.h.
 * The file belongs to somebody who may cut it at any moment: a touch of a page that is gone raises
 * SIGBUS, which ends the conversation with an error instead of the tool. */
#include "live/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "read/state_file.h"
#include "state/layout.h"

/* What `start` asks for when the process never had a rate: that of the library. */
#define DEFAULT_MEAN_BYTES ((uint64_t)512 << 10)
/* The lock is held for a few stores: whoever holds it longer is stopped or damaged. */
#define LOCK_WAIT_NS 1000000000ull
#define POLL_MIN_NS 200000u
#define POLL_MAX_NS 20000000u
/* A dump of 100,000 samples takes 50 ms, a slow disk more. */
#define DUMP_WAIT_NS 5000000000ull
#define SETTLE_TURN_SECONDS 0.1

typedef struct control_page {
	mw_state_control_t *control;
	const mw_state_live_t *live;
	const char *shown;
} control_page_t;

static sigjmp_buf bus_jump;

static void on_bus_error(int signal_number) {
	(void)signal_number;
	siglongjmp(bus_jump, 1);
}

static uint64_t monotonic_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint32_t ns) {
	struct timespec pause = {.tv_nsec = (long)ns};
	nanosleep(&pause, NULL);
}

static void *map_section(int fd, const mw_state_section_t *section, uint64_t file_bytes,
			 size_t bytes, int protection) {
	if (section->offset_bytes > file_bytes || file_bytes - section->offset_bytes < bytes)
		return NULL;
	/* Where the section begins, its page may have others. */
	uint64_t before = section->offset_bytes % MW_STATE_PAGE_BYTES;
	char *map = mmap(NULL, before + bytes, protection, MAP_SHARED, fd,
			 (off_t)(section->offset_bytes - before));
	return map == MAP_FAILED ? NULL : map + before;
}

static void unmap_section(const void *section, size_t bytes) {
	uintptr_t before = (uintptr_t)section % MW_STATE_PAGE_BYTES;
	if (section)
		munmap((void *)((uintptr_t)section - before), before + bytes);
}

static void close_page(control_page_t *page) {
	unmap_section(page->control, sizeof(*page->control));
	unmap_section(page->live, sizeof(*page->live));
}

static int open_page(const char *path, const char *shown, control_page_t *page, mw_error_t *error) {
	/* In another user's directory a name may turn into a symlink; those of /proc are links. */
	int follow = strncmp(path, "/proc/", 6) == 0 ? 0 : O_NOFOLLOW;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | follow);
	if (fd < 0)
		return mw_error_set(error, "%s: %s", shown, strerror(errno));
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read_fd(fd, shown, 0, &snapshot, error) != 0) {
		close(fd);
		return -1;
	}
	struct stat info;
	uint64_t file_bytes = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
	const mw_state_section_t *sections = snapshot->header.sections;
	*page = (control_page_t){.shown = shown};
	page->control = map_section(fd, &sections[MW_SECTION_CONTROL], file_bytes,
				    sizeof(*page->control), PROT_READ | PROT_WRITE);
	page->live = map_section(fd, &sections[MW_SECTION_LIVE], file_bytes, sizeof(*page->live),
				 PROT_READ);
	mw_snapshot_free(snapshot);
	close(fd);
	if (page->control && page->live)
		return 0;
	close_page(page);
	return mw_error_set(error, "%s: the control page cannot be mapped: %s", shown,
			    errno ? strerror(errno) : "the file is too short");
}

static int lock_page(control_page_t *page, mw_error_t *error) {
	uint32_t self = (uint32_t)getpid();
	uint64_t deadline = monotonic_ns() + LOCK_WAIT_NS;
	for (;;) {
		uint32_t holder = 0;
		/* Pairs with the release in unlock_page() of another tool. */
		if (atomic_compare_exchange_strong_explicit(&page->control->lock, &holder, self,
							    memory_order_acquire,
							    memory_order_relaxed))
			return 0;
		/* A tool that died in between: whoever replaces its pid first goes on. */
		bool dead = holder > (uint32_t)INT32_MAX ||
			    (kill((pid_t)holder, 0) != 0 && errno == ESRCH);
		if (dead && atomic_compare_exchange_strong_explicit(&page->control->lock, &holder,
								    self, memory_order_acquire,
								    memory_order_relaxed))
			return 0;
		if (monotonic_ns() > deadline)
			return mw_error_set(
				error,
				"%s: another mallow (pid %u) has been writing the control "
				"page for a second; end it and try again",
				page->shown, holder);
		sleep_ns(POLL_MIN_NS * 5);
	}
}

static void unlock_page(control_page_t *page) {
	/* Pairs with the acquire in lock_page(). */
	atomic_store_explicit(&page->control->lock, 0, memory_order_release);
}

/* What holds now; while an order is on its way, what that order wants. */
static void find_out(const control_page_t *page, mw_conversation_t *out, uint32_t *out_resets) {
	const mw_state_live_t *live = page->live;
	/* Pairs with the process's release of sequence_seen: its other words are at least as new.
	 */
	uint32_t seen = atomic_load_explicit(&live->sequence_seen, memory_order_acquire);
	/* Relaxed: written under the lock we hold. */
	uint32_t ordered = atomic_load_explicit(&page->control->sequence, memory_order_relaxed);
	out->was_pending = ordered != seen;
	if (out->was_pending) {
		out->was_active = page->control->want_active != 0;
		out->was_mean_bytes = page->control->want_mean_bytes;
		*out_resets = page->control->want_resets;
	} else {
		out->was_active = live->active != 0;
		out->was_mean_bytes = live->mean_bytes;
		*out_resets = live->resets_done;
	}
	out->was_changed_ns =
		(live->active != 0) == out->was_active ? live->changed_realtime_ns : 0;
	if (out->was_mean_bytes == 0 || out->was_mean_bytes > MW_STATE_MEAN_BYTES_MAX)
		out->was_mean_bytes = DEFAULT_MEAN_BYTES;
	out->is_active = out->was_active;
	out->mean_bytes = out->was_mean_bytes;
	const _Atomic uint64_t *settings =
		out->was_pending ? page->control->want_settings : live->settings;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		out->was_settings[i] = settings[i];
	memcpy(out->was_dump_name,
	       out->was_pending ? page->control->want_dump_name : live->dump_name,
	       sizeof(out->was_dump_name));
	out->was_dump_name[sizeof(out->was_dump_name) - 1] = '\0';
}

static bool wants_settings(const mw_order_t *order, const mw_conversation_t *talk) {
	if (order->kind != MW_ORDER_SETTINGS)
		return false;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (order->settings_mask & (uint64_t)1 << i &&
		    order->settings[i] != talk->was_settings[i])
			return true;
	return order->dump_name && strcmp(order->dump_name, talk->was_dump_name) != 0;
}

/* All of them: what the program changed itself since the last order stays as it is. */
static void write_settings(mw_state_control_t *control, const mw_order_t *order,
			   const mw_conversation_t *talk) {
	bool ours = order->kind == MW_ORDER_SETTINGS;
	const char *name = ours && order->dump_name ? order->dump_name : talk->was_dump_name;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++) {
		bool set = ours && order->settings_mask & (uint64_t)1 << i;
		atomic_store_explicit(&control->want_settings[i],
				      set ? order->settings[i] : talk->was_settings[i],
				      memory_order_relaxed);
	}
	memset(control->want_dump_name, 0, sizeof(control->want_dump_name));
	memcpy(control->want_dump_name, name, strnlen(name, sizeof(control->want_dump_name) - 1));
}

static uint32_t raise_sequence(mw_state_control_t *control) {
	uint32_t sequence = atomic_load_explicit(&control->sequence, memory_order_relaxed) + 1;
	if (sequence == 0)
		sequence = 1; /* 0 says "nothing ordered" here, and "none" in rejected_sequence */
	/* Pairs with the process's acquire at its refill. */
	atomic_store_explicit(&control->sequence, sequence, memory_order_release);
	/* A background thread of an idle process sleeps on the word. */
	syscall(SYS_futex, &control->sequence, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return sequence;
}

/* Returns the order's sequence number, or 0 when there is nothing to order. */
static uint32_t write_order(control_page_t *page, const mw_order_t *order, mw_conversation_t *out) {
	uint32_t resets;
	find_out(page, out, &resets);
	switch (order->kind) {
	case MW_ORDER_START:
		out->is_active = true;
		break;
	case MW_ORDER_STOP:
		out->is_active = false;
		break;
	case MW_ORDER_RATE:
		out->mean_bytes = order->mean_bytes;
		break;
	case MW_ORDER_RESET:
		resets++;
		break;
	case MW_ORDER_SETTINGS:
	case MW_ORDER_DUMP:
		break;
	}
	bool changes = out->is_active != out->was_active || out->mean_bytes != out->was_mean_bytes;
	if (order->kind != MW_ORDER_RESET && order->kind != MW_ORDER_DUMP && !changes &&
	    !wants_settings(order, out))
		return 0;
	mw_state_control_t *control = page->control;
	write_settings(control, order, out);
	/* Not counted on from the wish, which anybody may have written: from what was obeyed. */
	uint32_t dumps = page->live->dumps_done + (order->kind == MW_ORDER_DUMP);
	if (order->kind == MW_ORDER_DUMP || !out->was_pending)
		atomic_store_explicit(&control->want_dumps, dumps, memory_order_relaxed);
	/* Relaxed: the release below publishes them. */
	atomic_store_explicit(&control->want_active, out->is_active, memory_order_relaxed);
	atomic_store_explicit(&control->want_mean_bytes, out->mean_bytes, memory_order_relaxed);
	atomic_store_explicit(&control->want_resets, resets, memory_order_relaxed);
	atomic_store_explicit(&control->writer_pid, (uint32_t)getpid(), memory_order_relaxed);
	return raise_sequence(control);
}

/* True: the process has looked at the order, or at a later one. */
static bool wait_seen(const control_page_t *page, uint32_t sequence, double seconds) {
	uint64_t deadline = monotonic_ns() + (uint64_t)(seconds * 1e9);
	uint32_t pause_ns = POLL_MIN_NS;
	for (;;) {
		/* Pairs with the process's release after it applied the wants. */
		uint32_t seen =
			atomic_load_explicit(&page->live->sequence_seen, memory_order_acquire);
		if ((int32_t)(seen - sequence) >= 0)
			return true;
		if (monotonic_ns() >= deadline)
			return false;
		sleep_ns(pause_ns);
		pause_ns = pause_ns * 2 < POLL_MAX_NS ? pause_ns * 2 : POLL_MAX_NS;
	}
}

/* The dump comes right after the answer; a process that cannot write it says so on its stderr. */
static void take_last_dump(const control_page_t *page, uint64_t failed_before,
			   mw_conversation_t *out) {
	uint64_t deadline = monotonic_ns() + DUMP_WAIT_NS;
	uint32_t wanted = atomic_load_explicit(&page->control->want_dumps, memory_order_relaxed);
	while (page->live->dumps_done != wanted && monotonic_ns() < deadline)
		sleep_ns(POLL_MIN_NS);
	if (page->live->dumps_done != wanted || page->live->dumps_failed != failed_before)
		return;
	memcpy(out->last_dump, page->live->last_dump, sizeof(out->last_dump));
	out->last_dump[sizeof(out->last_dump) - 1] = '\0';
}

static bool takes_signal(const mw_order_t *order) {
	return order->kind == MW_ORDER_SETTINGS &&
	       order->settings_mask & (uint64_t)1 << MW_SETTING_dump_signal &&
	       order->settings[MW_SETTING_dump_signal] != 0;
}

/* Not inlined: its variables would sit in the frame that siglongjmp returns to. */
static MW_NOINLINE int converse(control_page_t *page, const mw_order_t *order, double wait_seconds,
				mw_conversation_t *out, mw_error_t *error) {
	if (lock_page(page, error) != 0)
		return -1;
	uint64_t failed_before = page->live->dumps_failed;
	uint32_t sequence = write_order(page, order, out);
	unlock_page(page);
	out->outcome = MW_OUTCOME_NOTHING;
	if (sequence == 0)
		return 0;
	out->outcome = MW_OUTCOME_PENDING;
	if (!wait_seen(page, sequence, wait_seconds))
		return 0;
	if (page->live->rejected_sequence == sequence)
		return mw_error_set(
			error, "%s: the process rejected the order: %s; nothing changed",
			page->shown,
			takes_signal(order) ? "it ignores or handles this dump_signal itself, or "
					      "nobody can handle it"
					    : "out of range");
	out->outcome = MW_OUTCOME_DONE;
	if (order->kind == MW_ORDER_DUMP)
		take_last_dump(page, failed_before, out);
	return 0;
}

/* Each count is made by a thread that comes by: the same order again makes the next one do it. */
static MW_NOINLINE int settle(control_page_t *page, double wait_seconds, mw_settling_t *out,
			      mw_error_t *error) {
	uint64_t deadline = monotonic_ns() + (uint64_t)(wait_seconds * 1e9);
	do {
		if (lock_page(page, error) != 0)
			return -1;
		uint32_t sequence = raise_sequence(page->control);
		unlock_page(page);
		bool seen = wait_seen(page, sequence, SETTLE_TURN_SECONDS);
		*out = (mw_settling_t){page->live->threads, page->live->threads_behind,
				       out->seen || seen};
		if (seen && out->behind == 0)
			return 0;
		sleep_ns(POLL_MAX_NS);
	} while (monotonic_ns() < deadline);
	return 0;
}

static MW_NOINLINE int settle_guarded(control_page_t *page, double wait_seconds, mw_settling_t *out,
				      mw_error_t *error) {
	if (sigsetjmp(bus_jump, 1) != 0)
		return mw_error_set(error, "%s: the state file was cut while it was read",
				    page->shown);
	return settle(page, wait_seconds, out, error);
}

/* The conversation, with a touch of pages that are gone as an error. */
static MW_NOINLINE int converse_guarded(control_page_t *page, const mw_order_t *order,
					double wait_seconds, mw_conversation_t *out,
					mw_error_t *error) {
	if (sigsetjmp(bus_jump, 1) != 0)
		return mw_error_set(error, "%s: the state file was cut while it was written",
				    page->shown);
	return converse(page, order, wait_seconds, out, error);
}

int mw_control_order(const char *path, const char *shown, const mw_order_t *order,
		     double wait_seconds, mw_conversation_t *out, mw_error_t *error) {
	control_page_t page;
	*out = (mw_conversation_t){0};
	errno = 0;
	if (open_page(path, shown, &page, error) != 0)
		return -1;
	struct sigaction guard = {.sa_handler = on_bus_error}, before;
	sigaction(SIGBUS, &guard, &before);
	int result = converse_guarded(&page, order, wait_seconds, out, error);
	sigaction(SIGBUS, &before, NULL);
	close_page(&page);
	return result;
}

int mw_control_settle(const char *path, const char *shown, double wait_seconds, mw_settling_t *out,
		      mw_error_t *error) {
	control_page_t page;
	errno = 0;
	if (open_page(path, shown, &page, error) != 0)
		return -1;
	struct sigaction guard = {.sa_handler = on_bus_error}, before;
	sigaction(SIGBUS, &guard, &before);
	int result = settle_guarded(&page, wait_seconds, out, error);
	sigaction(SIGBUS, &before, NULL);
	close_page(&page);
	return result;
}
