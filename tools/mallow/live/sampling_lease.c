/* SPDX-License-Identifier: MIT
 * sampling_lease.c -- a thread that prolongs the lease, so that the command may do what it likes
 * meanwhile. The thread writes to the file, not to a mapping: a file that became shorter raises no
 * signal. */
#include "live/sampling_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "live/control_page.h"
#include "model/monotonic.h"
#include "state/layout.h"
#include "state/lease.h"

#define NS_PER_SECOND UINT64_C(1000000000)
/* How often a lease is asked for that is over at once. Each time this command has not run for
 * MW_LEASE_NS. */
#define TAKE_TRIES 5

/* ---- words of the control page ---- */

static struct flock lease_lock(const mw_lease_t *lease, short type) {
	off_t byte = lease->is_cpu ? MW_STATE_CPU_LEASE_LOCK : MW_STATE_HEAP_LEASE_LOCK;
	return mw_state_file_lock(byte, type);
}

/* Returns whether another tool has a lease of this kind. The kernel drops the locks of tools that
 * have ended. */
static bool has_other_lease(int fd, const mw_lease_t *lease) {
	struct flock lock = lease_lock(lease, F_WRLCK);
	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static const char *source_of(uint32_t rate) {
	static const char *const names[MW_CPU_EVENTS] = {[MW_CPU_BY_TIMER] = "CPU time",
#define EVENT(name, text, unit) [MW_CPU_##name] = text,
							 MW_CPU_EVENT_LIST(EVENT)
#undef EVENT
	};
	uint32_t event = mw_cpu_event(rate);
	if (mw_cpu_is_wall(rate))
		return "wall-clock time";
	return names[event < MW_CPU_EVENTS ? event : MW_CPU_BY_TIMER];
}

/* The first tool chooses the rate. A later one with the same source goes along at that rate; the
 * sums are right at any. */
static int begin_lease(const mw_control_page_t *page, mw_lease_t *lease, mw_error_t *error) {
	_Atomic uint32_t *rate =
		lease->is_cpu ? &page->control->lease_cpu_hz : &page->control->lease_active;
	_Atomic uint32_t *beats =
		lease->is_cpu ? &page->control->cpu_beats : &page->control->heap_beats;
	uint32_t there = has_other_lease(page->fd, lease) ? *rate : 0;
	if (lease->is_cpu && mw_cpu_hz(there ^ lease->rate) != (there ^ lease->rate) && there != 0)
		return mw_error_set(
			error,
			"%s: another mallow samples %s of this process; try again when it has "
			"ended, or ask for the same",
			page->shown, source_of(there));
	struct flock lock = lease_lock(lease, F_RDLCK);
	lease->fd = fcntl(page->fd, F_DUPFD_CLOEXEC, 0);
	if (lease->fd < 0 || fcntl(lease->fd, F_OFD_SETLK, &lock) != 0)
		return mw_error_set(error, "%s: cannot lock the control page: %s", page->shown,
				    strerror(errno));
	lease->rate = there != 0 ? there : lease->rate;
	lease->beats_at =
		page->control_at + (lease->is_cpu ? offsetof(mw_state_control_t, cpu_beats)
						  : offsetof(mw_state_control_t, heap_beats));
	lease->held_at = page->live_at + (lease->is_cpu ? offsetof(mw_state_live_t, cpu_lease_hz)
							: offsetof(mw_state_live_t, heap_lease));
	/* Relaxed: the release of the sequence publishes these words. */
	atomic_store_explicit(rate, lease->rate, memory_order_relaxed);
	atomic_fetch_add_explicit(beats, 1, memory_order_relaxed);
	return 0;
}

/* Returns whether the process is to be told: no other tool goes on. */
static bool end_lease(const mw_control_page_t *page, const mw_lease_t *lease) {
	struct flock lock = lease_lock(lease, F_UNLCK);
	fcntl(lease->fd, F_OFD_SETLK, &lock);
	if (has_other_lease(page->fd, lease))
		return false;
	atomic_store_explicit(lease->is_cpu ? &page->control->lease_cpu_hz
					    : &page->control->lease_active,
			      0, memory_order_relaxed);
	return true;
}

int mw_lease_change(const mw_control_page_t *page, const mw_request_t *request, mw_error_t *error) {
	if (request->kind == MW_REQUEST_LEASE)
		return begin_lease(page, request->lease, error);
	if (request->kind == MW_REQUEST_LEASE_END)
		return end_lease(page, request->lease) ? 0 : 1;
	return 0;
}

bool mw_lease_is_followed(const mw_control_page_t *page, const mw_lease_t *lease) {
	return !lease->is_cpu || page->live->cpu_lease_hz == lease->rate;
}

/* ---- the thread ---- */

static bool read_word(const mw_lease_t *lease, uint64_t at, uint32_t *word) {
	return pread(lease->fd, word, sizeof(*word), (off_t)at) == (ssize_t)sizeof(*word);
}

/* Another command may write the same number at the same time: the process sees a change in any
 * case. */
static void beat(const mw_lease_t *lease) {
	uint32_t beats;
	if (!read_word(lease, lease->beats_at, &beats))
		return;
	beats++;
	/* A write that fails ends the lease in time. */
	ssize_t ignored = pwrite(lease->fd, &beats, sizeof(beats), (off_t)lease->beats_at);
	(void)ignored;
}

static void *prolong(void *context) {
	mw_lease_t *lease = context;
	uint64_t last_ns = lease->last_beat_ns;
	pthread_mutex_lock(&lease->mutex);
	while (!lease->is_ending) {
		uint64_t next_ns = last_ns + MW_LEASE_BEAT_NS;
		const struct timespec next = {.tv_sec = (time_t)(next_ns / NS_PER_SECOND),
					      .tv_nsec = (long)(next_ns % NS_PER_SECOND)};
		pthread_cond_timedwait(&lease->condition, &lease->mutex, &next);
		uint64_t now_ns = mw_monotonic_ns();
		if (now_ns < next_ns || lease->is_ending)
			continue;
		beat(lease);
		if (now_ns - last_ns >= MW_LEASE_NS)
			atomic_store_explicit(&lease->gap_ns, now_ns - last_ns,
					      memory_order_relaxed);
		last_ns = now_ns;
	}
	pthread_mutex_unlock(&lease->mutex);
	return NULL;
}

/* Signals are the main thread's. */
static bool start_thread(mw_lease_t *lease) {
	pthread_condattr_t attributes;
	sigset_t all, before;
	pthread_mutex_init(&lease->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&lease->condition, &attributes);
	pthread_condattr_destroy(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	lease->has_thread = pthread_create(&lease->thread, NULL, prolong, lease) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return lease->has_thread;
}

/* ---- begin and end ---- */

static int request(mw_lease_t *lease, mw_request_kind_t kind, mw_reply_t *reply,
		   mw_error_t *error) {
	const mw_request_t what = {.kind = kind, .lease = lease};
	return mw_control_send(lease->target, &what, lease->wait_seconds, reply, error);
}

/* Prolongs a lease that the process has just granted, and returns whether it holds. The lease is
 * over if this command did not run for MW_LEASE_NS, so that nobody prolonged it. */
static bool holds(mw_lease_t *lease, uint64_t begin_ns) {
	uint32_t held;
	/* The beat is before the look: a lease that holds now sees it in time. */
	lease->last_beat_ns = mw_monotonic_ns();
	beat(lease);
	return lease->last_beat_ns - begin_ns < MW_LEASE_NS ||
	       !read_word(lease, lease->held_at, &held) || held != 0;
}

/* Asks for the lease, and again if it was over before this command could prolong it. */
static int take_lease(mw_lease_t *lease, mw_reply_t *reply, mw_error_t *error) {
	for (int tries = 1;; tries++) {
		uint64_t begin_ns = mw_monotonic_ns();
		int result = request(lease, MW_REQUEST_LEASE, reply, error);
		if (lease->fd < 0 || reply->outcome != MW_OUTCOME_DONE || holds(lease, begin_ns) ||
		    tries == TAKE_TRIES)
			return result;
		close(lease->fd);
		lease->fd = -1;
	}
}

int mw_lease_begin(mw_lease_t *lease, const mw_target_t *target, uint32_t rate, double wait_seconds,
		   mw_reply_t *reply, mw_error_t *error) {
	*lease = (mw_lease_t){.is_cpu = rate != 0,
			      .rate = rate != 0 ? rate : 1,
			      .fd = -1,
			      .target = target,
			      .wait_seconds = wait_seconds,
			      .last_beat_ns = mw_monotonic_ns()};
	if (take_lease(lease, reply, error) == 0) {
		if (start_thread(lease))
			return 0;
		mw_error_set(error, "%s: cannot start a thread", target->shown);
	} else if (reply->outcome == MW_OUTCOME_PENDING) {
		lease->wait_seconds = 0; /* a stopped process does not answer the end either */
	}
	mw_lease_end(lease, NULL);
	return -1;
}

void mw_lease_keep(mw_lease_t *lease) {
	uint64_t gap_ns = atomic_exchange_explicit(&lease->gap_ns, 0, memory_order_relaxed);
	uint32_t held;
	if (gap_ns == 0)
		return;
	lease->lost_seconds += (double)(gap_ns - MW_LEASE_NS) / (double)NS_PER_SECOND;
	/* A request of another command has the process look at the new beats. */
	if (!read_word(lease, lease->held_at, &held) || held != 0)
		return;
	mw_reply_t reply;
	mw_error_t ignored;
	int before = lease->fd;
	pthread_mutex_lock(&lease->mutex);
	lease->fd = -1;
	/* The process, or its next program, ends the command's wait. */
	request(lease, MW_REQUEST_LEASE, &reply, &ignored);
	if (lease->fd >= 0)
		close(before);
	else
		lease->fd = before;
	pthread_mutex_unlock(&lease->mutex);
}

bool mw_lease_has_process(const mw_lease_t *lease) {
	return mw_target_holds(lease->target, lease->fd);
}

void mw_lease_end(mw_lease_t *lease, mw_reply_t *reply) {
	mw_reply_t unused;
	mw_error_t ignored;
	if (lease->fd < 0)
		return;
	if (lease->has_thread) {
		pthread_mutex_lock(&lease->mutex);
		lease->is_ending = true;
		pthread_cond_signal(&lease->condition);
		pthread_mutex_unlock(&lease->mutex);
		pthread_join(lease->thread, NULL);
		pthread_mutex_destroy(&lease->mutex);
		pthread_cond_destroy(&lease->condition);
	}
	/* A process after exec(3) knows nothing of the lease. */
	if (mw_lease_has_process(lease))
		request(lease, MW_REQUEST_LEASE_END, reply ? reply : &unused, &ignored);
	close(lease->fd);
	lease->fd = -1;
}
