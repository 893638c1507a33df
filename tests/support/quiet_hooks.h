/* SPDX-License-Identifier: MIT
 * quiet_hooks.h -- hooks of the heap (heap/sample/hooks.h) that do nothing and draw nothing: for a
 * test that plays only some of the sampler's parts. */
#ifndef TEST_QUIET_HOOKS_H
#define TEST_QUIET_HOOKS_H

#include "heap/sample/hooks.h"

/* thread_start, poll */
static inline void quiet_thread(mw_hook_thread_t *thread) {
	(void)thread;
}

/* draw_objects: sampling is off */
static inline uint64_t quiet_draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread, (void)size_bytes;
	return UINT64_MAX;
}

/* draw_bytes: sampling is off */
static inline uint64_t quiet_draw_bytes(mw_hook_thread_t *thread) {
	(void)thread;
	return UINT64_MAX;
}

static inline void quiet_sample_freed(mw_hook_thread_t *thread, mw_record_id_t record,
				      bool temporary) {
	(void)thread, (void)record, (void)temporary;
}

static inline void quiet_grew(mw_hook_thread_t *thread, size_t in_use_bytes) {
	(void)thread, (void)in_use_bytes;
}

static inline uint64_t quiet_background(void) {
	return UINT64_MAX;
}

/* Of guarded samples (heap/misuse/guarded.h): no stack is taken, no place has a name. */
static inline unsigned quiet_stack(uint64_t *pcs, unsigned max_depth, bool in_handler) {
	(void)pcs, (void)max_depth, (void)in_handler;
	return 0;
}

static inline void quiet_name(uint64_t pc, char *buffer, size_t capacity) {
	(void)pc;
	if (capacity > 0)
		buffer[0] = '\0';
}

#endif
