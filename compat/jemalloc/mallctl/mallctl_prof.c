/* SPDX-License-Identifier: MIT
 * mallctl_prof.c -- jemalloc's controls of the profile. They work in every process, because
 * sampling can be switched on at run time, also with prof:false. */
#include <errno.h>
#include <string.h>

#include "api/leak_calls.h"
#include "base/bits.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/thread/thread.h"
#include "os/file/file.h"
#include "prof/control/triggers.h"
#include "prof/dump/dump.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "prof/sample/program_hooks.h"

int mw_ctl_at_prof_active(mw_ctl_call_t *call) {
	bool before = mw_prof_is_active(), wanted = call->value != 0;
	if (call->writing) {
		mw_prof_set_active(wanted);
		mw_heap_take_rate();
		if (mw_prof_is_active() != wanted)
			return EFAULT;
	}
	call->value = before;
	return 0;
}

int mw_ctl_at_thread_prof_active(mw_ctl_call_t *call) {
	bool before = mw_prof_thread_is_active();
	if (call->writing)
		mw_prof_set_thread_active(call->value != 0);
	call->value = before;
	return 0;
}

int mw_ctl_at_thread_active_init(mw_ctl_call_t *call) {
	bool before = !atomic_load_explicit(&mw_prof_threads_start_inactive, memory_order_relaxed);
	if (call->writing)
		mw_prof_set_threads_start_active(call->value != 0);
	call->value = before;
	return 0;
}

static int set(mw_setting_t setting, uint64_t value) {
	return mw_prof_set(setting, value) == MW_OK ? 0 : EFAULT;
}

/* In jemalloc every new peak causes a dump, without a smallest step: dump_peak:1. */
int mw_ctl_at_prof_gdump(mw_ctl_call_t *call) {
	bool before = mw_triggers_value(MW_SETTING_dump_peak) != 0, wanted = call->value != 0;
	int result = 0;
	if (call->writing && wanted != before)
		result = set(MW_SETTING_dump_peak, wanted);
	call->value = before;
	return result;
}

int mw_ctl_at_prof_interval(mw_ctl_call_t *call) {
	call->value = mw_triggers_value(MW_SETTING_prof_interval);
	return 0;
}

int mw_ctl_at_prof_lg_sample(mw_ctl_call_t *call) {
	mw_prof_figures_t figures;
	mw_prof_figures(&figures);
	call->value = figures.mean_bytes ? mw_log2_floor(figures.mean_bytes) : 0;
	return 0;
}

int mw_ctl_at_prof_reset(mw_ctl_call_t *call) {
	if (call->writing) {
		uint64_t mean_bytes = call->value < 64 ? (uint64_t)1 << call->value : UINT64_MAX;
		if (mean_bytes > MW_STATE_MEAN_BYTES_MAX) /* the maximum of the option */
			mean_bytes = MW_STATE_MEAN_BYTES_MAX;
		if (mw_prof_set_mean_bytes(mean_bytes) != MW_OK)
			return EINVAL;
		mw_heap_take_rate();
	}
	mw_prof_reset();
	return 0;
}

static int name_by_prefix(const char *prefix) {
	const mw_options_t *options = mw_ctl_options();
	if (!options)
		return EFAULT;
	mw_dump_pattern_t pattern = mw_ctl_dump_pattern(options, prefix);
	return mw_prof_set_dump_name(pattern.text) == MW_OK ? 0 : EFAULT;
}

int mw_ctl_at_prof_prefix(mw_ctl_call_t *call) {
	const char *prefix = (const char *)(uintptr_t)call->value;
	if (!call->writing || !prefix)
		return EFAULT;
	mw_dump_set_prefix(prefix);
	return name_by_prefix(mw_dump_prefix());
}

static bool write_piece(void *file, const void *bytes, size_t length) {
	return mw_os_write(*(int *)file, bytes, length) == MW_OK;
}

/* An existing file of that name is overwritten, as in jemalloc. */
static int dump_to(const char *path) {
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_REPLACE);
	if (file < 0)
		return EFAULT;
	int result = mw_prof_dump_to(true, write_piece, &file);
	mw_os_close(file);
	if (result == MW_OK)
		mw_program_hook_dumped(path);
	return result == MW_OK ? 0 : EFAULT;
}

int mw_ctl_at_prof_dump(mw_ctl_call_t *call) {
	const char *path = call->writing ? (const char *)(uintptr_t)call->value : NULL;
	if (path)
		return dump_to(path);
	/* A name in mallow's pattern has another format than callers of this control expect. */
	if (!strstr(mw_triggers_name(), ".heap") && name_by_prefix(mw_dump_prefix()) != 0)
		return EFAULT;
	return mw_prof_dump(NULL) == MW_OK ? 0 : EFAULT;
}

/* mallow's own: a leak check, whose value is the bytes that leaked. */
int mw_ctl_at_prof_leak_check(mw_ctl_call_t *call) {
	return mw_api_leaked_bytes(&call->value);
}
