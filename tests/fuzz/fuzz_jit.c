/* SPDX-License-Identifier: MIT
 * fuzz_jit.c -- libFuzzer target: any bytes as the file in which a compiler lists its code, a map
 * for perf or a jitdump. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/profile.h"
#include "symbol/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Those that the seeds have code at, and some to the sides. */
enum { LOCATIONS = 12, PID = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	if (length == 0)
		return 0;
	FILE *file = fmemopen((void *)(uintptr_t)bytes, length, "r");
	if (file == NULL)
		return 0;
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	for (uint64_t i = 0; i < LOCATIONS; i++)
		mw_profile_add_location(p, 0, 0x1000 + 16 * i, false);
	mw_profile_add_location(p, 0, UINT64_MAX, false);
	mw_jit_symbolize_by(p, file, PID);
	for (size_t i = 1; i < p->location_count; i++)
		if (p->locations[i].line_count > 1 || p->locations[i].mapping >= p->mapping_count)
			abort();
	mw_profile_free(p);
	fclose(file);
	return 0;
}
