/* SPDX-License-Identifier: MIT
 * malloc_extension_c.h -- gperftools' MallocExtension for C.
 * doc/reference/gperftools.md says what each function and property is here.  Functions that return
 * int return 1 for yes and 0 for no. */
#ifndef _MALLOC_EXTENSION_C_H_
#define _MALLOC_EXTENSION_C_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define kMallocExtensionHistogramSize 64

/* Memory is verified by libtcmalloc_debug; otherwise these return 1. */
PERFTOOLS_DLL_DECL int MallocExtension_VerifyAllMemory(void);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyNewMemory(const void *p);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyArrayNewMemory(const void *p);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyMallocMemory(const void *p);
PERFTOOLS_DLL_DECL int
MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
				  int histogram[kMallocExtensionHistogramSize]);

/* Writes a text of at most `buffer_length` bytes with its NUL. */
PERFTOOLS_DLL_DECL void MallocExtension_GetStats(char *buffer, int buffer_length);

/* Returns 0 if there is no property of this name, or, for Set, if it is not writable. */
PERFTOOLS_DLL_DECL int MallocExtension_GetNumericProperty(const char *property, size_t *value);
PERFTOOLS_DLL_DECL int MallocExtension_SetNumericProperty(const char *property, size_t value);

PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadIdle(void);
PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadBusy(void);
PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadTemporarilyIdle(void);
PERFTOOLS_DLL_DECL void MallocExtension_ReleaseToSystem(size_t num_bytes);
PERFTOOLS_DLL_DECL void MallocExtension_ReleaseFreeMemory(void);
PERFTOOLS_DLL_DECL void MallocExtension_SetMemoryReleaseRate(double rate);
PERFTOOLS_DLL_DECL double MallocExtension_GetMemoryReleaseRate(void);
PERFTOOLS_DLL_DECL size_t MallocExtension_GetEstimatedAllocatedSize(size_t size);
PERFTOOLS_DLL_DECL size_t MallocExtension_GetAllocatedSize(const void *p);
PERFTOOLS_DLL_DECL size_t MallocExtension_GetThreadCacheSize(void);

typedef enum {
	MallocExtension_kUnknownOwnership = 0,
	MallocExtension_kOwned,
	MallocExtension_kNotOwned
} MallocExtension_Ownership;
PERFTOOLS_DLL_DECL MallocExtension_Ownership MallocExtension_GetOwnership(const void *p);

/* The functions below exist in C++ alone in gperftools. */

/* Pass a profile's text to `write`, piece by piece. */
typedef void (*MallocExtension_Write)(void *context, const char *text, size_t length);
PERFTOOLS_DLL_DECL void MallocExtension_GetHeapSample(MallocExtension_Write write, void *context);
PERFTOOLS_DLL_DECL void MallocExtension_GetHeapGrowthStacks(MallocExtension_Write write,
							    void *context);
/* Return words: number of objects, bytes, depth, return addresses; then the next stack; a number of
 * 0 ends them.  The caller frees them with free(); those of the C++ functions with
 * delete[].  NULL: no memory. */
PERFTOOLS_DLL_DECL void **MallocExtension_ReadStackTraces(int *sample_period);
PERFTOOLS_DLL_DECL void **MallocExtension_ReadHeapGrowthStackTraces(void);

/* Pass each range of addresses of the heap to `function`. */
typedef enum {
	MallocExtension_kRangeInUse,
	MallocExtension_kRangeFree,
	MallocExtension_kRangeUnmapped,
	MallocExtension_kRangeUnknown
} MallocExtension_RangeType;
typedef struct {
	uintptr_t address;
	size_t length;
	MallocExtension_RangeType type;
	double fraction; /* share of the range that is in use, 0 to 1 */
} MallocExtension_Range;
typedef void (*MallocExtension_RangeFunction)(void *context, const MallocExtension_Range *range);
PERFTOOLS_DLL_DECL void MallocExtension_Ranges(void *context,
					       MallocExtension_RangeFunction function);

typedef struct {
	size_t min_object_size, max_object_size, total_bytes_free;
	const char *type;
} MallocExtension_FreeListInfo;
/* Writes up to `capacity` lists and returns how many there are. */
PERFTOOLS_DLL_DECL size_t MallocExtension_GetFreeListSizes(MallocExtension_FreeListInfo *lists,
							   size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
