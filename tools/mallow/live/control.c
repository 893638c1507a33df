/* SPDX-License-Identifier: MIT
 * control.c -- the tool's side of the conversation of state/layout.h.
 * The file belongs to somebody who may cut it at any moment: a touch of a page that is gone raises
 * SIGBUS, which ends the conversation with an error instead of the tool. */
#include "live/control.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
	void *map = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)section->offset_bytes);
	return map == MAP_FAILED ? NULL : map;
}

static void close_page(control_page_t *page) {
	if (page->control)
		munmap(page->control, sizeof(*page->control));
	if (page->live)
		munmap((void *)(uintptr_t)page->live, sizeof(*page->live));
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
	}
	if (order->kind != MW_ORDER_RESET && out->is_active == out->was_active &&
	    out->mean_bytes == out->was_mean_bytes)
		return 0;
	mw_state_control_t *control = page->control;
	/* Relaxed: the release below publishes them. */
	atomic_store_explicit(&control->want_active, out->is_active, memory_order_relaxed);
	atomic_store_explicit(&control->want_mean_bytes, out->mean_bytes, memory_order_relaxed);
	atomic_store_explicit(&control->want_resets, resets, memory_order_relaxed);
	atomic_store_explicit(&control->writer_pid, (uint32_t)getpid(), memory_order_relaxed);
	uint32_t sequence = atomic_load_explicit(&control->sequence, memory_order_relaxed) + 1;
	if (sequence == 0)
		sequence = 1; /* 0 says "nothing ordered" here, and "none" in rejected_sequence */
	/* Pairs with the process's acquire at its refill. */
	atomic_store_explicit(&control->sequence, sequence, memory_order_release);
	return sequence;
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

/* Not inlined: its variables would sit in the frame that siglongjmp returns to. */
static MW_NOINLINE int converse(control_page_t *page, const mw_order_t *order, double wait_seconds,
				mw_conversation_t *out, mw_error_t *error) {
	if (lock_page(page, error) != 0)
		return -1;
	uint32_t sequence = write_order(page, order, out);
	unlock_page(page);
	out->outcome = MW_OUTCOME_NOTHING;
	if (sequence == 0)
		return 0;
	out->outcome = MW_OUTCOME_PENDING;
	if (!wait_seen(page, sequence, wait_seconds))
		return 0;
	if (page->live->rejected_sequence == sequence)
		return mw_error_set(error,
				    "%s: the process rejected the order as out of range; nothing "
				    "changed",
				    page->shown);
	out->outcome = MW_OUTCOME_DONE;
	return 0;
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
