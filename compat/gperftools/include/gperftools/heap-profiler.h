/* SPDX-License-Identifier: MIT
 * heap-profiler.h -- gperftools' heap profiler, as mallow offers it: every allocation is recorded
 * with its stack, and files are written in gperftools' text format.
 * doc/reference/gperftools.md describes the environment variables. */
#ifndef BASE_HEAP_PROFILER_H_
#define BASE_HEAP_PROFILER_H_

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording.  Files are named <prefix>.0001.heap and so on.  No effect while it runs. */
PERFTOOLS_DLL_DECL void HeapProfilerStart(const char *prefix);
/* Returns 1 while the profiler records, else 0. */
PERFTOOLS_DLL_DECL int IsHeapProfilerRunning(void);
/* Stops recording and drops the data. */
PERFTOOLS_DLL_DECL void HeapProfilerStop(void);
/* Writes the next file.  `reason` is printed in the line about it on stderr. */
PERFTOOLS_DLL_DECL void HeapProfilerDump(const char *reason);
/* Returns the profile as a string, which the caller frees; an empty one while it is stopped. */
PERFTOOLS_DLL_DECL char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
