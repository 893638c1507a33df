/* SPDX-License-Identifier: MIT
 * cpu_clock.c -- events and rings as perf_event_open(2) has them. */
#include "live/outside/cpu_clock.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/memory.h"

/* A user without rights may lock RING_BYTES_SMALL for each processor
 * (kernel.perf_event_mlock_kb); root gets RING_BYTES. */
#define RING_BYTES_SMALL ((size_t)512 << 10)
#define RING_BYTES ((size_t)4 << 20)
/* The size field of a record has 16 bits. */
#define RECORD_BYTES_MAX ((size_t)1 << 16)

struct mw_cpu_ring {
	struct perf_event_mmap_page *page; /* NULL: none for this processor */
	size_t bytes;                      /* of the data behind the page, a power of 2 */
	int output;                        /* the event that owns the ring */
	unsigned processor;
};

/* Bits of sample_regs_user by DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15,
 * rip (the kernel's asm/perf_regs.h of x86). The values come in the order of the bits. */
static const uint8_t register_bits[MW_PROBE_REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
							  17, 18, 19, 20, 21, 22, 23, 8};

static uint64_t register_mask(void) {
	uint64_t mask = 0;
	for (size_t i = 0; i < MW_PROBE_REGISTERS; i++)
		mask |= UINT64_C(1) << register_bits[i];
	return mask;
}

static void take_registers(const uint64_t *values, uint64_t out[MW_PROBE_REGISTERS]) {
	uint64_t mask = register_mask();
	for (size_t i = 0; i < MW_PROBE_REGISTERS; i++) {
		uint64_t before = mask & ((UINT64_C(1) << register_bits[i]) - 1);
		out[i] = values[__builtin_popcountll(before)];
	}
}

/* ---- events ---- */

static int open_event(mw_cpu_clock_t *clock, int thread, unsigned processor, unsigned hz) {
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.inherit = 1,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
		.exclude_kernel = clock->is_user_only,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES_SMALL / 4,
		.sample_regs_user = register_mask(),
		.sample_stack_user = MW_CPU_STACK_BYTES,
	};
	return (int)syscall(SYS_perf_event_open, &event, thread, (int)processor, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static bool map_ring(mw_cpu_ring_t *ring, int event) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (ring->bytes = RING_BYTES; ring->bytes >= RING_BYTES_SMALL; ring->bytes /= 2) {
		void *memory = mmap(NULL, page + ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    event, 0);
		if (memory != MAP_FAILED) {
			ring->page = memory;
			ring->output = event;
			return true;
		}
	}
	if (errno == EPERM)
		errno = ENOBUFS;
	return false;
}

static bool keep(mw_cpu_clock_t *clock, mw_cpu_ring_t *ring, int event) {
	clock->events =
		mw_grow(clock->events, &clock->event_capacity, clock->event_count + 1, sizeof(int));
	clock->events[clock->event_count++] = event;
	if (ring->page != NULL)
		return ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, ring->output) == 0;
	struct epoll_event ready = {.events = EPOLLIN};
	return map_ring(ring, event) &&
	       epoll_ctl(clock->ready_fd, EPOLL_CTL_ADD, event, &ready) == 0;
}

/* Opens the events of a thread.  A thread that has ended has none: errno is ESRCH. */
static bool open_thread(mw_cpu_clock_t *clock, int thread, unsigned hz) {
	for (size_t i = 0; i < clock->ring_count; i++) {
		int event = open_event(clock, thread, clock->rings[i].processor, hz);
		if (event < 0 && (errno == EACCES || errno == EPERM) && !clock->is_user_only) {
			clock->is_user_only = true;
			event = open_event(clock, thread, clock->rings[i].processor, hz);
		}
		/* A processor that is switched off runs no thread. */
		if (event < 0 && errno == ENODEV)
			continue;
		if (event < 0 || !keep(clock, &clock->rings[i], event))
			return false;
	}
	return true;
}

static bool has_thread(const int *threads, size_t count, int thread) {
	for (size_t i = count; i > 0; i--)
		if (threads[i - 1] == thread)
			return true;
	return false;
}

/* Opens the events of all threads that are in the folder and were not there before.  Returns how
 * many there were; -1: the kernel refused, with errno. */
static int open_new_threads(mw_cpu_clock_t *clock, int pid, unsigned hz, int **threads,
			    size_t *count, size_t *capacity) {
	char path[64];
	const struct dirent *entry;
	int opened = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	if (folder == NULL)
		return -1;
	while (opened >= 0 && (entry = readdir(folder)) != NULL) {
		int thread = atoi(entry->d_name);
		if (thread <= 0 || has_thread(*threads, *count, thread))
			continue;
		if (!open_thread(clock, thread, hz) && errno != ESRCH) {
			opened = -1;
			break;
		}
		*threads = mw_grow(*threads, capacity, *count + 1, sizeof(int));
		(*threads)[(*count)++] = thread;
		opened++;
	}
	int number = errno;
	closedir(folder);
	errno = number;
	return opened;
}

static int refuse(int pid, mw_error_t *error) {
	if (errno == EMFILE || errno == ENFILE)
		return mw_error_set(error,
				    "pid %d: it has too many threads: each takes a descriptor for "
				    "each processor, and no more are allowed (ulimit -n)",
				    pid);
	if (errno == ENOBUFS)
		return mw_error_set(error,
				    "pid %d: no memory is left for the samples of this user "
				    "(kernel.perf_event_mlock_kb): end other commands that sample",
				    pid);
	if (errno == EACCES || errno == EPERM)
		return mw_error_set(error,
				    "pid %d: the kernel does not permit samples of its CPU time; "
				    "it takes root, CAP_PERFMON, or a process of one's own and "
				    "kernel.perf_event_paranoid of 2 or less",
				    pid);
	if (errno == ENOENT || errno == ENOSYS || errno == EOPNOTSUPP)
		return mw_error_set(error,
				    "pid %d: this kernel has no samples of CPU time "
				    "(perf_event_open)",
				    pid);
	return mw_error_set(error, "pid %d: cannot sample its CPU time: %s", pid, strerror(errno));
}

int mw_cpu_clock_open(mw_cpu_clock_t *clock, int pid, unsigned hz, mw_error_t *error) {
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit files;
	int *threads = NULL, opened;
	size_t count = 0, capacity = 0;
	*clock = (mw_cpu_clock_t){.ready_fd = epoll_create1(EPOLL_CLOEXEC)};
	if (clock->ready_fd < 0)
		return refuse(pid, error);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	clock->ring_count = processors > 0 ? (size_t)processors : 1;
	clock->rings = mw_xcalloc(clock->ring_count, sizeof(*clock->rings));
	clock->record = mw_xcalloc(1, RECORD_BYTES_MAX);
	for (size_t i = 0; i < clock->ring_count; i++)
		clock->rings[i].processor = (unsigned)i;
	/* A thread that started while the folder was read may have been made by one without events:
	 * the folder is read until nothing in it is new. */
	do
		opened = open_new_threads(clock, pid, hz, &threads, &count, &capacity);
	while (opened > 0);
	int result = opened < 0 ? refuse(pid, error) : 0;
	free(threads);
	return result;
}

void mw_cpu_clock_stop(mw_cpu_clock_t *clock) {
	for (size_t i = 0; i < clock->event_count; i++)
		ioctl(clock->events[i], PERF_EVENT_IOC_DISABLE, 0);
}

void mw_cpu_clock_close(mw_cpu_clock_t *clock) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < clock->ring_count; i++)
		if (clock->rings[i].page != NULL)
			munmap(clock->rings[i].page, page + clock->rings[i].bytes);
	for (size_t i = 0; i < clock->event_count; i++)
		close(clock->events[i]);
	if (clock->ready_fd >= 0)
		close(clock->ready_fd);
	free(clock->rings);
	free(clock->events);
	free(clock->record);
	*clock = (mw_cpu_clock_t){.ready_fd = -1};
}

/* ---- records ---- */

/* The bytes of a record that have not been read yet. */
typedef struct rest {
	const uint8_t *at;
	size_t bytes;
} rest_t;

/* Returns the next bytes; NULL: the record is too short. */
static const void *next(rest_t *rest, size_t bytes) {
	const uint8_t *at = rest->at;
	if (bytes > rest->bytes)
		return NULL;
	rest->at += bytes;
	rest->bytes -= bytes;
	return at;
}

static bool next_word(rest_t *rest, uint64_t *out) {
	const void *at = next(rest, sizeof(*out));
	if (at != NULL)
		memcpy(out, at, sizeof(*out));
	return at != NULL;
}

static bool take_kernel_frames(rest_t *rest, mw_cpu_sample_t *out) {
	uint64_t count, frame;
	if (!next_word(rest, &count) || count > rest->bytes / sizeof(frame))
		return false;
	for (uint64_t i = 0; i < count; i++)
		/* Marks of where frames come from are numbers just below 2^64. */
		if (next_word(rest, &frame) && frame < (uint64_t)PERF_CONTEXT_MAX &&
		    out->kernel_depth < MW_CPU_KERNEL_FRAMES)
			out->kernel_frames[out->kernel_depth++] = frame;
	return true;
}

static bool take_user_state(rest_t *rest, mw_cpu_sample_t *out) {
	uint64_t abi, values[MW_PROBE_REGISTERS], bytes, copied = 0;
	if (!next_word(rest, &abi))
		return false;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		const void *at = next(rest, sizeof(values));
		if (at == NULL)
			return false;
		memcpy(values, at, sizeof(values));
		take_registers(values, out->registers);
	}
	out->has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
	if (!next_word(rest, &bytes))
		return false;
	if (bytes == 0)
		return true;
	out->stack = next(rest, bytes);
	if (out->stack == NULL || !next_word(rest, &copied) || copied > bytes)
		return false;
	out->stack_bytes = copied;
	return true;
}

/* Reads a record of the kernel's (PERF_RECORD_SAMPLE). */
static bool parse_sample(rest_t rest, mw_cpu_sample_t *out) {
	int32_t numbers[2];
	const void *at = next(&rest, sizeof(numbers));
	if (at == NULL)
		return false;
	memcpy(numbers, at, sizeof(numbers));
	*out = (mw_cpu_sample_t){.process = numbers[0], .thread = numbers[1]};
	return take_kernel_frames(&rest, out) && take_user_state(&rest, out);
}

/* Returns the bytes of the ring from `at` on, in one piece. */
static const uint8_t *in_one_piece(const mw_cpu_clock_t *clock, const mw_cpu_ring_t *ring,
				   uint64_t at, size_t bytes) {
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
	size_t offset = (size_t)at & (ring->bytes - 1), first = ring->bytes - offset;
	if (bytes <= first)
		return data + offset;
	memcpy(clock->record, data + offset, first);
	memcpy(clock->record + first, data, bytes - first);
	return clock->record;
}

static size_t read_ring(mw_cpu_clock_t *clock, mw_cpu_ring_t *ring,
			void (*take)(void *context, const mw_cpu_sample_t *sample), void *context) {
	mw_cpu_sample_t sample;
	size_t count = 0;
	uint64_t at = ring->page->data_tail; /* only this process writes it */
	/* Pairs with the kernel's release when it has written a record. */
	uint64_t limit = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	while (limit - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		memcpy(&header, in_one_piece(clock, ring, at, sizeof(header)), sizeof(header));
		if (header.size < sizeof(header) || header.size > limit - at)
			break;
		const rest_t rest = {in_one_piece(clock, ring, at, header.size) + sizeof(header),
				     header.size - sizeof(header)};
		if (header.type == PERF_RECORD_SAMPLE && parse_sample(rest, &sample)) {
			take(context, &sample);
			count++;
		}
		if (header.type == PERF_RECORD_LOST && rest.bytes >= 2 * sizeof(uint64_t)) {
			uint64_t lost;
			memcpy(&lost, rest.at + sizeof(lost), sizeof(lost));
			clock->lost += lost;
		}
		at += header.size;
		/* Pairs with the kernel's load before it writes: the record is read by then. */
		__atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
	}
	return count;
}

size_t mw_cpu_clock_read(mw_cpu_clock_t *clock,
			 void (*take)(void *context, const mw_cpu_sample_t *sample),
			 void *context) {
	size_t count = 0;
	for (size_t i = 0; i < clock->ring_count; i++)
		if (clock->rings[i].page != NULL)
			count += read_ring(clock, &clock->rings[i], take, context);
	return count;
}
