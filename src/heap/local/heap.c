/* SPDX-License-Identifier: MIT
 * heap.c -- the calling thread's own variables. */
#include "heap/local/heap.h"

#include "heap/local/batch.h"
#include "heap/misuse/misuse.h"

MW_TLS mw_thread_t mw_thread = MW_THREAD_INITIAL;
mw_remote_cache_t mw_remote_no_cache;

const char *mw_misuse_function(void) {
	return mw_thread.function ? mw_thread.function : "free";
}
