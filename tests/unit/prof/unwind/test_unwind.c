/* SPDX-License-Identifier: MIT
 * test_unwind.c -- walks of real stacks: plain calls, recursion, libc's callbacks, threads. */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "captured.h"
#include "frames.h"
#include "machine.h"
#include "os/platform/kernel_calls.h"
#include "prof/unwind/rule/rule.h"
#include "prof/unwind/rule/rule_cache.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "test.h"

static captured_t seen;

/* The walk starts in the caller of mw_unwind_capture(): this function. */
static NOINLINE void capture_here(captured_t *stack, unsigned max_depth) {
	errno = 4711;
	stack->result = mw_unwind_capture(stack->pcs, max_depth);
	CHECK_EQ(errno, 4711);
}

/* --- calls of plain C, -O2 without frame pointers, against glibc's backtrace() ------------------
 */

static void *glibc_pcs[MW_UNWIND_DEPTH_MAX];
static int glibc_depth;

static NOINLINE void chain_end(void) {
	glibc_depth = backtrace(glibc_pcs, MW_UNWIND_DEPTH_MAX);
	capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	KEEP_FRAME();
}

static NOINLINE void chain_large(void) {
	char room[50000];
	KEEP(room);
	chain_end();
	KEEP(room);
}

static NOINLINE void chain_sized(unsigned bytes) {
	char *room = __builtin_alloca(bytes);
	KEEP(room);
	chain_large();
	KEEP(room);
}

static NOINLINE void chain_aligned(unsigned bytes) {
	_Alignas(64) char room[64];
	KEEP(room);
	chain_sized(bytes);
	KEEP(room);
}

static NOINLINE void chain_start(void) {
	chain_aligned(1000);
	KEEP_FRAME();
}

static void test_chain(void) {
	chain_start();
	CHECK(!seen.result.truncated);
	const void *const expected[] = {capture_here,  chain_end,   chain_large, chain_sized,
					chain_aligned, chain_start, test_chain};
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK(returns_into(seen.pcs[i], expected[i]));
	/* From chain_end's caller on both are the same; glibc's begins in chain_end, at another
	 * call, or in a sanitizer's wrapper. */
	CHECK(glibc_depth >= (int)seen.result.depth - 1);
	for (unsigned i = 1; i <= seen.result.depth - 2; i++)
		CHECK_EQ(seen.pcs[seen.result.depth - i],
			 (uint64_t)(uintptr_t)glibc_pcs[(unsigned)glibc_depth - i]);
}

static void test_warm_is_the_same(void) {
	captured_t first;
	chain_start();
	uint32_t rules = mw_rule_count();
	for (unsigned i = 0; i < 3; i++) {
		memcpy(&first, &seen, sizeof(first));
		chain_start();
		CHECK_EQ(seen.result.depth, first.result.depth);
		/* All but the frame of this loop's second call. */
		for (unsigned k = 0; k < 6; k++)
			CHECK_EQ(seen.pcs[k], first.pcs[k]);
	}
	CHECK_EQ(mw_rule_count(), rules);
	CHECK(mw_cache_find((uintptr_t)seen.pcs[2] - 1) != 0);
}

/* --- recursion: cut at the outer end ------------------------------------------------------------
 */

static NOINLINE void recurse(unsigned depth, unsigned max_depth) {
	if (depth == 0)
		capture_here(&seen, max_depth);
	else
		recurse(depth - 1, max_depth);
	KEEP_FRAME();
}

static void test_recursion(void) {
	recurse(10000, MW_UNWIND_DEPTH_MAX);
	CHECK_EQ(seen.result.depth, MW_UNWIND_DEPTH_MAX);
	CHECK(seen.result.truncated);
	for (unsigned i = 1; i < MW_UNWIND_DEPTH_MAX; i++)
		CHECK(returns_into(seen.pcs[i], recurse));
	recurse(100, 1);
	CHECK_EQ(seen.result.depth, 1);
	CHECK(seen.result.truncated);
	recurse(100, 0);
	CHECK_EQ(seen.result.depth, 0);
	/* Exactly as deep as there is room: nothing is missing. */
	recurse(100, MW_UNWIND_DEPTH_MAX);
	unsigned depth = seen.result.depth;
	CHECK(!seen.result.truncated);
	recurse(100, depth);
	CHECK_EQ(seen.result.depth, depth);
	CHECK(!seen.result.truncated);
	recurse(100, depth - 1);
	CHECK_EQ(seen.result.depth, depth - 1);
	CHECK(seen.result.truncated);
}

/* The same in a thread, 10 MiB deep at once: not all of its stack is known to be its own. */
static NOINLINE void recurse_large(unsigned depth) {
	char room[1000];
	KEEP(room);
	if (depth == 0)
		capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	else
		recurse_large(depth - 1);
	KEEP(room);
}

static void *recurse_in_thread(void *argument) {
	recurse_large(10000);
	CHECK_EQ(seen.result.depth, MW_UNWIND_DEPTH_MAX);
	CHECK(seen.result.truncated);
	for (unsigned i = 1; i < MW_UNWIND_DEPTH_MAX; i++)
		CHECK(returns_into(seen.pcs[i], recurse_large));
	recurse_large(100);
	CHECK(!seen.result.truncated);
	return argument;
}

static void test_recursion_in_a_thread(void) {
	pthread_attr_t attributes;
	pthread_t thread;
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, (size_t)32 << 20) == 0);
	CHECK(pthread_create(&thread, &attributes, recurse_in_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_attr_destroy(&attributes) == 0);
}

/* --- through libc -------------------------------------------------------------------------------
 */

static NOINLINE int compare(const void *a, const void *b) {
	capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	KEEP_FRAME();
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void sorts(void) {
	int numbers[] = {3, 1, 2};
	qsort(numbers, 3, sizeof(int), compare);
	KEEP_FRAME();
	CHECK_EQ(numbers[0], 1);
}

static NOINLINE void searches(void) {
	int numbers[] = {1, 2, 3}, key = 3;
	CHECK(bsearch(&key, numbers, 3, sizeof(int), compare) == &numbers[2]);
	KEEP_FRAME();
}

static void test_callbacks(void) {
	sorts();
	CHECK(!seen.result.truncated);
	CHECK(returns_into(seen.pcs[1], compare));
	CHECK(holds(&seen, sorts));
	searches();
	CHECK(!seen.result.truncated);
	CHECK(returns_into(seen.pcs[1], compare));
	CHECK(holds(&seen, searches));
}

/* --- the library's own frames -------------------------------------------------------------------
 */

static void test_own_frames(void) {
	chain_start();
	unsigned depth = seen.result.depth;
	uint64_t leaf = seen.pcs[1];
	mw_unwind_set_own((uintptr_t)seen.pcs[0], (uintptr_t)seen.pcs[0] + 1);
	chain_start();
	CHECK_EQ(seen.result.depth, depth - 1);
	CHECK_EQ(seen.pcs[0], leaf);
	mw_unwind_set_own(0, 0);
}

/* --- threads, and eight of them on a cache that is being filled ---------------------------------
 */

enum { THREADS = 8, ROUNDS = 2000 };

static _Atomic unsigned threads_ready;

static NOINLINE void *thread_main(void *argument) {
	captured_t stack, first = {.result = {.depth = 0}};
	(void)argument;
	atomic_fetch_add(&threads_ready, 1);
	while (atomic_load(&threads_ready) < THREADS)
		;
	for (unsigned i = 0; i < ROUNDS; i++) {
		capture_here(&stack, MW_UNWIND_DEPTH_MAX);
		CHECK(!stack.result.truncated);
		CHECK(returns_into(stack.pcs[0], capture_here));
		CHECK(returns_into(stack.pcs[1], thread_main));
		CHECK(stack.result.depth >= 3);
		if (i == 0)
			first = stack;
		CHECK_EQ(stack.result.depth, first.result.depth);
		/* The compiler may have split the loop: the calls in it differ. */
		CHECK(memcmp(stack.pcs + 2, first.pcs + 2, 8 * (stack.result.depth - 2)) == 0);
	}
	return NULL;
}

static void test_threads(void) {
	pthread_t threads[THREADS];
	mw_cache_clear();
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, thread_main, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* --- signals ------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t handled;
static volatile uintptr_t interrupted_pc;

static NOINLINE void handler(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	interrupted_pc = machine_pc(context);
	capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	handled = 1;
}

/* Never calls, so that the interrupted instruction is in this very function. */
static NOINLINE unsigned spin(volatile sig_atomic_t *stop) {
	unsigned turns = 0;
	while (!*stop)
		turns++;
	return turns;
}

static NOINLINE void interrupt_spin(void) {
	/* Once more when a busy machine let the alarm go off before spin() was called. */
	do {
		handled = 0;
		ualarm(2000, 0);
		spin(&handled);
	} while (!returns_into(interrupted_pc, spin));
	KEEP_FRAME();
}

static void check_interrupted(void) {
	CHECK(!seen.result.truncated);
	CHECK(returns_into(seen.pcs[0], capture_here));
	CHECK(returns_into(seen.pcs[1], handler));
	/* Frame 2 is the trampoline that returns from the signal. */
	CHECK(!(seen.pcs[2] & MW_FRAME_EXACT));
	CHECK_EQ(seen.pcs[3], interrupted_pc | MW_FRAME_EXACT);
	CHECK(returns_into(seen.pcs[3], spin));
	CHECK(returns_into(seen.pcs[4], interrupt_spin));
	for (unsigned i = 4; i < seen.result.depth; i++)
		CHECK(!(seen.pcs[i] & MW_FRAME_EXACT));
}

static void install(int flags) {
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

static void test_signal(void) {
	install(0);
	for (unsigned i = 0; i < 3; i++) {
		interrupt_spin();
		check_interrupted();
	}
}

static void test_signal_on_its_own_stack(void) {
	static char room[65536];
	stack_t alternate = {.ss_sp = room, .ss_size = sizeof(room)};
	CHECK(sigaltstack(&alternate, NULL) == 0);
	install(SA_ONSTACK);
	interrupt_spin();
	check_interrupted();
	alternate.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&alternate, NULL) == 0);
}

/* A call through a null pointer: the pc is nowhere, its caller is known all the same. */
static NOINLINE void null_handler(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	handled = 1;
	machine_return(context);
}

static void test_wild_call(void) {
	struct sigaction action = {.sa_sigaction = null_handler, .sa_flags = SA_SIGINFO};
	void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)64;
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	handled = 0;
	nowhere();
	CHECK_EQ(handled, 1);
	CHECK(seen.result.depth >= 4);
	CHECK_EQ(seen.pcs[3], 64 | MW_FRAME_EXACT);
	signal(SIGSEGV, SIG_DFL);
}

/* --- coroutines, on a stack that ends at an unmapped page ---------------------------------------
 */

static ucontext_t main_context, other_context;

static NOINLINE void coroutine(void) {
	for (unsigned i = 0; i < 3; i++) {
		capture_here(&seen, MW_UNWIND_DEPTH_MAX);
		swapcontext(&other_context, &main_context);
	}
}

static void run_coroutine(size_t bytes) {
	char *pages = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + 4096, bytes, PROT_READ | PROT_WRITE) == 0);
	CHECK(getcontext(&other_context) == 0);
	other_context.uc_stack.ss_sp = pages + 4096;
	other_context.uc_stack.ss_size = bytes;
	other_context.uc_link = &main_context;
	makecontext(&other_context, coroutine, 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(swapcontext(&main_context, &other_context) == 0);
		CHECK(returns_into(seen.pcs[1], coroutine));
		CHECK(!seen.result.truncated);
		CHECK_EQ(seen.result.depth, 3);
	}
	CHECK(munmap(pages, bytes + 8192) == 0);
}

static void test_coroutine(void) {
	for (unsigned i = 0; i < 4; i++) {
		run_coroutine(65536);
		run_coroutine(16384);
	}
}

static void *coroutine_thread(void *argument) {
	test_coroutine();
	return argument;
}

static void test_coroutine_in_a_thread(void) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, coroutine_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* --- a kernel that answers no question ---------------------------------------------------------
 */

static bool no_probe(mw_os_call_t call) {
	return call == MW_OS_PROBE;
}

static NOINLINE void blind_coroutine(void) {
	capture_here(&seen, MW_UNWIND_DEPTH_MAX);
	swapcontext(&other_context, &main_context);
}

/* Nothing is known of other stacks then: nothing is read of them. */
static void test_blind(void) {
	static char room[65536];
	CHECK(getcontext(&other_context) == 0);
	other_context.uc_stack.ss_sp = room;
	other_context.uc_stack.ss_size = sizeof(room);
	other_context.uc_link = &main_context;
	makecontext(&other_context, blind_coroutine, 0);
	mw_os_fault_hook = no_probe;
	CHECK(swapcontext(&main_context, &other_context) == 0);
	CHECK_EQ(seen.result.depth, 0);
	CHECK(seen.result.truncated);
	/* The own stack was known before. */
	chain_start();
	CHECK(!seen.result.truncated);
	CHECK(returns_into(seen.pcs[1], chain_end));
	mw_os_fault_hook = NULL;
}

int main(void) {
	mw_unwind_start();
	RUN(test_chain);
	RUN(test_warm_is_the_same);
	RUN(test_recursion);
	RUN(test_recursion_in_a_thread);
	RUN(test_callbacks);
	RUN(test_own_frames);
	RUN(test_threads);
	RUN(test_signal);
	RUN(test_signal_on_its_own_stack);
	RUN(test_wild_call);
	RUN(test_coroutine);
	RUN(test_coroutine_in_a_thread);
	RUN(test_blind);
	return 0;
}
