/* SPDX-License-Identifier: MIT
 * stdio_lock.h -- the lock of stdio's list of streams, which fork(2) of libc takes.
 * Layer: os/lock.
 *
 * glibc's fork takes this lock after the handlers of pthread_atfork(3), and so after the locks of
 * an allocator that takes its own in a handler.  A thread that calls fflush(NULL) or exit(3) holds
 * the lock while it waits for a stream; a thread that calls getline(3) holds the stream while it
 * allocates.  An allocator therefore takes the list's lock before its own.  The lock is recursive.
 * Libraries that have no such functions (musl) take no such lock. */
#ifndef MW_OS_STDIO_LOCK_H
#define MW_OS_STDIO_LOCK_H

/* Before the allocator's locks, in the thread that forks. */
void mw_os_stdio_fork_prepare(void);
/* After the allocator's locks were released, in the parent. */
void mw_os_stdio_fork_parent(void);
/* In the child, whose only thread the caller is: frees the lock, whoever held it. */
void mw_os_stdio_fork_child(void);

#endif
