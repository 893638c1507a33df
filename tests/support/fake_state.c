/* SPDX-License-Identifier: MIT
 * fake_state.c -- lays a state file out in memory. */
#include "fake_state.h"
#include "state/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void add_section(fake_state_t *s, mw_state_section_id_t id, uint64_t *offset,
			uint64_t capacity, uint32_t stride) {
	s->header->sections[id] = (mw_state_section_t){
		.offset_bytes = *offset, .capacity = capacity, .stride_bytes = stride};
	uint64_t bytes = capacity * stride;
	*offset += (bytes + MW_STATE_PAGE_BYTES - 1) / MW_STATE_PAGE_BYTES * MW_STATE_PAGE_BYTES;
}

static void lay_out(fake_state_t *s) {
	uint64_t offset = MW_STATE_PAGE_BYTES;
	add_section(s, MW_SECTION_CONTROL, &offset, 1, sizeof(mw_state_control_t));
	add_section(s, MW_SECTION_LIVE, &offset, 1, sizeof(mw_state_live_t));
	add_section(s, MW_SECTION_MODULES, &offset, FAKE_MODULES, sizeof(mw_state_module_t));
	add_section(s, MW_SECTION_STACKS, &offset, FAKE_STACKS, sizeof(mw_state_stack_t));
	add_section(s, MW_SECTION_FRAMES, &offset, FAKE_FRAMES, sizeof(uint64_t));
	add_section(s, MW_SECTION_NODES, &offset, FAKE_NODES, sizeof(uint64_t));
	add_section(s, MW_SECTION_RECORDS, &offset, FAKE_RECORDS, sizeof(mw_state_record_t));
	add_section(s, MW_SECTION_TIMELINE, &offset, FAKE_TICKS, sizeof(mw_state_tick_t));
	add_section(s, MW_SECTION_EVENTS, &offset, FAKE_EVENTS, sizeof(mw_state_event_t));
	add_section(s, MW_SECTION_LIFETIMES, &offset, FAKE_LIFETIMES, sizeof(mw_state_lifetimes_t));
	add_section(s, MW_SECTION_SIZES, &offset, FAKE_SIZES, sizeof(mw_state_size_t));
	add_section(s, MW_SECTION_CPU, &offset, FAKE_CPU, sizeof(mw_state_cpu_t));
	add_section(s, MW_SECTION_LEAK_CHECK, &offset, 1, sizeof(mw_state_leak_check_t));
	add_section(s, MW_SECTION_LEAKS, &offset, FAKE_LEAKS, sizeof(mw_state_leak_t));
	add_section(s, MW_SECTION_CHUNKS, &offset, FAKE_CHUNKS, sizeof(mw_state_chunk_t));
	add_section(s, MW_SECTION_FUNCTIONS, &offset, FAKE_FUNCTIONS, sizeof(mw_state_function_t));
	add_section(s, MW_SECTION_TEXTS, &offset, FAKE_TEXTS, sizeof(uint64_t));
	add_section(s, MW_SECTION_THREADS, &offset, FAKE_THREADS, sizeof(mw_state_thread_t));
	add_section(s, MW_SECTION_CLASSES, &offset, FAKE_CLASSES, sizeof(mw_state_class_t));
	add_section(s, MW_SECTION_RANGES, &offset, FAKE_RANGES, sizeof(mw_state_range_t));
	s->header->file_bytes = offset;
}

static void *section(fake_state_t *s, mw_state_section_id_t id) {
	return s->bytes + s->header->sections[id].offset_bytes;
}

void fake_state_init(fake_state_t *s) {
	s->length = 128 << 10;
	s->bytes = calloc(1, s->length);
	if (s->bytes == NULL)
		abort();
	s->header = (mw_state_header_t *)s->bytes;
	lay_out(s);
	s->length = s->header->file_bytes;
	s->control = section(s, MW_SECTION_CONTROL);
	s->live = section(s, MW_SECTION_LIVE);
	s->modules = section(s, MW_SECTION_MODULES);
	s->stacks = section(s, MW_SECTION_STACKS);
	s->frames = section(s, MW_SECTION_FRAMES);
	s->nodes = section(s, MW_SECTION_NODES);
	s->records = section(s, MW_SECTION_RECORDS);
	s->ticks = section(s, MW_SECTION_TIMELINE);
	s->events = section(s, MW_SECTION_EVENTS);
	s->lifetimes = section(s, MW_SECTION_LIFETIMES);
	s->sizes = section(s, MW_SECTION_SIZES);
	s->threads = section(s, MW_SECTION_THREADS);
	s->cpu = section(s, MW_SECTION_CPU);
	s->leak_check = section(s, MW_SECTION_LEAK_CHECK);
	s->leaks = section(s, MW_SECTION_LEAKS);
	s->functions = section(s, MW_SECTION_FUNCTIONS);
	s->texts = section(s, MW_SECTION_TEXTS);
	s->classes = section(s, MW_SECTION_CLASSES);
	s->ranges = section(s, MW_SECTION_RANGES);

	mw_state_header_t *h = s->header;
	memcpy(h->magic, MW_STATE_MAGIC, sizeof(h->magic));
	h->layout_version = MW_STATE_VERSION;
	h->header_bytes = sizeof(*h);
	h->pid = 4711;
	h->start_ticks = 12345;
	h->section_count = MW_SECTION_COUNT;
	h->created_realtime_ns = 1700000000000000000u;
	strcpy(h->library_version, "0.1.0");
	strcpy(h->program, "demo");
	strcpy(h->exe, "/opt/demo/bin/demo");
	memcpy(h->args, "demo\0--fast\0", 12);
	s->live->active = 1;
	s->live->mean_bytes = 512 << 10;
	s->live->stacks_used = 1;
	s->live->nodes_used = 1;
	s->live->frames_used = 1;
	s->live->lifetimes_used = 1;
	s->live->sizes_used = 1;
	s->live->updated_realtime_ns = h->created_realtime_ns + 35200000000u;
	s->live->stat_count = MW_STAT_COUNT;
}

void fake_state_release(fake_state_t *s) {
	free(s->bytes);
	s->bytes = NULL;
}

uint32_t fake_state_add_module(fake_state_t *s, const char *path, uint64_t start, uint64_t limit,
			       uint64_t file_offset, uint64_t bias, const char *build_id) {
	uint32_t index = (uint32_t)s->live->modules_used++;
	mw_state_module_t *m = &s->modules[index];
	m->start = start;
	m->limit = limit;
	m->file_offset = file_offset;
	m->bias = bias;
	m->build_id_bytes = (uint8_t)(strlen(build_id) / 2);
	for (size_t i = 0; i < m->build_id_bytes; i++) {
		unsigned byte = 0;
		sscanf(build_id + 2 * i, "%2x", &byte);
		m->build_id[i] = (uint8_t)byte;
	}
	snprintf(m->path, sizeof(m->path), "%s", path);
	return index;
}

uint64_t fake_frame(uint32_t module, uint64_t elf_address) {
	return (uint64_t)(module + 1) << MW_FRAME_MODULE_SHIFT | elf_address;
}

uint32_t fake_state_add_stack(fake_state_t *s, const uint64_t *frames, size_t depth, double objects,
			      int64_t bytes, double zero_objects) {
	uint32_t index = (uint32_t)s->live->stacks_used++;
	mw_state_stack_t *stack = &s->stacks[index];
	stack->hash = 0x1000 + index;
	stack->depth = (uint16_t)depth;
	/* Nothing is shared: readers do not mind. */
	for (size_t i = depth; i-- > 0;) {
		s->frames[s->live->frames_used] = frames[i];
		s->nodes[s->live->nodes_used] =
			s->live->frames_used++ << MW_NODE_FRAME_SHIFT | stack->node;
		stack->node = (uint32_t)s->live->nodes_used++;
	}
	stack->live_objects_q16 = stack->alloc_objects_q16 = (int64_t)(objects * 65536.0);
	stack->live_bytes = stack->alloc_bytes = bytes;
	stack->live_zero_objects_q16 = stack->alloc_zero_objects_q16 =
		(int64_t)(zero_objects * 65536.0);
	stack->live_samples = stack->alloc_samples = 1;
	return index;
}

int fake_state_fd(const fake_state_t *s, size_t length) {
	int fd = memfd_create("fake", MFD_CLOEXEC);
	if (fd < 0 || write(fd, s->bytes, length) != (ssize_t)length) {
		perror("memfd");
		exit(1);
	}
	return fd;
}

void fake_state_save(const fake_state_t *s, const char *path) {
	FILE *file = fopen(path, "wb");
	if (file == NULL || fwrite(s->bytes, 1, s->length, file) != s->length ||
	    fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}
