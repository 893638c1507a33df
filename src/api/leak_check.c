/* SPDX-License-Identifier: MIT
 * leak_check.c -- mallow_leak_check() and mallow_leak_ignore() of <mallow/mallow.h>, and the check
 * for other libraries. */
#include "api/leak_calls.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <stdint.h>

#include "api/process/start.h"
#include "leak/leak.h"
#include "leak/requested.h"
#include "os/lock/lock.h"
#include "os/process/registers.h"
#include "prof/sample/activity.h"

static int error_of(mw_result_t result) {
	switch (result) {
	case MW_OK:
		return 0;
	case MW_ERR_NO_MEMORY:
		return ENOMEM;
	case MW_ERR_UNSUPPORTED:
		return ENOSYS;
	case MW_ERR_BAD_VALUE:
		return EAGAIN;
	default:
		return EBUSY;
	}
}

static void fill(mallow_leaks_t *leaks, const mw_leak_result_t *result) {
	mw_leak_sums_t all = mw_leak_total(result);
	*leaks = (mallow_leaks_t){
		.size = leaks->size,
		.live_blocks = all.live.blocks,
		.live_bytes = all.live.bytes,
		.direct_blocks = all.direct.blocks,
		.direct_bytes = all.direct.bytes,
		.indirect_blocks = all.indirect.blocks,
		.indirect_bytes = all.indirect.bytes,
		.root_bytes = result->root_bytes,
		.block_bytes = result->block_bytes,
		.unread_bytes = result->unread_bytes,
		.pause_ns = result->pause_ns,
		.scan_ns = result->scan_ns,
		.threads = result->threads,
		.running_threads = result->running_threads,
	};
}

static bool may_check(void) {
	return mw_lock_held_ranks == 0 && !mw_lock_is_forking();
}

static int check(const mw_os_stopped_t *self, const mw_leak_scope_t *scope,
		 void (*then)(void *context), void *context, mw_leak_result_t *result) {
	if (!may_check())
		return EBUSY;
	int saved_errno = errno;
	int error = error_of(mw_leak_check(self, scope, then, context, result));
	errno = saved_errno;
	return error;
}

int mallow_leak_check(mallow_leaks_t *leaks) {
	mw_os_stopped_t self = {0};
	mw_leak_result_t result = {0};
	const mw_leak_scope_t scope = {0};
	mw_os_note_registers(&self);
	if (!mw_api_started)
		mw_api_start();
	if (leaks->size < sizeof *leaks)
		return EINVAL;
	int error = check(&self, &scope, NULL, NULL, &result);
	if (error == 0)
		fill(leaks, &result);
	return error;
}

/* ---- exempt blocks ---- */

int mallow_leak_ignore(const void *block, int on) {
	return mw_leak_exempt(block, on != 0) ? 0 : ENOENT;
}

void mallow_leak_ignore_begin(void) {
	mw_prof_exempting++;
}

void mallow_leak_ignore_end(void) {
	if (mw_prof_exempting > 0)
		mw_prof_exempting--;
}

/* ---- for other libraries ---- */

static const mw_compat_leak_check_t *current; /* in the copy */

static void pass_on(uint32_t number, const mw_state_record_t *record,
		    const mw_leak_block_t *block) {
	const mw_compat_leak_t leak = {
		.stack = record->stack,
		.address = record->address,
		.requested_bytes = record->requested_bytes,
		.record = number,
		.sequence = record->sequence,
		.is_direct = mw_leak_bit(MW_LEAK_DIRECT, block->bit),
	};
	current->found(current->context, &leak);
}

static void pass_all_on(void *context) {
	current = context;
	mw_leak_visit_recorded(false, pass_on);
}

MW_COLD int mw_api_check_leaks(mw_compat_leak_check_t *wanted) {
	mw_os_stopped_t self = {0};
	mw_leak_result_t result = {0};
	mw_os_note_registers(&self);
	int error = check(&self, &wanted->scope, pass_all_on, wanted, &result);
	if (error == 0)
		wanted->sums = mw_leak_total(&result);
	return error;
}

static int error_of_stored(mw_leak_error_t error) {
	switch (error) {
	case MW_LEAK_FINE:
		return 0;
	case MW_LEAK_NO_MEMORY:
	case MW_LEAK_ENDED:
		return ENOMEM;
	case MW_LEAK_BUSY:
		return EBUSY;
	case MW_LEAK_NO_STOP:
	case MW_LEAK_NO_ANSWERS:
		break;
	}
	return EAGAIN;
}

MW_COLD int mw_api_leaked_bytes(uint64_t *bytes) {
	mw_os_stopped_t self = {0};
	mw_leak_sums_t sums;
	uint64_t stacks;
	mw_os_note_registers(&self);
	if (!may_check())
		return EBUSY;
	int saved_errno = errno;
	int error = error_of_stored(mw_leak_check_and_store(&self, &sums, &stacks));
	errno = saved_errno;
	if (error == 0)
		*bytes = sums.direct.bytes + sums.indirect.bytes;
	return error;
}
