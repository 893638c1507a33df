/* SPDX-License-Identifier: MIT
 * block_pages.c -- reads pagemap in batches. */
#include "live/pages/block_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES ((uint64_t)sysconf(_SC_PAGESIZE))
/* Entries that are read at once; they cover 2 MiB of address space. */
#define BATCH 512u
/* 64 GiB of blocks: some tenths of a second. */
#define PAGES_MAX ((uint64_t)1 << 24)
/* Processes have no addresses above. */
#define ADDRESS_MAX ((uint64_t)1 << 56)
/* Bits of an entry: see proc(5). */
#define IS_RESIDENT ((uint64_t)1 << 63)
#define IS_SWAPPED ((uint64_t)1 << 62)

int mw_block_pages_open(mw_block_pages_t *pages, int pid, mw_error_t *error) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	*pages = (mw_block_pages_t){.pagemap = open(path, O_RDONLY | O_CLOEXEC),
				    .pages_left = PAGES_MAX};
	if (pages->pagemap < 0)
		return mw_error_set(error,
				    "%s: cannot open: %s; try as the process's user, or "
				    "as root",
				    path, strerror(errno));
	return 0;
}

void mw_block_pages_close(mw_block_pages_t *pages) {
	if (pages->pagemap >= 0)
		close(pages->pagemap);
	pages->pagemap = -1;
}

bool mw_block_pages_read(mw_block_pages_t *pages, uint64_t address, uint64_t bytes,
			 mw_page_bytes_t *out) {
	uint64_t entries[BATCH];
	*out = (mw_page_bytes_t){0};
	if (address >= ADDRESS_MAX || bytes >= ADDRESS_MAX)
		return false;
	uint64_t page = (address + PAGE_BYTES - 1) / PAGE_BYTES;
	uint64_t end = (address + bytes) / PAGE_BYTES;
	if (page >= end || end - page > pages->pages_left)
		return false;
	pages->pages_left -= end - page;
	while (page < end) {
		uint64_t wanted = end - page < BATCH ? end - page : BATCH;
		ssize_t got = pread(pages->pagemap, entries, wanted * sizeof(*entries),
				    (off_t)(page * sizeof(*entries)));
		if (got != (ssize_t)(wanted * sizeof(*entries)))
			return false;
		for (uint64_t i = 0; i < wanted; i++)
			*(entries[i] & IS_RESIDENT  ? &out->resident
			  : entries[i] & IS_SWAPPED ? &out->swapped
						    : &out->untouched) += PAGE_BYTES;
		page += wanted;
	}
	return true;
}
