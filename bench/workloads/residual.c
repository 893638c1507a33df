/* SPDX-License-Identifier: MIT
 * residual.c LEAST MOST KEEP even|random -- a million blocks of LEAST to MOST bytes, of which all
 * but one of KEEP are freed; resident memory at the peak and when the last block is freed. */
#include "workload.h"

enum { BLOCKS = 1000000 };

static unsigned char *blocks[BLOCKS];

int main(int argc, char **argv) {
	if (argc != 5)
		wl_die("usage: residual LEAST MOST KEEP even|random");
	uint32_t least = (uint32_t)atoi(argv[1]), most = (uint32_t)atoi(argv[2]);
	uint32_t keep = (uint32_t)atoi(argv[3]);
	int even = strcmp(argv[4], "even") == 0;
	uint64_t seed = 23, sum = 0;
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t bytes = least + wl_below(&seed, most - least + 1);
		blocks[i] = wl_malloc(bytes);
		memset(blocks[i], (int)i, bytes);
	}
	wl_note("filled_kib", wl_resident_kib());
	for (unsigned i = 0; i < BLOCKS; i++) {
		int kept = even ? i % keep == 0 : wl_below(&seed, keep) == 0;
		if (!kept)
			sum += wl_drop(blocks[i]);
	}
	wl_note("after_free_kib", wl_resident_kib());
	return wl_finish(sum);
}
