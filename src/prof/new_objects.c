/* SPDX-License-Identifier: MIT
 * new_objects.c -- refreshes the table of objects where that is allowed. */
#include "prof/new_objects.h"

#include <errno.h>

#include "os/lock/lock.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

/* Each try finds at least one unknown object, or one region of generated code, further out. A stack
 * has frames of few of them. */
#define TRIES_MAX 16u
#define DEPTH_MAX 128u

/* Returns whether the thread may wait for the dynamic linker's lock. A handler may have interrupted
 * the dynamic linker, or the library. */
static bool may_wait(const uint64_t *frames, unsigned depth) {
	for (unsigned i = 0; i < depth; i++)
		if (frames[i] & MW_FRAME_EXACT)
			return false;
	return mw_lock_held_ranks == 0 && !mw_lock_is_forking();
}

bool mw_new_objects_learn(mw_new_objects_t *objects, const uint64_t *frames, unsigned depth) {
	/* Generation 0: the table is not used. */
	if (objects->generation == 0 || objects->tries++ == TRIES_MAX || !may_wait(frames, depth))
		return false;
	uint32_t before = objects->generation;
	mw_os_object_table_refresh();
	objects->generation = mw_os_object_table_generation();
	return objects->generation != before;
}

static MW_COLD MW_NOINLINE void refresh(void) {
	int saved_errno = errno;
	uint64_t frames[DEPTH_MAX];
	mw_unwind_result_t walk = mw_unwind_capture(frames, DEPTH_MAX);
	if (may_wait(frames, walk.depth))
		mw_os_object_table_refresh();
	errno = saved_errno;
}

void mw_new_objects_poll(void) {
	if (MW_UNLIKELY(mw_os_object_table_is_due()))
		refresh();
}
