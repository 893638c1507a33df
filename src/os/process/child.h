/* SPDX-License-Identifier: MIT
 * child.h -- a copy of the process that works on the memory of this moment.
 * Layer: os/process. No fork handler runs, and the program sees no SIGCHLD and no child in wait(2).
 * errno is kept. */
#ifndef MW_OS_CHILD_H
#define MW_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time after which the kernel ends a copy, in seconds. */
#define MW_OS_CHILD_LIMIT_S 60u

/* Maps memory that the process and its copies share; NULL: refused. */
void *mw_os_map_shared(size_t bytes);
typedef enum mw_os_child_kind {
	MW_OS_CHILD_AWAITED,    /* the calling thread waits: the copy ends with that thread */
	MW_OS_CHILD_BACKGROUND, /* runs while no other thread of the machine wants the processor */
} mw_os_child_kind_t;

/* Copies the process, with the calling thread alone. Returns the copy's process id in the parent, 0
 * in the copy, -1 if the kernel refused. The copy has of the process's files
 * standard error only, blocks all signals, ends at MW_OS_CHILD_LIMIT_S, and is the first to end
 * when memory runs out. */
int32_t mw_os_child_start(mw_os_child_kind_t kind);
/* Called by the copy: returns whether the process has ended. */
bool mw_os_child_outlived(void);
/* Ends the copy; called by the copy. */
_Noreturn void mw_os_child_end(void);
/* Waits until the copy has ended. Returns whether it ended by mw_os_child_end(). */
bool mw_os_child_wait(int32_t child);
/* Leaves a copy to a thread, which waits for its end: an ended child stays in the kernel's table
 * until its process waits for it. The thread is none of libc's, blocks all signals and runs no
 * other code. One copy at a time. Returns false if the kernel refuses the thread: the copy was
 * ended. */
bool mw_os_child_leave(int32_t child);
/* Returns whether a copy is left to a thread, and neither has ended. */
bool mw_os_child_is_left(void);
/* Returns whether the copy has ended, without waiting. True once: the kernel forgets the copy. */
bool mw_os_child_has_ended(int32_t child);
/* Called by the copy: id of the process that it is a copy of. */
uint32_t mw_os_child_process(void);
/* Copies memory of another process, as it is at this moment. Returns the bytes; 0: none is mapped,
 * or the kernel refuses. */
size_t mw_os_copy_memory_of(uint32_t process_id, void *to, uintptr_t from, size_t bytes);
/* Copies memory of the calling process, as much as is mapped. Returns the bytes; 0: none, or the
 * kernel refuses. */
size_t mw_os_copy_memory(void *to, uintptr_t from, size_t bytes);

#endif
