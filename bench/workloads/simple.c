/* SPDX-License-Identifier: MIT
 * simple.c -- blocks of one size: a few, then a hundred, then thousands at once, freed in order;
 * then the next size.  What C libraries measure their malloc with. */
#include "workload.h"

int main(void) {
	enum { MOST = 2048 };
	static const unsigned counts[] = {1, 25, 100, 400, MOST};
	static const size_t sizes[] = {16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096};
	unsigned char *blocks[MOST];
	uint64_t sum = 0;
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
			for (unsigned done = 0; done < 80000; done += counts[c]) {
				for (unsigned i = 0; i < counts[c]; i++)
					blocks[i] = wl_make(sizes[s], i);
				for (unsigned i = 0; i < counts[c]; i++)
					sum += wl_drop(blocks[i]);
			}
	return wl_finish(sum);
}
