/* SPDX-License-Identifier: MIT
 * thread_event.c -- events by perf_event_open(2), read from the ring of records that the kernel
 * writes. */
#include "os/time/thread_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "os/platform/system_call.h"

/* The kernel's page of positions, and one of records: a record has some hundred bytes, and is read
 * before the thread goes on unless it blocks the signal. */
#define RING_BYTES ((size_t)getauxval(AT_PAGESZ))
#define POSITIONS_BYTES ((size_t)getauxval(AT_PAGESZ))
#define EVENT_BYTES (POSITIONS_BYTES + RING_BYTES)

/* Words of a record: its header, the count, the number of frames, and the frames. */
#define COUNT_AT 8u
#define DEPTH_AT 16u
#define FRAMES_AT 24u

struct mw_os_thread_event {
	struct perf_event_mmap_page positions;
};

static struct perf_event_attr attributes_of(const mw_os_event_config_t *config) {
	static const struct {
		uint32_t type, number;
	} kinds[] = {
		[MW_OS_EVENT_CPU_CLOCK] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
		[MW_OS_EVENT_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		[MW_OS_EVENT_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
		[MW_OS_EVENT_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		[MW_OS_EVENT_CONTEXT_SWITCHES] = {PERF_TYPE_SOFTWARE,
						  PERF_COUNT_SW_CONTEXT_SWITCHES},
	};
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = kinds[config->kind].type,
		.config = kinds[config->kind].number,
		.freq = 1,
		.sample_freq = config->hz,
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
		.wakeup_events = 1,
		.exclude_kernel = !config->has_kernel,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
		.exclude_callchain_kernel = !config->has_kernel,
	};
}

static int error_of(int number) {
	switch (number) {
	case ESRCH:
		return MW_ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
		return MW_ERR_FORBIDDEN;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return MW_ERR_NO_MEMORY;
	default:
		return MW_ERR_UNSUPPORTED;
	}
}

/* The mapping keeps the event, and with it what fcntl(2) set, when the descriptor is closed. */
static mw_os_thread_event_t *start(uint32_t thread_id, const mw_os_event_config_t *config,
				   int *error) {
	struct perf_event_attr attributes = attributes_of(config);
	const struct f_owner_ex owner = {F_OWNER_TID, (int)thread_id};
	int fd = (int)mw_system_call(SYS_perf_event_open, &attributes, thread_id, -1, -1,
				     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		*error = error_of(errno);
		return NULL;
	}
	/* By syscall(2): each function of libc that the library did not need before costs it
	 * resident bytes. */
	long memory = mw_system_call(SYS_mmap, NULL, EVENT_BYTES, PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0);
	/* EPERM: the user's events have all the memory that they may have. */
	*error = memory == -1 ? MW_ERR_NO_MEMORY : MW_OK;
	if (*error == MW_OK &&
	    (mw_system_call(SYS_fcntl, fd, F_SETOWN_EX, &owner) != 0 ||
	     mw_system_call(SYS_fcntl, fd, F_SETSIG, config->signal_number) != 0 ||
	     mw_system_call(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0)) {
		/* The thread has ended. */
		*error = MW_ERR_NOT_FOUND;
		mw_system_call(SYS_munmap, memory, EVENT_BYTES);
	}
	mw_system_call(SYS_close, fd);
	return *error == MW_OK ? (mw_os_thread_event_t *)memory : NULL;
}

mw_os_thread_event_t *mw_os_thread_event_start(uint32_t thread_id,
					       const mw_os_event_config_t *config, int *error) {
	int saved_errno = errno;
	mw_os_thread_event_t *event = start(thread_id, config, error);
	errno = saved_errno;
	return event;
}

void mw_os_thread_event_stop(mw_os_thread_event_t *event) {
	int saved_errno = errno;
	mw_system_call(SYS_munmap, event, EVENT_BYTES);
	errno = saved_errno;
}

/* ---- records ---- */

/* Records are aligned to 8 bytes, so no word lies across the ring's end. */
static uint64_t word_at(const mw_os_thread_event_t *event, uint64_t position) {
	const char *ring = (const char *)event + POSITIONS_BYTES;
	uint64_t word;
	memcpy(&word, ring + position % RING_BYTES, sizeof word);
	return word;
}

/* A chain begins with a mark that says that the frames are the kernel's. */
static uint32_t take_frames(const mw_os_thread_event_t *event, uint64_t at, uint64_t count,
			    uint64_t *frames, uint32_t frames_max) {
	uint32_t depth = 0;
	for (uint64_t i = 0; i < count && depth < frames_max; i++) {
		uint64_t frame = word_at(event, at + i * sizeof frame);
		if (frame < (uint64_t)PERF_CONTEXT_MAX)
			frames[depth++] = frame;
	}
	return depth;
}

mw_os_event_read_t mw_os_thread_event_read(mw_os_thread_event_t *event, uint64_t *frames,
					   uint32_t frames_max) {
	mw_os_event_read_t result = {0};
	uint64_t head = __atomic_load_n(&event->positions.data_head, __ATOMIC_ACQUIRE);
	uint64_t at = event->positions.data_tail;
	while (at < head && head - at <= RING_BYTES) {
		struct perf_event_header header;
		uint64_t first = word_at(event, at);
		memcpy(&header, &first, sizeof header);
		uint64_t depth = header.size >= FRAMES_AT ? word_at(event, at + DEPTH_AT) : 0;
		if (header.type == PERF_RECORD_SAMPLE && depth <= RING_BYTES / sizeof first) {
			result.count = word_at(event, at + COUNT_AT);
			result.depth =
				take_frames(event, at + FRAMES_AT, depth, frames, frames_max);
		}
		if (header.size == 0)
			break;
		at += header.size;
	}
	__atomic_store_n(&event->positions.data_tail, head, __ATOMIC_RELEASE);
	return result;
}
