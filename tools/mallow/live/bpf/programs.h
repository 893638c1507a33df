/* SPDX-License-Identifier: MIT
 * programs.h -- the BPF programs that sample an allocator's calls, and their maps.
 * Layer: live/bpf.
 *
 * A program at the first instructions of malloc and its kin counts down bytes, as mallow's own
 * sampler does: a call of s bytes is sampled with probability 1 - exp(-s/T), and represents
 * 1 / (1 - exp(-s/T)) calls.  There is one countdown for each processor: gaps between samples have
 * no memory, so that it does not matter which threads share one, and no thread needs an entry.  A
 * sampled call sends registers and stack into a ring, and its return alone is probed: that stores
 * the block in the map of live samples, where free() finds it. */
#ifndef MW_TOOL_LIVE_BPF_PROGRAMS_H
#define MW_TOOL_LIVE_BPF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

/* Which arguments of a function are what. */
typedef enum mw_probe_kind {
	MW_PROBE_MALLOC,  /* (size) */
	MW_PROBE_NEW,     /* (size), and throws where malloc returns NULL */
	MW_PROBE_CALLOC,  /* (count, size) */
	MW_PROBE_REALLOC, /* (block, size) */
	MW_PROBE_ALIGNED, /* (alignment, size) */
	MW_PROBE_POSIX,   /* (where to store the block, alignment, size); returns 0 */
	MW_PROBE_FREE,    /* (block) */
	MW_PROBE_KINDS,
} mw_probe_kind_t;

enum {
	MW_PROBE_PAGE_BYTES = 4096,
	MW_PROBE_PAGES_MAX = 8,  /* of a stack */
	MW_PROBE_REGISTERS = 17, /* by DWARF's numbers; the last one is the PC */
	MW_PROBE_STACK_POINTER = 7,
	MW_PROBE_LIVE_MAX = 1 << 16,
	MW_PROBE_GAPS = 4096,
};
#define MW_PROBE_RING_BYTES ((size_t)16 << 20)
/* No allocator has larger blocks. */
#define MW_PROBE_SIZE_BITS 46

/* A sampled call. */
typedef struct mw_probe_event {
	uint64_t id;            /* from 1 */
	uint64_t size;          /* bytes requested, at least 1 */
	uint64_t time_ns;       /* CLOCK_MONOTONIC */
	uint64_t thread;        /* process id in the upper half, thread id in the lower */
	uint64_t pages;         /* of `stack` that could be read */
	uint64_t stack_address; /* of the first byte of `stack`, the begin of a page */
	uint64_t registers[MW_PROBE_REGISTERS];
	unsigned char stack[MW_PROBE_PAGES_MAX][MW_PROBE_PAGE_BYTES];
} mw_probe_event_t;

/* A live sampled block; the key is its address. */
typedef struct mw_probe_block {
	uint64_t id, size, time_ns;
} mw_probe_block_t;

/* Counters of one processor. */
typedef struct mw_probe_counts {
	int64_t room;          /* bytes until the next sample */
	uint64_t calls, bytes; /* that allocate */
	uint64_t sampled;
	uint64_t lost;       /* samples that the ring had no room for */
	uint64_t unfollowed; /* samples that the map of live blocks had no room for */
	uint64_t frees;
	/* By the programs that count only: calls at instructions that the kernel does not emulate.
	 */
	uint64_t stepped_calls, stepped_frees;
	uint64_t freed;     /* sampled blocks */
	uint64_t passed_on; /* sampled calls that another sampled function made as its last act */
} mw_probe_counts_t;

typedef struct mw_probe_maps {
	int counts, gaps, ids, ring, pending, live, outer; /* descriptors; -1 = none */
	unsigned processors;
	uint64_t mean_bytes;
} mw_probe_maps_t;

/* How programs learn that a sampled call has returned. */
typedef enum mw_probe_way {
	/* One program at entry and return, which says at entry whether it wants the return: Linux
	 * 6.13 and later. */
	MW_PROBE_SESSION,
	/* A second program at every return, which looks the call up. */
	MW_PROBE_RETURNS,
} mw_probe_way_t;

/* Makes the maps for one sample in `mean_bytes` bytes. */
int mw_probe_maps_open(mw_probe_maps_t *maps, uint64_t mean_bytes, mw_error_t *error);
void mw_probe_maps_close(mw_probe_maps_t *maps);
/* Draws all countdowns anew and sets the counters to 0, before probes are attached. */
bool mw_probe_maps_reset(const mw_probe_maps_t *maps);
/* Adds the counters of all processors up. */
mw_probe_counts_t mw_probe_maps_counts(const mw_probe_maps_t *maps);

/* Returns the way of the running kernel, and the type of its function that a session needs. */
mw_probe_way_t mw_probe_way(uint32_t *session_type);

typedef struct mw_probe_plan {
	const mw_probe_maps_t *maps;
	mw_probe_way_t way;
	uint32_t session_type;
	/* Largest block of MW_PROBE_NEW whose return is probed: an exception does not pass a probed
	 * return. */
	uint64_t new_bytes_max;
} mw_probe_plan_t;

/* Loads the program for functions of a kind, for their returns (MW_PROBE_RETURNS), or one that
 * counts calls only. Each returns the descriptor, or -1. */
int mw_probe_load(const mw_probe_plan_t *plan, mw_probe_kind_t kind, mw_error_t *error);
int mw_probe_load_return(const mw_probe_plan_t *plan, mw_error_t *error);
int mw_probe_load_counter(const mw_probe_plan_t *plan, mw_probe_kind_t kind, bool is_emulated,
			  mw_error_t *error);
/* Attach type of the programs that count. */
uint32_t mw_probe_counter_type(const mw_probe_plan_t *plan);

/* Attach type of the program for a kind (bpf_call.h); 0 for perf events. */
uint32_t mw_probe_attach_type(const mw_probe_plan_t *plan, mw_probe_kind_t kind);

#endif
