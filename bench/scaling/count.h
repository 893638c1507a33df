/* SPDX-License-Identifier: MIT
 * count.h -- included before each source of a libmallow that counts what threads share: each lock
 * by its rank, how often, how often somebody else held it, how long; pushes into other threads'
 * pages.  bench/scaling.py builds and reads it; doc/measurements/scaling.md has the figures. */
#ifndef BENCH_COUNT_H
#define BENCH_COUNT_H

#include <stdint.h>

#include "heap/layout/remote_word.h"
#include "os/lock/lock.h"

/* In the place of the functions of the same names. */
void count_acquire(mw_lock_t *lock, mw_lock_rank_t rank);
void count_release(mw_lock_t *lock, mw_lock_rank_t rank);
uint64_t count_push(mw_page_t *page, void *first, void *last, uint32_t count);

#ifndef COUNT_ITSELF
#define mw_lock_acquire(lock, rank) count_acquire(lock, rank)
#define mw_lock_release(lock, rank) count_release(lock, rank)
#define mw_remote_push(page, first, last, count) count_push(page, first, last, count)
#endif

#endif
