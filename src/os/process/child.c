/* SPDX-License-Identifier: MIT
 * child.c -- clone(2) without an exit signal. */
#include "os/process/child.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/raw_map.h"
#include "os/platform/system_call.h"

/* Bytes of a signal set, as the kernel counts them. */
#define KERNEL_SET_BYTES 8

MW_COLD void *mw_os_map_shared(size_t bytes) {
	int saved_errno = errno;
	void *memory = mw_os_raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved_errno;
	return memory == MAP_FAILED ? NULL : memory;
}

/* How many files are closed by a kernel before Linux 5.9, which closes each by a call of its own.
 */
#define CLOSED_MAX 65536

/* The thread that waits calls two functions without large variables. */
#define WAITER_STACK_BYTES 4096

static uint32_t copied_process; /* in the copy: id of the process */

/* The thread that waits for a copy. */
static struct {
	_Alignas(16) char stack[WAITER_STACK_BYTES];
	/* 0: there is none, and nothing uses the stack. The kernel writes both values. */
	_Atomic int32_t thread_id;
	uint32_t process_id; /* whose thread it is: a forked child has this memory, and no thread */
} waiter MW_SPARSE;

bool mw_os_child_outlived(void) {
	return (uint32_t)mw_system_call(SYS_getppid) != copied_process;
}

/* Closes the files of the process: a pipe, a socket or a lock that the process gives up would last
 * until the copy ends. Its messages go to standard error. */
static void close_files(void) {
	struct rlimit files = {CLOSED_MAX, CLOSED_MAX};
	mw_system_call(SYS_close, 0);
	mw_system_call(SYS_close, 1);
	if (mw_system_call(SYS_close_range, 3, UINT_MAX, 0) == 0)
		return;
	mw_system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files);
	for (rlim_t file = 3; file < files.rlim_cur && file < CLOSED_MAX; file++)
		mw_system_call(SYS_close, file);
}

/* Sets the limits under which the copy runs. The kernel's signal at the end of the parent comes at
 * the end of the parent's thread, which may be long before. */
static void begin_copy(uint32_t parent, mw_os_child_kind_t kind) {
	const struct rlimit seconds = {MW_OS_CHILD_LIMIT_S, MW_OS_CHILD_LIMIT_S}, none = {0, 0};
	const struct sched_param no_priority = {0};
	copied_process = parent;
	/* First: a copy in the background may wait long for the processor. */
	close_files();
	if (kind == MW_OS_CHILD_AWAITED)
		mw_system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	else
		mw_system_call(SYS_sched_setscheduler, 0, SCHED_IDLE, &no_priority);
	if (mw_os_child_outlived())
		mw_os_child_end();
	mw_system_call(SYS_prlimit64, 0, RLIMIT_CPU, &seconds, NULL);
	mw_system_call(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/oom_score_adj", MW_OS_REWRITE);
	if (file < 0)
		return;
	mw_system_call(SYS_write, file, "1000", 4);
	mw_os_close(file);
}

MW_COLD int32_t mw_os_child_start(mw_os_child_kind_t kind) {
	int saved_errno = errno;
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	uint32_t parent = mw_os_process_id();
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SET_BYTES);
	long child = mw_system_call(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (child == 0)
		begin_copy(parent, kind);
	else
		mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SET_BYTES);
	errno = saved_errno;
	return (int32_t)child;
}

MW_COLD _Noreturn void mw_os_child_end(void) {
	for (;;)
		mw_system_call(SYS_exit_group, 0);
}

MW_COLD bool mw_os_child_wait(int32_t child) {
	int saved_errno = errno, status = 0;
	long result;
	do
		result = mw_system_call(SYS_wait4, child, &status, __WCLONE, NULL);
	while (result < 0 && errno == EINTR);
	errno = saved_errno;
	return result == child && WIFEXITED(status);
}

/* The thread-local data is that of the thread that began, which may have ended: errno is not set.
 */
static int wait_in_thread(void *child) {
	while (mw_enter_kernel(SYS_wait4, (long)(intptr_t)child, 0, __WCLONE, 0, 0, 0) == -EINTR) {
	}
	return 0;
}

static long start_waiter(int32_t child) {
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_UNTRACED | CLONE_PARENT_SETTID |
			  CLONE_CHILD_CLEARTID;
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	waiter.process_id = mw_os_process_id();
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SET_BYTES);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number. */
	long thread = clone(wait_in_thread, waiter.stack + sizeof waiter.stack, flags,
			    (void *)(intptr_t)child, &waiter.thread_id, NULL, &waiter.thread_id);
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SET_BYTES);
	return thread;
}

MW_COLD bool mw_os_child_leave(int32_t child) {
	int saved_errno = errno;
	bool is_left = start_waiter(child) > 0;
	if (!is_left) {
		mw_system_call(SYS_kill, child, SIGKILL);
		mw_os_child_wait(child);
	}
	errno = saved_errno;
	return is_left;
}

bool mw_os_child_is_left(void) {
	/* Pairs with the kernel's store at the end of the thread. */
	return atomic_load_explicit(&waiter.thread_id, memory_order_acquire) != 0 &&
	       waiter.process_id == mw_os_process_id();
}

MW_COLD bool mw_os_child_has_ended(int32_t child) {
	int saved_errno = errno;
	long result = mw_system_call(SYS_wait4, child, NULL, WNOHANG | __WCLONE, NULL);
	/* The program may have waited for all its children. */
	bool has_ended = result == child || (result < 0 && errno == ECHILD);
	errno = saved_errno;
	return has_ended;
}

MW_COLD uint32_t mw_os_child_process(void) {
	return copied_process;
}

MW_COLD size_t mw_os_copy_memory_of(uint32_t process_id, void *to, uintptr_t from, size_t bytes) {
	int saved_errno = errno;
	struct iovec into = {to, bytes};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of /proc/self/maps. */
	struct iovec out_of = {(void *)from, bytes};
	long copied = mw_system_call(SYS_process_vm_readv, process_id, &into, 1, &out_of, 1, 0);
	errno = saved_errno;
	return copied > 0 ? (size_t)copied : 0;
}

MW_COLD size_t mw_os_copy_memory(void *to, uintptr_t from, size_t bytes) {
	return mw_os_copy_memory_of(mw_os_process_id(), to, from, bytes);
}
