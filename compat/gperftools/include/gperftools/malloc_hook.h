/* SPDX-License-Identifier: MIT
 * malloc_hook.h -- gperftools' class MallocHook: the functions of malloc_hook_c.h as static
 * members. */
#ifndef _MALLOC_HOOK_H_
#define _MALLOC_HOOK_H_

#include <gperftools/malloc_hook_c.h>

#ifdef __cplusplus
#define MALLOC_HOOK_KIND(kind)                                                                     \
	typedef MallocHook_##kind##Hook kind##Hook;                                                \
	static bool Add##kind##Hook(kind##Hook hook) {                                             \
		return MallocHook_Add##kind##Hook(hook) != 0;                                      \
	}                                                                                          \
	static bool Remove##kind##Hook(kind##Hook hook) {                                          \
		return MallocHook_Remove##kind##Hook(hook) != 0;                                   \
	}                                                                                          \
	static kind##Hook Set##kind##Hook(kind##Hook hook) {                                       \
		return MallocHook_Set##kind##Hook(hook);                                           \
	}
#define MALLOC_HOOK_REPLACEMENT(kind)                                                              \
	typedef MallocHook_##kind##Replacement kind##Replacement;                                  \
	static bool Set##kind##Replacement(kind##Replacement hook) {                               \
		return MallocHook_Set##kind##Replacement(hook) != 0;                               \
	}                                                                                          \
	static bool Remove##kind##Replacement(kind##Replacement hook) {                            \
		return MallocHook_Remove##kind##Replacement(hook) != 0;                            \
	}

class PERFTOOLS_DLL_DECL MallocHook {
      public:
	MALLOC_HOOK_KIND(New)
	MALLOC_HOOK_KIND(Delete)
	MALLOC_HOOK_KIND(PreMmap)
	MALLOC_HOOK_KIND(Mmap)
	MALLOC_HOOK_KIND(Munmap)
	MALLOC_HOOK_KIND(Mremap)
	MALLOC_HOOK_KIND(PreSbrk)
	MALLOC_HOOK_KIND(Sbrk)
	MALLOC_HOOK_REPLACEMENT(Mmap)
	MALLOC_HOOK_REPLACEMENT(Munmap)

	static int GetCallerStackTrace(void **result, int max_depth, int skip_count) {
		return MallocHook_GetCallerStackTrace(result, max_depth, skip_count);
	}

	/* mmap(2) and munmap(2). */
	static void *UnhookedMMap(void *start, size_t length, int protection, int flags, int fd,
				  off_t offset);
	static int UnhookedMUnmap(void *start, size_t length);
};
#undef MALLOC_HOOK_KIND
#undef MALLOC_HOOK_REPLACEMENT
#endif

#endif
