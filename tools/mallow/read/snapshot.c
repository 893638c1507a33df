/* SPDX-License-Identifier: MIT
 * snapshot.c -- makes a profile of a snapshot of a state file. */
#include "read/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"

/* Usable bytes of a block for a request of 0 bytes: the smallest size class. */
#define ZERO_REQUEST_USABLE_BYTES 16

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, TYPE_COUNT };

typedef struct builder {
	mw_profile_t *profile;
	const mw_snapshot_t *snapshot;
	uint32_t *mappings;  /* by module; 0: not added yet */
	uint32_t *locations; /* of the stack at hand */
	uint32_t unknown;    /* location that stands for a stack nobody knows; 0: not added yet */
} builder_t;

static uint32_t module_mapping(builder_t *b, size_t module_index) {
	if (b->mappings[module_index] != 0)
		return b->mappings[module_index];
	const mw_state_module_t *module = &b->snapshot->modules[module_index];
	char build_id[2 * sizeof(module->build_id) + 1] = "";
	for (size_t i = 0; i < module->build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	mw_mapping_t mapping = {
		.start = module->start,
		.limit = module->limit,
		.offset = module->file_offset,
		.bias = module->bias,
		.bias_known = true,
		.path = mw_profile_intern(b->profile, module->path),
		.build_id = mw_profile_intern(b->profile, build_id),
	};
	b->mappings[module_index] = mw_profile_add_mapping(b->profile, &mapping);
	return b->mappings[module_index];
}

static uint32_t frame_location(builder_t *b, uint64_t frame) {
	bool is_exact = (frame & MW_FRAME_EXACT) != 0;
	size_t module = (frame >> MW_FRAME_MODULE_SHIFT) & MW_FRAME_MODULE_MAX;
	uint64_t address = frame & MW_FRAME_ADDRESS_MASK;
	if (module > b->snapshot->module_count)
		module = 0;
	if (module > 0)
		address += b->snapshot->modules[module - 1].bias;
	/* A return address is one past the call, which may be another line or function. */
	if (!is_exact && address > 0)
		address--;
	uint32_t mapping = module > 0 ? module_mapping(b, module - 1) : 0;
	return mw_profile_add_location(b->profile, mapping, address, is_exact);
}

static uint32_t unknown_location(builder_t *b) {
	if (b->unknown == 0) {
		mw_function_t function = {.name = mw_profile_intern(b->profile, "[stack unknown]")};
		function.system_name = function.name;
		mw_line_t line = {.function = mw_profile_add_function(b->profile, &function)};
		b->unknown = mw_profile_append_location(b->profile, 0, 0, true);
		mw_profile_set_lines(b->profile, b->unknown, &line, 1);
	}
	return b->unknown;
}

static int64_t from_q16(int64_t value) {
	return value > 0 ? value / 65536 + (value % 65536 >= 32768) : 0;
}

static int64_t at_least_0(int64_t value) {
	return value > 0 ? value : 0;
}

/* The bytes of the zero-size requests among `objects`: counted objects only are in the file. */
static int64_t zero_bytes(int64_t zero_objects, int64_t objects, int64_t bytes) {
	if (zero_objects >= objects)
		return bytes;
	int64_t estimate;
	if (__builtin_mul_overflow(zero_objects, ZERO_REQUEST_USABLE_BYTES, &estimate))
		return bytes;
	return estimate < bytes ? estimate : bytes;
}

static bool any(const int64_t values[TYPE_COUNT]) {
	for (int i = 0; i < TYPE_COUNT; i++)
		if (values[i] != 0)
			return true;
	return false;
}

static void add_stack(builder_t *b, const mw_state_stack_t *stack) {
	int64_t values[TYPE_COUNT] = {
		[ALLOC_OBJECTS] = from_q16(stack->alloc_objects_q16),
		[ALLOC_SPACE] = at_least_0(stack->alloc_bytes),
		[INUSE_OBJECTS] = from_q16(stack->live_objects_q16),
		[INUSE_SPACE] = at_least_0(stack->live_bytes),
	};
	if (!any(values))
		return;
	int64_t zero[TYPE_COUNT] = {
		[ALLOC_OBJECTS] = from_q16(stack->alloc_zero_objects_q16),
		[INUSE_OBJECTS] = from_q16(stack->live_zero_objects_q16),
	};
	for (int i = 0; i < TYPE_COUNT; i += 2) {
		if (zero[i] > values[i])
			zero[i] = values[i];
		if (zero[i] > 0)
			zero[i + 1] = zero_bytes(zero[i], values[i], values[i + 1]);
		values[i] -= zero[i];
		values[i + 1] -= zero[i + 1];
	}
	size_t depth = stack->depth;
	for (size_t i = 0; i < depth; i++)
		b->locations[i] = frame_location(b, b->snapshot->frames[stack->frame_first + i]);
	if (depth == 0)
		b->locations[depth++] = unknown_location(b);
	mw_label_t label = {
		.key = mw_profile_intern(b->profile, MW_LABEL_REQUEST),
		.unit = mw_profile_intern(b->profile, "bytes"),
	};
	if (any(values))
		mw_profile_add_sample(b->profile, b->locations, depth, values, NULL, 0);
	if (any(zero))
		mw_profile_add_sample(b->profile, b->locations, depth, zero, &label, 1);
}

static void set_origin(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	const mw_state_live_t *live = &snapshot->live;
	char args[sizeof(header->args)];
	memcpy(args, header->args, sizeof(args));
	/* Padded with NULs, and an argument may be empty. */
	size_t length = sizeof(args);
	while (length > 0 && args[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++)
		if (args[i] == '\0')
			args[i] = ' ';
	p->origin.program = mw_profile_intern(p, header->program);
	p->origin.args = mw_profile_intern(p, args);
	p->origin.session = mw_profile_intern(p, header->session);
	p->origin.version = mw_profile_intern(p, header->library_version);
	p->origin.format = mw_profile_intern(p, "state file");
	p->origin.pid = header->pid;
	p->origin.flags = live->flags;
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		p->origin.live_samples += snapshot->stacks[i].live_samples;
		p->origin.alloc_samples += snapshot->stacks[i].alloc_samples;
	}
	/* The process's own time rather than now: it may have ended long ago. */
	uint64_t updated_ns = live->updated_realtime_ns, since_ns = header->created_realtime_ns;
	if (live->reset_realtime_ns > since_ns)
		since_ns = live->reset_realtime_ns;
	p->time_ns = updated_ns != 0 && updated_ns <= INT64_MAX ? (int64_t)updated_ns
								: snapshot->taken_ns;
	if (since_ns != 0 && since_ns < (uint64_t)p->time_ns)
		p->duration_ns = p->time_ns - (int64_t)since_ns;
	p->period = live->mean_bytes <= MW_STATE_MEAN_BYTES_MAX ? (int64_t)live->mean_bytes : 0;
}

/* What profile.proto has no field for travels as comments: see read/proto.c for the way back. */
static void add_comments(mw_profile_t *p) {
	char text[2048];
	snprintf(text, sizeof(text), "mallow %s", mw_profile_string(p, p->origin.version));
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "program: %s", mw_profile_string(p, p->origin.program));
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "pid: %u", p->origin.pid);
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "command: %s", mw_profile_string(p, p->origin.args));
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "samples: %" PRIu64 " in use, %" PRIu64 " taken",
		 p->origin.live_samples, p->origin.alloc_samples);
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "flags: 0x%x", p->origin.flags);
	mw_profile_add_comment(p, text);
}

mw_profile_t *mw_profile_from_snapshot(const mw_snapshot_t *snapshot) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	set_origin(p, snapshot);
	add_comments(p);
	builder_t b = {
		.profile = p,
		.snapshot = snapshot,
		.mappings = mw_xcalloc(snapshot->module_count, sizeof(uint32_t)),
		.locations = mw_xcalloc((size_t)UINT16_MAX + 1, sizeof(uint32_t)),
	};
	/* The program first: pprof takes the first mapping for it. */
	for (size_t i = 0; i < snapshot->module_count; i++)
		if (strcmp(snapshot->modules[i].path, snapshot->header.exe) == 0)
			module_mapping(&b, i);
	for (size_t i = 0; i < snapshot->stack_count; i++)
		add_stack(&b, &snapshot->stacks[i]);
	free(b.mappings);
	free(b.locations);
	return p;
}
