/* SPDX-License-Identifier: MIT
 * stack.c -- stack windows: the thread's own stack is remembered, other pages are asked for. */
#include "os/stack.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/arch.h"
#include "os/fault.h"
#include "os/map.h"
#include "os/valgrind.h"

/* The stack pointer at the program's entry: everything above belongs to the kernel's argument
 * block.  Set by the dynamic loader or the static start-up code; weak, so that the library does not
 * come to depend on the loader by name. */
extern void *__libc_stack_end __attribute__((weak));

/* Pages asked for in one attempt to grow the remembered part: 25 microseconds at 0.1 each.  A
 * deeper stack is walked as a foreign one and remembered a bit further each time. */
#define OWN_PAGES_PER_OPEN 256u
/* The kernel's size of a signal set. */
#define KERNEL_SIGSET_BYTES 8u

/* [lo, hi) is known to be readable as long as the thread lives.  Written by the owning thread and
 * its signal handlers only, so relaxed order does; each value `lo` ever has is a valid one. */
static MW_TLS struct own_stack {
	_Atomic uintptr_t lo;
	_Atomic uintptr_t hi;
} own_stack;

/* Written once by mw_os_stack_start(), before threads. */
static bool probe_is_broken;

bool mw_os_is_readable(uintptr_t address) {
	int saved = errno;
	/* The kernel copies the set in before it finds that there is no such operation: EFAULT says
	 * unreadable, EINVAL readable.  Nothing is changed, on any kernel, in 0.1 microseconds. */
	long result = syscall(SYS_rt_sigprocmask, -1, address, NULL, KERNEL_SIGSET_BYTES);
	bool readable = result == -1 && errno == EINVAL;
	errno = saved;
	return readable;
}

void mw_os_stack_start(void) {
	/* An emulated kernel may look at the operation first: then nothing can be asked, and stacks
	 * other than the remembered are left alone.  The first page is never mapped.  Valgrind is
	 * such a kernel, and reports the question itself as an error of the program. */
	probe_is_broken = mw_os_runs_on_valgrind() || mw_os_is_readable(KERNEL_SIGSET_BYTES) ||
			  !mw_os_is_readable((uintptr_t)__builtin_frame_address(0));
}

static uintptr_t page_of(uintptr_t address) {
	return address & ~(uintptr_t)(MW_OS_PAGE_BYTES - 1);
}

static bool page_is_readable(uintptr_t page) {
	return !probe_is_broken && !mw_os_fault(MW_OS_PROBE) && mw_os_is_readable(page);
}

/* Top of the stack this thread was started on. */
static uintptr_t find_top(void) {
	/* True in the first thread only; and in the one thread of a forked child, for which the
	 * other thread's top was already remembered or the walk treats the stack as foreign. */
	if (syscall(SYS_gettid) != syscall(SYS_getpid))
		return mw_os_thread_pointer();
	return &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
}

static void remember_top(struct own_stack *own) {
	uintptr_t top = find_top() & ~(uintptr_t)(sizeof(uintptr_t) - 1);
	/* The page the top lies in is in use.  A handler that comes between the two stores sees an
	 * empty range: lo = 0 < hi is never there. */
	atomic_store_explicit(&own->lo, top == 0 ? UINTPTR_MAX : page_of(top),
			      memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&own->hi, top, memory_order_relaxed);
}

/* Grows the remembered range downwards to the page of `sp`, through readable pages only: a guard
 * page or a hole ends it, and then sp is on another stack. */
static bool own_reaches(struct own_stack *own, uintptr_t sp) {
	uintptr_t lo = atomic_load_explicit(&own->lo, memory_order_relaxed);
	uintptr_t hi = atomic_load_explicit(&own->hi, memory_order_relaxed);
	if (sp >= hi)
		return false;
	if (sp >= lo)
		return true;
	/* The kernel keeps 128 MiB (MIN_GAP) between the first thread's stack and where it puts
	 * mappings, hence other stacks: no scan down to those.  Deeper than this is foreign. */
	const uintptr_t far_bytes = (uintptr_t)64 << 20;
	if (lo - sp > far_bytes)
		return false;
	for (unsigned i = 0; i < OWN_PAGES_PER_OPEN && sp < lo; i++) {
		if (!page_is_readable(lo - MW_OS_PAGE_BYTES))
			break;
		lo -= MW_OS_PAGE_BYTES;
	}
	atomic_store_explicit(&own->lo, lo, memory_order_relaxed);
	return sp >= lo;
}

bool mw_os_stack_open(mw_stack_window_t *window, uintptr_t sp) {
	struct own_stack *own = &own_stack;
	int saved = errno;
	if (MW_UNLIKELY(atomic_load_explicit(&own->lo, memory_order_relaxed) == 0))
		remember_top(own);
	bool is_own = own_reaches(own, sp);
	errno = saved;
	window->lo = sp;
	window->is_own = is_own;
	if (MW_LIKELY(is_own)) {
		window->hi = atomic_load_explicit(&own->hi, memory_order_relaxed);
		return true;
	}
	window->hi = sp;
	if (sp > UINTPTR_MAX - MW_OS_PAGE_BYTES || !page_is_readable(page_of(sp)))
		return false;
	window->hi = page_of(sp) + MW_OS_PAGE_BYTES;
	return true;
}

bool mw_os_stack_extend(mw_stack_window_t *window, uintptr_t address) {
	/* A frame larger than this on a foreign stack is taken for a broken walk: 4096 pages would
	 * be 0.4 milliseconds of questions. */
	const uintptr_t far_bytes = (uintptr_t)16 << 20;
	if (window->is_own || address < window->lo || address - window->lo > far_bytes)
		return false;
	while (address + sizeof(uintptr_t) > window->hi) {
		if (!page_is_readable(window->hi))
			return false;
		window->hi += MW_OS_PAGE_BYTES;
	}
	return true;
}
