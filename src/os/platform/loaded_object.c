/* SPDX-License-Identifier: MIT
 * loaded_object.c -- finds the loaded object of an address, without dladdr(3) where there is
 * none. */
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/libc_calls.h"
#include "os/platform/loaded_symbol.h"

typedef struct object_search {
	uintptr_t address;
	Dl_info *info;
} object_search_t;

static MW_COLD int visit_object(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	object_search_t *search = argument;
	uintptr_t lowest = UINTPTR_MAX;
	if (!mw_os_object_contains(info, search->address))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr < lowest)
			lowest = info->dlpi_phdr[i].p_vaddr;
	*search->info =
		(Dl_info){.dli_fname = *info->dlpi_name ? info->dlpi_name : program_invocation_name,
			  .dli_fbase = (void *)(info->dlpi_addr + lowest)};
	return 1;
}

MW_COLD bool mw_os_find_object_of(const void *address, Dl_info *info) {
	object_search_t search = {.address = (uintptr_t)address, .info = info};
	int saved_errno = errno;
	mw_libc_calls_find();
	bool found = mw_libc_calls.dladdr
			     ? mw_libc_calls.dladdr(address, info) != 0 && info->dli_fname
			     : dl_iterate_phdr(visit_object, &search) != 0;
	errno = saved_errno;
	return found;
}
