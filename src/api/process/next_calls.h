/* SPDX-License-Identifier: MIT
 * next_calls.h -- the next definitions of the functions of libc that libmallow.so replaces and
 * passes on: libc's, or those of another preloaded library.
 * Layer: api/process.  libmallow.so only.  They are looked up by the library's constructor, because
 * the look-up takes a lock of the dynamic linker, which another thread may hold at a fork; the
 * child would wait for it forever.  Reading them takes no lock. Async-signal-safe. */
#ifndef MW_API_PROCESS_NEXT_CALLS_H
#define MW_API_PROCESS_NEXT_CALLS_H

#include <stdatomic.h>

typedef enum mw_next_call {
	MW_NEXT_EXIT,
	MW_NEXT_FORK,
	MW_NEXT_DAEMON,
	MW_NEXT_FORKPTY,
	MW_NEXT_REGISTER_ATFORK,
	MW_NEXT_PRCTL,
	MW_NEXT_MMAP,
	MW_NEXT_MMAP64,
	MW_NEXT_MUNMAP,
	MW_NEXT_MREMAP,
	MW_NEXT_SBRK,
	MW_NEXT_SHMAT,
	MW_NEXT_SHMDT,
	MW_NEXT_SIGWAITINFO,
	MW_NEXT_SIGTIMEDWAIT,
	MW_NEXT_SIGNALFD,
	MW_NEXT_CALLS
} mw_next_call_t;

extern _Atomic(void *) mw_next_calls[MW_NEXT_CALLS];

/* Returns the function; NULL: the constructor has not run yet, or there is no next definition. */
static inline void *mw_next_call(mw_next_call_t which) {
	/* Relaxed: a function of libc, or of a library that was loaded with it. */
	return atomic_load_explicit(&mw_next_calls[which], memory_order_relaxed);
}

/* Returns the function, which it looks up if that is not known; NULL: there is no next definition.
 * Not async-signal-safe, and may wait for the dynamic linker's lock: for functions that the program
 * calls before the constructor has run, and that nothing else can stand in for. */
void *mw_next_call_now(mw_next_call_t which);

#endif
