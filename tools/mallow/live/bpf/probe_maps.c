/* SPDX-License-Identifier: MIT
 * probe_maps.c -- the maps of the programs, and the table of gaps between samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "live/bpf/bpf_call.h"
#include "live/bpf/programs.h"
#include "model/memory.h"

/* Threads that are inside a sampled call, and that have called realloc or memalign. */
#define CALLS_MAX (1u << 14)

typedef struct gaps {
	uint64_t at[MW_PROBE_GAPS + 1];
} gaps_t;

/* Quantiles of the exponential distribution with mean T.  The last gap has no end: it gets the one
 * with which its mean is right, T beyond its begin. */
static void fill_gaps(gaps_t *gaps, double mean_bytes) {
	for (int i = 0; i < MW_PROBE_GAPS; i++)
		gaps->at[i] = (uint64_t)(-log1p(-(double)i / MW_PROBE_GAPS) * mean_bytes);
	gaps->at[MW_PROBE_GAPS] = gaps->at[MW_PROBE_GAPS - 1] + (uint64_t)(2 * mean_bytes);
}

static double draw(void) {
	uint64_t bits = 0;
	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		bits = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
	return -log(((double)(bits >> 11) + 0.5) * 0x1p-53);
}

/* Reads the processors that there may be: "0-3". */
static unsigned possible_processors(void) {
	unsigned first, last = 0;
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	int got = file != NULL ? fscanf(file, "%u-%u", &first, &last) : 0;
	if (file != NULL)
		fclose(file);
	return got == 2 ? last + 1 : got == 1 ? 1 : (unsigned)sysconf(_SC_NPROCESSORS_CONF);
}

bool mw_probe_maps_reset(const mw_probe_maps_t *maps) {
	uint32_t key[2] = {0, 0};
	mw_probe_counts_t *counts = mw_xcalloc(maps->processors, sizeof(*counts));
	for (unsigned i = 0; i < maps->processors; i++)
		counts[i].room = (int64_t)(draw() * (double)maps->mean_bytes) + 1;
	bool is_done = mw_bpf_map_write(maps->counts, key, counts);
	free(counts);
	return is_done;
}

mw_probe_counts_t mw_probe_maps_counts(const mw_probe_maps_t *maps) {
	uint32_t key[2] = {0, 0};
	mw_probe_counts_t sum = {0}, *counts = mw_xcalloc(maps->processors, sizeof(*counts));
	if (mw_bpf_map_read(maps->counts, key, counts))
		for (unsigned i = 0; i < maps->processors; i++) {
			sum.calls += counts[i].calls;
			sum.bytes += counts[i].bytes;
			sum.sampled += counts[i].sampled;
			sum.lost += counts[i].lost;
			sum.unfollowed += counts[i].unfollowed;
			sum.frees += counts[i].frees;
			sum.stepped_calls += counts[i].stepped_calls;
			sum.stepped_frees += counts[i].stepped_frees;
			sum.freed += counts[i].freed;
			sum.passed_on += counts[i].passed_on;
		}
	free(counts);
	return sum;
}

int mw_probe_maps_open(mw_probe_maps_t *maps, uint64_t mean_bytes, mw_error_t *error) {
	const mw_bpf_map_shape_t shapes[] = {
		{"counts", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(mw_probe_counts_t), 1},
		{"gaps", BPF_MAP_TYPE_ARRAY, 4, sizeof(gaps_t), 1},
		{"ids", BPF_MAP_TYPE_ARRAY, 4, 8, 1},
		{"ring", BPF_MAP_TYPE_RINGBUF, 0, 0, MW_PROBE_RING_BYTES},
		{"pending", BPF_MAP_TYPE_LRU_HASH, 16, 48, CALLS_MAX},
		{"live", BPF_MAP_TYPE_HASH, 8, sizeof(mw_probe_block_t), MW_PROBE_LIVE_MAX},
		{"outer", BPF_MAP_TYPE_LRU_HASH, 8, 24, CALLS_MAX},
	};
	int *fds[] = {&maps->counts,  &maps->gaps, &maps->ids,  &maps->ring,
		      &maps->pending, &maps->live, &maps->outer};
	uint32_t key[2] = {0, 0};
	gaps_t *gaps = mw_xcalloc(1, sizeof(*gaps));
	bool is_made = true;
	*maps = (mw_probe_maps_t){.processors = possible_processors(), .mean_bytes = mean_bytes};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		*fds[i] = is_made ? mw_bpf_map_new(&shapes[i], error) : -1;
		is_made &= *fds[i] >= 0;
	}
	fill_gaps(gaps, (double)mean_bytes);
	if (is_made && (!mw_bpf_map_write(maps->gaps, key, gaps) || !mw_probe_maps_reset(maps))) {
		mw_error_set(error, "cannot fill the BPF maps");
		is_made = false;
	}
	free(gaps);
	if (!is_made)
		mw_probe_maps_close(maps);
	return is_made ? 0 : -1;
}

void mw_probe_maps_close(mw_probe_maps_t *maps) {
	int *fds[] = {&maps->counts,  &maps->gaps, &maps->ids,  &maps->ring,
		      &maps->pending, &maps->live, &maps->outer};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}
