/* SPDX-License-Identifier: MIT
 * thread_records.h -- what the blob keeps for each thread, found by a hash of the thread pointer.
 * Layer: attach. Async-signal-safe. A record belongs to one thread; the thread after it with the
 * same thread pointer takes it over. In a forked child all records are zero: the kernel wipes
 * them. */
#ifndef MW_ATTACH_THREAD_RECORDS_H
#define MW_ATTACH_THREAD_RECORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/record.h"

#define MW_ATTACH_THREADS_LOG2 12u
#define MW_ATTACH_THREADS (1u << MW_ATTACH_THREADS_LOG2)
/* Variables that are marked MW_TLS; check/attach compares the number with the blob. */
#define MW_ATTACH_TLS_BYTES 256u
/* A countdown that does not end. */
#define MW_ATTACH_NEVER (INT64_MAX / 2)

typedef struct mw_attach_thread {
	/* Thread pointer; 0: the record is free. Bit 0: the record is being prepared. */
	_Alignas(512) _Atomic uintptr_t owner; /* the index becomes an address by a shift */
	/* Bytes until the thread's next look at what is due: part of the countdown. */
	int64_t until_look_bytes;
	int64_t rest_bytes; /* the other part of the countdown to the next sample */
	uint32_t thread_id; /* the kernel's */
	uint32_t draw_generation, poll_seen;
	/* true: the thread is inside of the profiler; a signal handler that allocates is not
	 * recorded */
	volatile bool is_inside;
	bool is_after_dlopen; /* modules may have come */
	void *jump[5];        /* where an error inside leads (__builtin_longjmp) */
	mw_hook_thread_t hooks;
	_Alignas(16) char tls[MW_ATTACH_TLS_BYTES];
} mw_attach_thread_t;

/* The kernel wipes it in a forked child (MADV_WIPEONFORK). */
typedef struct mw_attach_wiped {
	_Alignas(4096) mw_attach_thread_t threads[MW_ATTACH_THREADS];
	/* For each hash of an address: live samples there; 255: or more. */
	_Atomic uint8_t filter[65536];
	bool is_parent; /* false: a forked child, or nothing is attached yet */
	_Atomic bool slots_are_locked;
	/* Of live_filter.c. A thread that had the lock is not in the child. */
	_Atomic bool live_is_locked;
	_Atomic uint32_t live_moves; /* odd while entries move */
} mw_attach_wiped_t;
extern __attribute__((visibility("hidden"))) mw_attach_wiped_t mw_attach_wiped;

MW_ALWAYS_INLINE mw_attach_thread_t *mw_attach_home_of(uintptr_t thread_pointer) {
	uint32_t hash = (uint32_t)(thread_pointer >> 8) * 0x9e3779b1u;
	return &mw_attach_wiped.threads[hash >> (32 - MW_ATTACH_THREADS_LOG2)];
}

/* Returns the calling thread's record, and makes one if need be; NULL: there is none. */
mw_attach_thread_t *mw_attach_thread(void);
/* Like mw_attach_thread(), but NULL, and without a system call, while the blob is not attached:
 * what the program copied of replaced slots still leads here, and a filter may forbid such calls.
 */
mw_attach_thread_t *mw_attach_thread_while_on(void);
/* Returns the record of a thread that has entered, like mw_attach_thread(); never NULL. */
mw_attach_thread_t *mw_attach_entered_thread(void);
/* Begins work of the profiler for the thread; false: it is inside already. A record that was
 * another thread's is emptied. */
bool mw_attach_begin(mw_attach_thread_t *thread);
static inline void mw_attach_end(mw_attach_thread_t *thread) {
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_inside = false;
}

/* Has each thread look at its next allocation whether T has changed. One that is allocating now may
 * do so only at the end of its countdown's part. */
MW_COLD void mw_attach_wake_threads(void);

/* false: a forked child, where nothing is recorded. */
static inline bool mw_attach_is_parent(void) {
	return *(volatile bool *)&mw_attach_wiped.is_parent;
}

/* Empties all records, and has the kernel wipe them in forked children. False: it refuses, with
 * errno. */
MW_COLD bool mw_attach_threads_start(void);

#endif
