/* SPDX-License-Identifier: MIT
 * libc_calls.h -- functions of libc that not every glibc from 2.17 on has, or has with the same
 * version.
 * Layer: os/platform. A reference by name to a version that the process's glibc lacks, weak or not,
 * keeps the dynamic linker from loading the library. So the shared libraries look these functions
 * up (libc_shared.c, doc/adr/0044). Archives refer to them by name (libc_archive.c):
 * the program's linker knows its libc, and a static program has no list of symbols to search. */
#ifndef MW_OS_LIBC_CALLS_H
#define MW_OS_LIBC_CALLS_H

#include <dlfcn.h>
#include <pthread.h>

#ifndef DLFO_EH_SEGMENT_TYPE /* libc's headers have no _dl_find_object(): what it fills in */
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
};
int _dl_find_object(void *address, struct dl_find_object *object);
#endif

/* glibc has _dl_find_object since 2.35; the others were in libpthread and libdl before 2.34. */
#define MW_LIBC_CALL_LIST(CALL)                                                                    \
	CALL(_dl_find_object)                                                                      \
	CALL(pthread_create)                                                                       \
	CALL(pthread_getspecific)                                                                  \
	CALL(pthread_key_create)                                                                   \
	CALL(pthread_setspecific)                                                                  \
	CALL(pthread_attr_setstacksize)                                                            \
	CALL(dladdr)                                                                               \
	CALL(dlclose)                                                                              \
	CALL(dlopen)                                                                               \
	CALL(dlsym)

/* Each member: NULL if the process has no such function. */
typedef struct mw_libc_calls {
#define MEMBER(name) __typeof__(name) *name;
	MW_LIBC_CALL_LIST(MEMBER)
#undef MEMBER
} mw_libc_calls_t;

extern mw_libc_calls_t mw_libc_calls;
/* os/platform/single.h declares this variable, too, for files that need nothing else. */
extern const char *mw_os_single_threaded;

/* Fills mw_libc_calls. Called at start, before the first of them is needed; may be called again, as
 * a program with glibc before 2.34 may load libpthread or libdl late. Then the functions that are
 * NULL are looked up again. Not for signal handlers. errno kept. */
void mw_libc_calls_find(void);

#endif
