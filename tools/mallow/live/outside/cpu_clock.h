/* SPDX-License-Identifier: MIT
 * cpu_clock.h -- samples of a process's CPU time, by a clock of the kernel (perf_event_open(2)).
 * Layer: live/outside.  An event for each thread and each processor: threads that start later have
 * their maker's.  The events of a processor write into one ring of memory.  One reader. */
#ifndef MW_TOOL_LIVE_OUTSIDE_CPU_CLOCK_H
#define MW_TOOL_LIVE_OUTSIDE_CPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/bpf/programs.h"
#include "live/outside/outside.h"
#include "model/error.h"

/* Bytes of a stack that are copied at most. */
#define MW_CPU_STACK_BYTES ((size_t)MW_OUTSIDE_STACK_KIB << 10)
/* Frames of the kernel at most (kernel.perf_event_max_stack). */
#define MW_CPU_KERNEL_FRAMES 127

typedef struct mw_cpu_sample {
	int process, thread;
	size_t kernel_depth; /* 0: it was in the program's own code */
	uint64_t kernel_frames[MW_CPU_KERNEL_FRAMES];
	uint64_t registers[MW_PROBE_REGISTERS]; /* of the program's code */
	const uint8_t *stack;                   /* from the stack pointer on; valid in the call */
	size_t stack_bytes;
	bool has_registers; /* false: a thread of the kernel, or one of 32 bits */
} mw_cpu_sample_t;

typedef struct mw_cpu_ring mw_cpu_ring_t;

/* A zeroed one with `ready_fd` -1 is closed. */
typedef struct mw_cpu_clock {
	mw_cpu_ring_t *rings;
	size_t ring_count;
	int *events;
	size_t event_count, event_capacity;
	int ready_fd;      /* can be read while there are many samples */
	bool is_user_only; /* the kernel permits no samples of its own code */
	uint64_t lost;     /* samples that a ring had no room for */
	uint8_t *record;   /* one that goes around the end of a ring */
} mw_cpu_clock_t;

/* Begins: `hz` samples in each second of a thread's CPU time.  -1: `error` says what the user can
 * do; the caller calls mw_cpu_clock_close() in both cases. */
int mw_cpu_clock_open(mw_cpu_clock_t *clock, int pid, unsigned hz, mw_error_t *error);
/* No more samples come; those that are there can still be read. */
void mw_cpu_clock_stop(mw_cpu_clock_t *clock);
void mw_cpu_clock_close(mw_cpu_clock_t *clock);

/* Calls `take` for each sample that is there.  Returns how many there were. */
size_t mw_cpu_clock_read(mw_cpu_clock_t *clock,
			 void (*take)(void *context, const mw_cpu_sample_t *sample), void *context);

#endif
