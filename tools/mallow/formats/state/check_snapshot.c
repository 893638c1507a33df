/* SPDX-License-Identifier: MIT
 * check_snapshot.c -- finds damaged entries in a copy of a state file, and takes them out. */
#include "formats/state/check_snapshot.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/memory.h"

/* Returns for each node the number of frames from the node to the outermost one; 0 = the chain
 * is damaged.  A caller always has a smaller number than its callee, so no chain is circular. */
static uint16_t *node_depths(const mw_snapshot_t *snapshot) {
	uint16_t *depths = mw_xcalloc(snapshot->node_count, sizeof(*depths));
	for (size_t i = 1; i < snapshot->node_count; i++) {
		uint32_t caller = (uint32_t)snapshot->nodes[i];
		uint64_t frame = snapshot->nodes[i] >> MW_NODE_FRAME_SHIFT;
		bool is_good = frame > 0 && frame < snapshot->frame_count && caller < i &&
			       (caller == 0 || depths[caller] > 0) &&
			       depths[caller] < MW_STATE_DEPTH_MAX;
		depths[i] = is_good ? (uint16_t)(depths[caller] + 1) : 0;
	}
	return depths;
}

/* Empties stacks whose chain of nodes has another length than the stack says.  Views show an
 * empty stack as unknown. */
static void check_stacks(mw_snapshot_t *snapshot) {
	uint16_t *depths = node_depths(snapshot);
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		mw_state_stack_t *stack = &snapshot->stacks[i];
		if (stack->node >= snapshot->node_count || depths[stack->node] == 0 ||
		    depths[stack->node] != stack->depth)
			stack->node = stack->depth = 0;
	}
	free(depths);
}

/* Drops lists of sizes that are damaged, or that refer to entries which a full file system could
 * not store.  Each entry refers to a smaller number, so no list is circular.  Each entry belongs
 * to one stack, so all lists together are at most as long as the section. */
static void check_sizes(mw_snapshot_t *snapshot) {
	bool *is_good = mw_xcalloc(snapshot->size_count, sizeof(*is_good));
	for (size_t i = 1; i < snapshot->size_count; i++) {
		const mw_state_size_t *size = &snapshot->sizes[i];
		is_good[i] =
			size->usable_bytes > 0 && size->next < i &&
			(size->next == 0 ||
			 (is_good[size->next] && snapshot->sizes[size->next].stack == size->stack));
	}
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		mw_state_stack_t *stack = &snapshot->stacks[i];
		uint32_t newest = stack->sizes;
		if (newest != 0 && (newest >= snapshot->size_count || !is_good[newest] ||
				    snapshot->sizes[newest].stack != i))
			stack->first_size_bytes = stack->sizes = 0;
	}
	free(is_good);
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
