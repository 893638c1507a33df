/* SPDX-License-Identifier: MIT
 * stacktrace.c -- stacks of the calling thread, for <gperftools/stacktrace.h> and for hooks. */
#include <gperftools/malloc_hook_c.h>
#include <string.h>

#include "compat/gperftools/gperftools.h"

/* Longest stack, with the frames that are skipped. */
#define DEPTH_MAX 256

/* The functions of <gperftools/stacktrace.h>, by their C++ names. */
MW_EXPORT int _Z13GetStackTracePPvii(void **result, int max_depth, int skip_count);
MW_EXPORT int _Z24GetStackTraceWithContextPPviiPKv(void **result, int max_depth, int skip_count,
						   const void *context);
MW_EXPORT int _Z14GetStackFramesPPvPiii(void **result, int *sizes, int max_depth, int skip_count);
MW_EXPORT int _Z25GetStackFramesWithContextPPvPiiiPKv(void **result, int *sizes, int max_depth,
						      int skip_count, const void *context);

/* Drops the first `skip` frames. */
static int copy(const uint64_t *pcs, unsigned depth, int skip, void **result, int max_depth) {
	int count = 0;
	for (unsigned i = skip > 0 ? (unsigned)skip : 0; i < depth && count < max_depth; i++)
		result[count++] = (void *)(uintptr_t)pcs[i];
	return count;
}

/* `own`: frames of this library that lie on the stack. */
MW_ALWAYS_INLINE int walk(void **result, int max_depth, int skip_count, int own) {
	uint64_t pcs[DEPTH_MAX];
	int skip = skip_count > 0 ? skip_count + own : own;
	if (max_depth <= 0 || skip >= DEPTH_MAX)
		return 0;
	return copy(pcs, mw_gp_calls()->capture(pcs, DEPTH_MAX, false), skip, result, max_depth);
}

MW_NOINLINE int _Z13GetStackTracePPvii(void **result, int max_depth, int skip_count) {
	return walk(result, max_depth, skip_count, 1);
}

MW_NOINLINE int _Z24GetStackTraceWithContextPPviiPKv(void **result, int max_depth, int skip_count,
						     const void *context) {
	(void)context;
	return walk(result, max_depth, skip_count, 1);
}

MW_NOINLINE int _Z14GetStackFramesPPvPiii(void **result, int *sizes, int max_depth,
					  int skip_count) {
	int count = walk(result, max_depth, skip_count, 1);
	memset(sizes, 0, (size_t)count * sizeof *sizes);
	return count;
}

MW_NOINLINE int _Z25GetStackFramesWithContextPPvPiiiPKv(void **result, int *sizes, int max_depth,
							int skip_count, const void *context) {
	(void)context;
	int count = walk(result, max_depth, skip_count, 1);
	memset(sizes, 0, (size_t)count * sizeof *sizes);
	return count;
}

/* Inside of a hook the stack starts at the caller of malloc() or free(). */
int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count) {
	(void)skip_count;
	uint64_t pcs[DEPTH_MAX];
	return max_depth > 0 ? copy(pcs, mw_gp_calls()->capture(pcs, DEPTH_MAX, true), 0, result,
				    max_depth)
			     : 0;
}
