/* SPDX-License-Identifier: MIT
 * stack_room.h -- whether an answer finds room below a thread's stack pointer.
 * Layer: live/enter. */
#ifndef MW_TOOL_LIVE_ENTER_STACK_ROOM_H
#define MW_TOOL_LIVE_ENTER_STACK_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/loaded/address_space.h"

typedef struct mw_sleepers {
	struct mw_sleeper {
		int id;
		uint64_t rsp; /* of one that sleeps, a moment ago; 0: not known */
	} * items;
	size_t count, capacity;
} mw_sleepers_t;

/* Reads which threads the process has, and where they sleep.  The caller frees `items`. */
mw_sleepers_t mw_sleepers_list(int pid);

/* Returns the stack pointer of a thread that sleeps; 0: it is not known. */
uint64_t mw_sleeper_stack_pointer(int pid, int thread);

/* Returns whether there may be room for `bytes` below the stack pointer of thread `id`: bytes
 * that the process has or that the kernel would add, in a mapping where no other thread sleeps. */
bool mw_stack_may_have_room(const mw_address_space_t *space, int pid, const mw_sleepers_t *threads,
			    int id, uint64_t rsp, uint64_t bytes);

#endif
