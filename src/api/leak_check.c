/* SPDX-License-Identifier: MIT
 * leak_check.c -- mallow_leak_check() of <mallow/mallow.h>. */
#include <errno.h>
#include <mallow/mallow.h>
#include <stdint.h>

#include "api/process/start.h"
#include "leak/leak.h"
#include "os/lock/lock.h"
#include "os/process/registers.h"

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

int mallow_leak_check(mallow_leaks_t *leaks) {
	mw_os_stopped_t self = {0};
	mw_leak_result_t result = {0};
	mw_os_note_registers(&self);
	if (!mw_api_started)
		mw_api_start();
	if (leaks->size < sizeof *leaks)
		return EINVAL;
	if (mw_lock_held_ranks != 0 || mw_lock_is_forking())
		return EBUSY;
	int saved_errno = errno;
	int error = error_of(mw_leak_check(&self, &result));
	errno = saved_errno;
	if (error == 0)
		fill(leaks, &result);
	return error;
}
