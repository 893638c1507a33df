/* SPDX-License-Identifier: MIT
 * debug_fence.c -- reports accesses that the page fence stopped, and checks the heap at exit. */
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "compat/gperftools/debug/debug_heap.h"
#include "compat/gperftools/debug/debug_report.h"
#include "compat/gperftools/debug/debug_settings.h"

static struct sigaction handler_before;

typedef struct fenced {
	const char *address;
	const mw_gpd_block_t *block;
} fenced_t;

static bool is_elsewhere(const mw_gpd_block_t *block, void *context) {
	fenced_t *fenced = context;
	if (!block->mapped_bytes || fenced->address < block->memory ||
	    fenced->address >= block->memory + block->mapped_bytes)
		return true;
	fenced->block = block;
	return false;
}

static void *interrupted_at(const ucontext_t *context) {
#if defined(__x86_64__)
	return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)context->uc_mcontext.pc;
#endif
}

/* The table is read without its lock, which the interrupted thread may hold: the process ends, and
 * rows stay mapped.  The handler that was set before then gets the signal: the instruction runs
 * again. */
static void on_fault(int signal, siginfo_t *info, void *context) {
	fenced_t fenced = {.address = info->si_addr};
	if (info->si_code > 0)
		mw_gpd_visit(is_elsewhere, &fenced);
	if (fenced.block)
		mw_gpd_report_access(fenced.block, fenced.address, interrupted_at(context));
	sigaction(signal, &handler_before, NULL);
	if (info->si_code <= 0) /* sent by kill(2): no instruction repeats it */
		kill(getpid(), signal);
}

__attribute__((constructor)) static void watch_fences(void) {
	if (!mw_gpd_settings()->page_fence)
		return;
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGSEGV, &action, &handler_before);
}

__attribute__((destructor)) static void check_at_exit(void) {
	mw_gpd_verify_all();
}
