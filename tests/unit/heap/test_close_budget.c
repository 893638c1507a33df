/* SPDX-License-Identifier: MIT
 * test_close_budget.c -- the hardened library closes freed large and huge blocks while they are
 * few, and makes no system calls for them when they are many; the plain one makes none. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/layout/link.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "test.h"

static uint64_t now_ns = 1000000000;
static unsigned protections;

static uint64_t test_clock(void) {
	return now_ns;
}

static bool count(mw_os_call_t call) {
	protections += call == MW_OS_PROTECT;
	return false;
}

/* Returns the changes of access that so many blocks, one after the other, take. */
static unsigned replace(size_t bytes, unsigned turns) {
	unsigned before = protections;
	for (unsigned i = 0; i < turns; i++) {
		char *block = mw_heap_alloc(bytes);
		CHECK(block != NULL);
		memset(block, 1, 64);
		block[bytes - 1] = 1;
		mw_fast_free(block);
	}
	return protections - before;
}

static void check_size(size_t bytes) {
	enum { FEW = 10, MANY = 3000, LONG_NS = 1000000000 };
	now_ns += UINT64_C(100) * LONG_NS;
	/* Each block is closed when it is freed, and opened when it is used again. */
	unsigned few = replace(bytes, FEW);
	CHECK(MW_HARDEN_ON ? few >= 2 * FEW - 1 : few == 0);
	/* All at one moment: 400 in all are closed, at most. */
	unsigned many = replace(bytes, MANY);
	CHECK(many < 2000);
	CHECK_EQ(replace(bytes, FEW), 0);
	/* Time gives the budget back, some of it after a while and all after long. */
	now_ns += LONG_NS / 2;
	unsigned some = replace(bytes, MANY);
	CHECK(MW_HARDEN_ON ? some > 10 && some < 1000 : some == 0);
	now_ns += UINT64_C(100) * LONG_NS;
	few = replace(bytes, FEW);
	CHECK(MW_HARDEN_ON ? few >= FEW : few == 0);
}

int main(void) {
	mw_os_clock_set_source(test_clock);
	mw_os_fault_hook = count;
	check_size((size_t)1 << 20);
	check_size((size_t)3 << 20);
	mw_os_fault_hook = NULL;
	mw_os_clock_set_source(NULL);
	return 0;
}
