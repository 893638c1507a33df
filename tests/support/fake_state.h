/* SPDX-License-Identifier: MIT
 * fake_state.h -- makes small state files byte for byte from state/layout.h, good ones and bad
 * ones, so that readers are tested without the library. */
#ifndef MW_TEST_FAKE_STATE_H
#define MW_TEST_FAKE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "state/layout.h"

enum {
	FAKE_MODULES = 8,
	FAKE_STACKS = 32,
	FAKE_FRAMES = 512,
	FAKE_NODES = 600,
	FAKE_RECORDS = 64,
	FAKE_TICKS = 64,
	FAKE_EVENTS = 8,
	FAKE_LIFETIMES = 32,
	FAKE_SIZES = 32,
	FAKE_THREADS = 8,
	FAKE_CPU = 8,
	FAKE_LEAKS = 8,
	FAKE_CHUNKS = 4,
	FAKE_FUNCTIONS = 8,
	FAKE_TEXTS = 64,
	FAKE_CLASSES = 8,
	FAKE_RANGES = 8,
};

/* The pointers lead into `bytes`: tests damage what they like. */
typedef struct fake_state {
	unsigned char *bytes;
	size_t length;
	mw_state_header_t *header;
	mw_state_control_t *control;
	mw_state_live_t *live;
	mw_state_module_t *modules;
	mw_state_stack_t *stacks;
	uint64_t *frames;
	uint64_t *nodes;
	mw_state_record_t *records;
	mw_state_tick_t *ticks;
	mw_state_event_t *events;
	mw_state_lifetimes_t *lifetimes;
	mw_state_size_t *sizes;
	mw_state_thread_t *threads;
	mw_state_cpu_t *cpu;
	mw_state_leak_check_t *leak_check;
	mw_state_leak_t *leaks;
	mw_state_function_t *functions;
	uint64_t *texts;
	mw_state_class_t *classes;
	mw_state_range_t *ranges;
} fake_state_t;

/* A valid file of the program "demo", pid 4711, T = 512 KiB, without modules and stacks but for
 * stack 0. */
void fake_state_init(fake_state_t *state);
void fake_state_release(fake_state_t *state);

/* Returns the module's index.  `build_id` is hex or "". */
uint32_t fake_state_add_module(fake_state_t *state, const char *path, uint64_t start,
			       uint64_t limit, uint64_t file_offset, uint64_t bias,
			       const char *build_id);

/* A frame as the library packs it. */
uint64_t fake_frame(uint32_t module, uint64_t elf_address);

/* A stack whose live and allocated counters are the same; returns its index. */
uint32_t fake_state_add_stack(fake_state_t *state, const uint64_t *frames, size_t depth,
			      double objects, int64_t bytes, double zero_objects);

/* Returns an open file in memory with the first `length` bytes; ends the test when that fails. */
int fake_state_fd(const fake_state_t *state, size_t length);
/* Writes the file; ends the test when that fails. */
void fake_state_save(const fake_state_t *state, const char *path);

#endif
