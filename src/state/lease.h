/* SPDX-License-Identifier: MIT
 * lease.h -- sampling for as long as a tool prolongs it.
 * Layer: state.
 *
 * A tool that watches for some time writes control.lease_cpu_hz or lease_active in the place of a
 * standing request, changes the lease's beats, and raises `sequence`. From then on it changes the
 * beats each MW_LEASE_BEAT_NS, without a new `sequence`. The process compares the beats with those
 * before, by its own clock: neither the tool's clock nor its pid nor its life matters. */
#ifndef MW_STATE_LEASE_H
#define MW_STATE_LEASE_H

#include <stdint.h>

/* A lease ends when the process has seen no new beat for this time. It is several beats: a busy
 * machine delays some. */
#define MW_LEASE_NS UINT64_C(5000000000)
#define MW_LEASE_BEAT_NS UINT64_C(1000000000)

/* Byte offsets of file locks, beside those of layout.h. Held shared by each tool that has a lease:
 * a tool that ends learns so whether it is the last one. */
#define MW_STATE_CPU_LEASE_LOCK 2u
#define MW_STATE_HEAP_LEASE_LOCK 3u

#endif
