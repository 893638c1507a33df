/* SPDX-License-Identifier: MIT
 * points.h -- included before each source of the heap in the schedule tests: every atomic operation
 * first asks the scheduler who runs on.
 *
 * One thread runs at a time, so plain operations do; each is still a single step, as the scheduler
 * is asked before it.  What a weaker memory order may do is not shown (see tests/tsan.supp and
 * tests/model). */
#ifndef SCHEDULE_POINTS_H
#define SCHEDULE_POINTS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Another thread may run before this returns. */
void schedule_point(void);

/* Bugs on purpose: a compare-and-swap that is two steps, a lock that anybody passes. */
extern bool schedule_torn_swaps, schedule_open_locks;

/* The object without _Atomic, the same memory. */
#define SCHEDULE_PLAIN(object) ((__typeof__((void)0, *(object)) *)(void *)(object))

#define SCHEDULE_SWAP(object, expected, desired)                                                   \
	__extension__({                                                                            \
		__typeof__(SCHEDULE_PLAIN(object)) schedule_object = SCHEDULE_PLAIN(object);       \
		__typeof__(*schedule_object) *schedule_expected = (expected);                      \
		__typeof__(*schedule_object) schedule_desired = (desired);                         \
		schedule_point();                                                                  \
		bool schedule_same = *schedule_object == *schedule_expected;                       \
		if (schedule_same) {                                                               \
			if (schedule_torn_swaps)                                                   \
				schedule_point();                                                  \
			*schedule_object = schedule_desired;                                       \
		} else {                                                                           \
			*schedule_expected = *schedule_object;                                     \
		}                                                                                  \
		schedule_same;                                                                     \
	})

/* `operation` changes *schedule_object; the value is the one before. */
#define SCHEDULE_CHANGE(object, operation)                                                         \
	__extension__({                                                                            \
		__typeof__(SCHEDULE_PLAIN(object)) schedule_object = SCHEDULE_PLAIN(object);       \
		schedule_point();                                                                  \
		__typeof__(*schedule_object) schedule_old = *schedule_object;                      \
		operation;                                                                         \
		schedule_old;                                                                      \
	})

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_and_explicit
#undef atomic_fetch_or_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit

#define atomic_load_explicit(object, order) SCHEDULE_CHANGE(object, (void)0)
#define atomic_store_explicit(object, value, order)                                                \
	((void)SCHEDULE_CHANGE(object, *schedule_object = (value)))
#define atomic_exchange_explicit(object, value, order)                                             \
	SCHEDULE_CHANGE(object, *schedule_object = (value))
#define atomic_fetch_add_explicit(object, value, order)                                            \
	SCHEDULE_CHANGE(object, *schedule_object += (value))
#define atomic_fetch_sub_explicit(object, value, order)                                            \
	SCHEDULE_CHANGE(object, *schedule_object -= (value))
#define atomic_fetch_and_explicit(object, value, order)                                            \
	SCHEDULE_CHANGE(object, *schedule_object &= (value))
#define atomic_fetch_or_explicit(object, value, order)                                             \
	SCHEDULE_CHANGE(object, *schedule_object |= (value))
#define atomic_compare_exchange_weak_explicit(object, expected, desired, success, failure)         \
	SCHEDULE_SWAP(object, expected, desired)
#define atomic_compare_exchange_strong_explicit(object, expected, desired, success, failure)       \
	SCHEDULE_SWAP(object, expected, desired)

#endif
