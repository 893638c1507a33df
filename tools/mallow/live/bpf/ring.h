/* SPDX-License-Identifier: MIT
 * ring.h -- reads the records of a BPF ring buffer.
 * Layer: live/bpf.  One reader. */
#ifndef MW_TOOL_LIVE_BPF_RING_H
#define MW_TOOL_LIVE_BPF_RING_H

#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

typedef struct mw_bpf_ring {
	int map;
	size_t bytes;              /* of the data, a power of 2 */
	uint64_t *consumed;        /* page that this process writes */
	const uint64_t *produced;  /* page that the kernel writes */
	const unsigned char *data; /* twice, so that no record is cut */
} mw_bpf_ring_t;

/* Maps the ring of a map of type BPF_MAP_TYPE_RINGBUF. */
int mw_bpf_ring_open(mw_bpf_ring_t *ring, int map, size_t bytes, mw_error_t *error);
void mw_bpf_ring_close(mw_bpf_ring_t *ring);

/* Calls `take` for each finished record, at most for `most`.  Returns how many there were. */
size_t mw_bpf_ring_read(mw_bpf_ring_t *ring, size_t most,
			void (*take)(void *context, const void *record, size_t bytes),
			void *context);

#endif
