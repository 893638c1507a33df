/* SPDX-License-Identifier: MIT
 * stacktrace.h -- gperftools' functions that walk the calling thread's stack (C++ only).
 *
 * Each writes up to `max_depth` return addresses into `result`, leaf first, without the first
 * `skip_count` frames, and returns their number.  `sizes` receives 0 for each frame: the sizes of
 * frames are not known here.  The functions with a context are for signal handlers: they walk from
 * the handler through the interrupted code. */
#ifndef GOOGLE_STACKTRACE_H_
#define GOOGLE_STACKTRACE_H_

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern PERFTOOLS_DLL_DECL int GetStackFrames(void **result, int *sizes, int max_depth,
					     int skip_count);
extern PERFTOOLS_DLL_DECL int GetStackFramesWithContext(void **result, int *sizes, int max_depth,
							int skip_count, const void *context);
extern PERFTOOLS_DLL_DECL int GetStackTrace(void **result, int max_depth, int skip_count);
extern PERFTOOLS_DLL_DECL int GetStackTraceWithContext(void **result, int max_depth, int skip_count,
						       const void *context);
#endif

#endif
