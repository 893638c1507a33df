/* SPDX-License-Identifier: MIT
 * ring.c -- Documentation/bpf/ringbuf.rst of Linux. */
#include "live/bpf/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef BPF_RINGBUF_BUSY_BIT
#define BPF_RINGBUF_BUSY_BIT (1u << 31)
#define BPF_RINGBUF_DISCARD_BIT (1u << 30)
#define BPF_RINGBUF_HDR_SZ 8
#endif

int mw_bpf_ring_open(mw_bpf_ring_t *ring, int map, size_t bytes, mw_error_t *error) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*ring = (mw_bpf_ring_t){.map = map, .bytes = bytes};
	void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (own == MAP_FAILED)
		return mw_error_set(error, "cannot map the BPF ring: %s", strerror(errno));
	void *its = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, map, (off_t)page);
	if (its == MAP_FAILED) {
		munmap(own, page);
		return mw_error_set(error, "cannot map the BPF ring: %s", strerror(errno));
	}
	ring->consumed = own;
	ring->produced = its;
	ring->data = (const unsigned char *)its + page;
	return 0;
}

void mw_bpf_ring_close(mw_bpf_ring_t *ring) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (ring->consumed == NULL)
		return;
	munmap(ring->consumed, page);
	munmap((void *)(uintptr_t)ring->produced, page + 2 * ring->bytes);
	ring->consumed = NULL;
}

size_t mw_bpf_ring_read(mw_bpf_ring_t *ring, size_t most,
			void (*take)(void *context, const void *record, size_t bytes),
			void *context) {
	uint64_t at = *ring->consumed; /* only this process writes it */
	size_t count = 0;
	/* Pairs with the kernel's release when a record is reserved. */
	while (count < most && at < __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE)) {
		const unsigned char *header = ring->data + (at & (ring->bytes - 1));
		/* Pairs with the kernel's exchange when the record is submitted. */
		uint32_t length = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		size_t bytes = length & ~BPF_RINGBUF_DISCARD_BIT;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			take(context, header + BPF_RINGBUF_HDR_SZ, bytes);
			count++;
		}
		at += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~(uint64_t)7;
		/* Pairs with the kernel's load before it reserves: the record is read by then. */
		__atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
	}
	return count;
}
