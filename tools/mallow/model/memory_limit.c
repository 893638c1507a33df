/* SPDX-License-Identifier: MIT
 * memory_limit.c -- RLIMIT_DATA: private writable memory, however it is allocated. */
#include "model/memory_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/text.h"

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

void mw_limit_complain(uint64_t refused_bytes) {
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
