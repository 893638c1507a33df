/* SPDX-License-Identifier: MIT
 * check_snapshot.c -- refuses headers whose sections do not fit, and takes damaged entries out of a
 * copy of a state file. */
#include "formats/state/check_snapshot.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/memory.h"

static const char *const section_names[MW_SECTION_COUNT] = {
	[MW_SECTION_CONTROL] = "control",     [MW_SECTION_LIVE] = "live",
	[MW_SECTION_MODULES] = "modules",     [MW_SECTION_STACKS] = "stacks",
	[MW_SECTION_FRAMES] = "frames",       [MW_SECTION_RECORDS] = "records",
	[MW_SECTION_TIMELINE] = "timeline",   [MW_SECTION_EVENTS] = "events",
	[MW_SECTION_LIFETIMES] = "lifetimes", [MW_SECTION_THREADS] = "threads",
	[MW_SECTION_CLASSES] = "classes",     [MW_SECTION_RANGES] = "ranges",
	[MW_SECTION_NODES] = "nodes",         [MW_SECTION_SIZES] = "sizes",
	[MW_SECTION_CPU] = "CPU samples",     [MW_SECTION_LEAK_CHECK] = "the leak check",
	[MW_SECTION_LEAKS] = "leaks",         [MW_SECTION_CHUNKS] = "chunks",
	[MW_SECTION_FUNCTIONS] = "functions", [MW_SECTION_TEXTS] = "texts",
};

const char *mw_snapshot_section_name(mw_state_section_id_t id) {
	return section_names[id];
}

static int check_section(const mw_state_header_t *header, mw_state_section_id_t id,
			 const char *name, mw_error_t *error) {
	const mw_state_section_t *section = &header->sections[id];
	uint64_t bytes, end, first_bytes, first_end;
	bool good = section->stride_bytes == mw_state_stride(id) && section->capacity > 0 &&
		    section->offset_bytes >= sizeof(*header) && section->offset_bytes % 8 == 0 &&
		    !__builtin_mul_overflow(section->capacity, section->stride_bytes, &bytes) &&
		    !__builtin_add_overflow(section->offset_bytes, bytes, &end) &&
		    end <= header->file_bytes;
	if (good && section->first_entries > 0) {
		first_bytes = (uint64_t)section->first_entries * section->stride_bytes;
		good = section->first_entries <= section->capacity && section->capacity > 1 &&
		       section->first_offset_bytes >= sizeof(*header) &&
		       section->first_offset_bytes % 8 == 0 &&
		       !__builtin_add_overflow(section->first_offset_bytes, first_bytes,
					       &first_end) &&
		       first_end <= header->file_bytes;
	}
	if (!good)
		return mw_error_set(error,
				    "%s: its section of %s does not fit (offset %" PRIu64
				    ", %" PRIu64 " entries of %" PRIu32
				    " bytes); the file is damaged",
				    name, section_names[id], section->offset_bytes,
				    section->capacity, section->stride_bytes);
	return 0;
}

/* Range of the file that holds entries. */
typedef struct extent {
	uint64_t begin, end;
} extent_t;

static int compare_extents(const void *a, const void *b) {
	const extent_t *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Refuses files whose sections overlap.  Each section is copied, so overlapping sections of a
 * small file could take much memory. */
static int check_overlap(const mw_state_header_t *header, const char *name, mw_error_t *error) {
	extent_t extents[2 * MW_SECTION_COUNT];
	for (int id = 0; id < MW_SECTION_COUNT; id++) {
		const mw_state_section_t *section = &header->sections[id];
		uint64_t begin = section->offset_bytes, first = section->first_offset_bytes;
		uint64_t first_bytes = (uint64_t)section->first_entries * section->stride_bytes;
		uint64_t end = begin + section->capacity * section->stride_bytes;
		extents[2 * id] = (extent_t){begin + first_bytes, end};
		extents[2 * id + 1] = (extent_t){first, first + first_bytes};
	}
	qsort(extents, 2 * MW_SECTION_COUNT, sizeof(extent_t), compare_extents);
	for (size_t i = 0, end = 0; i < 2 * MW_SECTION_COUNT; i++) {
		bool is_empty = extents[i].begin == extents[i].end;
		if (!is_empty && extents[i].begin < end)
			return mw_error_set(error,
					    "%s: sections overlap at byte %" PRIu64
					    "; the file is damaged",
					    name, extents[i].begin);
		end = is_empty ? end : extents[i].end;
	}
	return 0;
}

int mw_snapshot_check_sections(const mw_state_header_t *header, const char *name,
			       mw_error_t *error) {
	for (int id = 0; id < MW_SECTION_COUNT; id++)
		if (check_section(header, (mw_state_section_id_t)id, name, error) != 0)
			return -1;
	return check_overlap(header, name, error);
}

/* Value of node_depths() for a node whose chain is damaged. */
#define BAD_DEPTH UINT16_MAX

/* Sets the depths of the nodes from `node` outwards: the number of frames to the outermost one. A
 * chain that is longer than a stack can be, circular ones among them, is damaged.  A node gets its
 * depth once, so that all stacks together take time in proportion to the nodes. */
static void set_depths(const mw_snapshot_t *snapshot, uint32_t node, uint16_t *depths) {
	uint32_t chain[MW_STATE_DEPTH_MAX];
	unsigned length = 0;
	uint16_t depth = 0;
	while (node != 0 && depth == 0) {
		uint64_t word = snapshot->nodes[node];
		uint64_t frame = word >> MW_NODE_FRAME_SHIFT;
		if (length == MW_STATE_DEPTH_MAX || frame == 0 || frame >= snapshot->frame_count) {
			depths[node] = depth = BAD_DEPTH;
			break;
		}
		chain[length++] = node;
		node = (uint32_t)word;
		depth = node < snapshot->node_count ? depths[node] : BAD_DEPTH;
	}
	while (length > 0) {
		bool is_good = depth < MW_STATE_DEPTH_MAX;
		depths[chain[--length]] = depth = is_good ? (uint16_t)(depth + 1) : BAD_DEPTH;
	}
}

/* Empties stacks whose chain of nodes has another length than the stack says.  Views show an
 * empty stack as unknown. */
static void check_stacks(mw_snapshot_t *snapshot) {
	uint16_t *depths = mw_xcalloc(snapshot->node_count, sizeof(*depths));
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		mw_state_stack_t *stack = &snapshot->stacks[i];
		bool is_good = stack->node > 0 && stack->node < snapshot->node_count;
		if (is_good && depths[stack->node] == 0)
			set_depths(snapshot, stack->node, depths);
		if (!is_good || depths[stack->node] == BAD_DEPTH ||
		    depths[stack->node] != stack->depth)
			stack->node = stack->depth = 0;
	}
	free(depths);
}

/* Returns whether the list of sizes of stack `number` is whole: its entries exist, are the stack's
 * and are in no list that was seen before. */
static bool is_list_good(const mw_snapshot_t *snapshot, size_t number, bool *seen) {
	for (uint32_t i = snapshot->stacks[number].sizes; i != 0; i = snapshot->sizes[i].next) {
		if (i >= snapshot->size_count || seen[i] || snapshot->sizes[i].usable_bytes == 0 ||
		    snapshot->sizes[i].stack != number)
			return false;
		seen[i] = true;
	}
	return true;
}

/* Drops lists of sizes that are damaged, or that refer to entries which a full file system could
 * not store. */
static void check_sizes(mw_snapshot_t *snapshot) {
	bool *seen = mw_xcalloc(snapshot->size_count, sizeof(*seen));
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		mw_state_stack_t *stack = &snapshot->stacks[i];
		if (!is_list_good(snapshot, i, seen))
			stack->first_size_bytes = stack->sizes = 0;
	}
	free(seen);
}

void mw_snapshot_check_stacks(mw_snapshot_t *snapshot) {
	check_stacks(snapshot);
	check_sizes(snapshot);
}

/* A full file system may have kept an entry and not its stack. */
void mw_snapshot_check_cpu(mw_snapshot_t *snapshot) {
	for (size_t i = 0; i < snapshot->cpu_count; i++)
		if (snapshot->cpu[i].stack >= snapshot->stack_count)
			snapshot->cpu[i].stack = 0;
	for (size_t i = 0; i < snapshot->cpu_count; i++)
		if (snapshot->cpu[i].state >= MW_CPU_STATES)
			snapshot->cpu[i].state = MW_CPU_RUNNING;
}
