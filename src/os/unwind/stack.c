/* SPDX-License-Identifier: MIT
 * stack.c -- stack windows. The readable range of the thread's own stack is cached; for other pages
 * the kernel is asked. */
#include "os/unwind/stack.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/memory/map.h"
#include "os/platform/arch.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/platform/valgrind.h"

/* Stack pointer at the program's entry; the kernel's argument block lies above it. The dynamic
 * loader or the static start-up code sets it. Weak, so that the library does not depend on the
 * loader by name; musl has none. */
extern void *__libc_stack_end __attribute__((weak));

/* Most pages that one call probes to extend the cached range: 25 microseconds at 0.1 each. A deeper
 * stack is handled as a foreign stack, and each call extends the range further. */
#define OWN_PAGES_PER_OPEN 256u
/* Size in bytes of a signal set of the kernel. */
#define KERNEL_SIGSET_BYTES 8u

/* [lo, hi) is readable as long as the thread lives. Only the owning thread and its signal handlers
 * write it, so relaxed order suffices. Every value of `lo` is valid at any time. */
static MW_TLS struct own_stack {
	_Atomic uintptr_t lo;
	_Atomic uintptr_t hi;
} own_stack;

/* Written once by mw_os_stack_start(), before threads exist. `probe_is_broken`: no page can be
 * asked about. */
static bool asks_by_madvise, probe_is_broken;

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* Kernels before Linux 5.14: the result is "not readable". */
static MW_COLD bool is_readable_by_madvise(uintptr_t address) {
	int saved = errno;
	void *page = (void *)(address & ~(uintptr_t)(mw_os_counted_page_bytes() - 1));
	bool readable = mw_system_call(SYS_madvise, page, mw_os_counted_page_bytes(),
				       MADV_POPULATE_READ) == 0;
	errno = saved;
	return readable;
}

bool mw_os_is_readable(uintptr_t address) {
	if (MW_UNLIKELY(asks_by_madvise) || MW_UNLIKELY(mw_os_is_confined()))
		return is_readable_by_madvise(address);
	int saved = errno;
	/* The kernel copies the signal set before it checks the operation number, which is invalid.
	 * EFAULT: not readable; EINVAL: readable. No kernel changes any state. Takes 0.1
	 * microseconds. */
	long result = mw_system_call(SYS_rt_sigprocmask, -1, address, NULL, KERNEL_SIGSET_BYTES);
	bool readable = result == -1 && errno == EINVAL;
	errno = saved;
	return readable;
}

/* The first page is never mapped. */
static bool is_probe_right(void) {
	return !mw_os_is_readable(KERNEL_SIGSET_BYTES) &&
	       mw_os_is_readable((uintptr_t)__builtin_frame_address(0));
}

void mw_os_stack_start(void) {
	/* An emulated kernel may check the operation number first. Valgrind is such a kernel, and
	 * reports the probe as an error of the program. Without any probe, stacks outside of the
	 * cached range are not read. */
	asks_by_madvise = mw_os_runs_on_valgrind() || !is_probe_right();
	probe_is_broken = asks_by_madvise && !is_probe_right();
}

static uintptr_t page_of(uintptr_t address) {
	return address & ~(uintptr_t)(mw_os_counted_page_bytes() - 1);
}

static bool page_is_readable(uintptr_t page) {
	return !probe_is_broken && !mw_os_fault(MW_OS_PROBE) && mw_os_is_readable(page);
}

/* Returns the top of the stack on which this thread was started. */
static uintptr_t find_top(void) {
	/* Only in the first thread are both ids equal, and in the single thread of a forked child.
	 * There the top of the forking thread is cached already, or the stack is handled as a
	 * foreign stack. */
	if (mw_os_is_confined() || mw_system_call(SYS_gettid) != mw_system_call(SYS_getpid))
		return mw_os_thread_pointer();
	/* The program's file name is the end of the argument block. */
	return &__libc_stack_end ? (uintptr_t)__libc_stack_end : getauxval(AT_EXECFN);
}

static void remember_top(struct own_stack *own) {
	uintptr_t top = find_top() & ~(uintptr_t)(sizeof(uintptr_t) - 1);
	/* The page that contains the top is in use. A signal handler between the two stores sees an
	 * empty range, because lo = 0 with hi > 0 never occurs. */
	atomic_store_explicit(&own->lo, top == 0 ? UINTPTR_MAX : page_of(top),
			      memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&own->hi, top, memory_order_relaxed);
}

/* Extends the cached range downwards to the page of `sp`, through readable pages only. Returns
 * false at a guard page or a gap: sp is then on another stack. */
static bool own_reaches(struct own_stack *own, uintptr_t sp) {
	uintptr_t lo = atomic_load_explicit(&own->lo, memory_order_relaxed);
	uintptr_t hi = atomic_load_explicit(&own->hi, memory_order_relaxed);
	if (sp >= hi)
		return false;
	if (sp >= lo)
		return true;
	/* The kernel keeps 128 MiB (MIN_GAP) between the first thread's stack and the mappings,
	 * which include other stacks. A stack pointer further down is on a foreign stack. */
	const uintptr_t far_bytes = (uintptr_t)64 << 20;
	if (lo - sp > far_bytes)
		return false;
	for (unsigned i = 0; i < OWN_PAGES_PER_OPEN && sp < lo; i++) {
		if (!page_is_readable(lo - mw_os_counted_page_bytes()))
			break;
		lo -= mw_os_counted_page_bytes();
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
	if (sp > UINTPTR_MAX - mw_os_counted_page_bytes() || !page_is_readable(page_of(sp)))
		return false;
	window->hi = page_of(sp) + mw_os_counted_page_bytes();
	return true;
}

bool mw_os_stack_extend(mw_stack_window_t *window, uintptr_t address) {
	/* Largest frame on a foreign stack; a larger one means that the unwind rules are wrong.
	 * Probing its 4096 pages would take 0.4 milliseconds. */
	const uintptr_t far_bytes = (uintptr_t)16 << 20;
	if (window->is_own || address < window->lo || address - window->lo > far_bytes)
		return false;
	while (address + sizeof(uintptr_t) > window->hi) {
		if (!page_is_readable(window->hi))
			return false;
		window->hi += mw_os_counted_page_bytes();
	}
	return true;
}
