/* SPDX-License-Identifier: MIT
 * memory.c -- allocation that ends the command when there is no memory; RLIMIT_DATA bounds private
 * writable memory, however it is allocated. */
#include "model/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/text.h"

/* ---- limit ---- */

static uint64_t limit_bytes = (uint64_t)1 << 30;
/* file that is being read, for the message; NULL = no limit is set */
static const char *limited_name;
static unsigned depth;
static struct rlimit before;

void mw_limit_set(uint64_t bytes) {
	limit_bytes = bytes;
}

/* Bytes that the kernel counts against RLIMIT_DATA now; 0 = unknown. */
static uint64_t data_bytes(void) {
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");
	if (statm == NULL)
		return 0;
	if (fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		pages = 0;
	fclose(statm);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void mw_memory_limit_begin(const char *name) {
	uint64_t have = depth++ == 0 ? data_bytes() : 0;
	if (have == 0 || getrlimit(RLIMIT_DATA, &before) != 0)
		return;
	struct rlimit limit = before;
	if (__builtin_add_overflow(have, limit_bytes, &limit.rlim_cur) ||
	    limit.rlim_cur >= before.rlim_cur)
		return;
	if (setrlimit(RLIMIT_DATA, &limit) == 0)
		limited_name = name;
}

void mw_memory_limit_end(void) {
	if (--depth > 0 || limited_name == NULL)
		return;
	setrlimit(RLIMIT_DATA, &before);
	limited_name = NULL;
}

/* "NAME: takes more than 1.00 GiB ..." while a limit is set, otherwise "out of memory ...". */
static void complain(uint64_t refused_bytes) {
	bool is_large = limit_bytes >= (uint64_t)1 << 30;
	if (limited_name == NULL) {
		fprintf(stderr, "mallow: out of memory: %" PRIu64 " bytes were refused\n",
			refused_bytes);
		return;
	}
	fputs("mallow: ", stderr);
	mw_text_print(stderr, limited_name);
	fprintf(stderr, ": takes more than %.2f %s of memory to read; --memory=SIZE allows more\n",
		(double)limit_bytes / (is_large ? 0x1p30 : 0x1p20), is_large ? "GiB" : "MiB");
}

/* ---- allocation ---- */

static void *check(void *block, size_t count, size_t size) {
	if (block == NULL) {
		uint64_t bytes;
		if (__builtin_mul_overflow(count, size, &bytes))
			bytes = UINT64_MAX;
		complain(bytes);
		exit(2);
	}
	return block;
}

void *mw_xcalloc(size_t count, size_t size) {
	/* calloc(0) may return NULL, so this asks for at least one entry. */
	return check(calloc(count > 0 ? count : 1, size), count, size);
}

void *mw_xrealloc(void *block, size_t count, size_t size) {
	return check(reallocarray(block, count > 0 ? count : 1, size), count, size);
}

char *mw_xstrdup(const char *text) {
	return check(strdup(text), strlen(text) + 1, 1);
}

void *mw_grow(void *block, size_t *capacity, size_t wanted, size_t entry_bytes) {
	if (block != NULL && wanted <= *capacity)
		return block;
	/* Most arrays never hold more than 16 entries: one allocation is enough for them. */
	size_t grown = *capacity > 0 ? *capacity : 16;
	while (grown < wanted)
		grown = grown > SIZE_MAX / 2 ? wanted : grown * 2;
	size_t old = block != NULL ? *capacity : 0;
	char *moved = mw_xrealloc(block, grown, entry_bytes);
	memset(moved + old * entry_bytes, 0, (grown - old) * entry_bytes);
	*capacity = grown;
	return moved;
}
