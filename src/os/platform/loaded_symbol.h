/* SPDX-License-Identifier: MIT
 * loaded_symbol.h -- addresses of functions of loaded libraries by name, without dlsym(3).
 * Layer: os/platform. glibc before 2.34 has dlsym(3) in libdl, which a process may lack; the
 * library must load there, too.
 *
 * The search visits the objects in the order in which they were loaded, which is the order in which
 * the dynamic linker searches those of program start. It takes the first definition with the
 * symbol's default version. It waits for the lock of dl_iterate_phdr(3), which no constructor runs
 * under: not for signal handlers. Allocates nothing; errno kept. A program that is linked
 * statically has no list of symbols: nothing is found. */
#ifndef MW_OS_LOADED_SYMBOL_H
#define MW_OS_LOADED_SYMBOL_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks up `count` names; name i begins at `names + i * stride`. Writes the address to found[i] if
 * found[i] is NULL and an object defines the name. behind_own: only objects behind the one that
 * contains this code are searched, as RTLD_NEXT does. Indirect functions (IFUNC) count as not
 * defined. */
void mw_os_find_symbols(const char *names, size_t stride, size_t count, void **found,
			bool behind_own);

typedef struct mw_os_symbol {
	uintptr_t start; /* 0: there is none */
	size_t bytes;
} mw_os_symbol_t;

/* Looks for a symbol that one object defines. The object stays loaded during the call. Takes no
 * lock: async-signal-safe. */
mw_os_symbol_t mw_os_find_symbol_of(const struct link_map *object, const char *name);

/* A variable that each thread has of its own. */
typedef struct mw_os_thread_local {
	size_t module, offset; /* number of the object's block, and the place in the block */
} mw_os_thread_local_t;

/* Looks for a thread-local variable that one object defines and reaches by __tls_get_addr(3). The
 * object stays loaded during the call. Takes no lock: async-signal-safe. Returns false if there is
 * none, and on processors other than x86-64. */
bool mw_os_find_thread_local_of(const struct link_map *object, const char *name,
				mw_os_thread_local_t *found);
/* Returns the address of the calling thread's variable; 0: the thread has not used the block.
 * Unlike __tls_get_addr(3) it never allocates the block. Async-signal-safe. */
uintptr_t mw_os_thread_local_address(const mw_os_thread_local_t *variable);

/* Returns whether a segment of the object contains the address. */
static inline bool mw_os_object_contains(const struct dl_phdr_info *info, uintptr_t address) {
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

/* Finds the object that contains the address: its path (the program's is its argv[0]) and its
 * lowest address, dli_fname and dli_fbase; the symbol, too, if the process has dladdr(3), which
 * glibc before 2.34 keeps in libdl. */
bool mw_os_find_object_of(const void *address, Dl_info *info);

#endif
