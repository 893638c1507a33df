/* SPDX-License-Identifier: MIT
 * mallow.c -- the functions of <mallow/mallow.h>. */
#include <mallow/mallow.h>

#include <errno.h>
#include <string.h>

#include "api/process/start.h"
#include "base/libc_text.h"
#include "config/options.h"
#include "heap/thread/thread.h"
#include "os/file/proc.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "state/settings.h"

static int error_of(int result) {
	switch (result) {
	case MW_OK:
		return 0;
	case MW_ERR_NO_MEMORY:
		return ENOSPC;
	case MW_ERR_FORBIDDEN:
		return EACCES;
	case MW_ERR_BAD_VALUE:
		return EINVAL;
	case MW_ERR_UNSUPPORTED:
		return ENOSYS;
	case MW_ERR_NOT_FOUND:
		return ENOENT;
	case MW_ERR_IO:
		return EIO;
	default:
		return EBUSY;
	}
}

/* A program may call a function of <mallow/mallow.h> before its first malloc. */
static void ensure_started(void) {
	if (!mw_api_started)
		mw_api_start();
}

const char *mallow_version(void) {
	return MALLOW_VERSION;
}

static int set_active(bool active) {
	ensure_started();
	mw_prof_set_active(active);
	mw_heap_take_rate();
	if (mw_prof_is_active() == active)
		return 0;
	return mw_prof_is_secure() ? EPERM : ENOMEM;
}

int mallow_start(void) {
	return set_active(true);
}

int mallow_stop(void) {
	return set_active(false);
}

int mallow_reset(void) {
	ensure_started();
	mw_prof_reset();
	return 0;
}

static int set_setting(const char *option, uint64_t value) {
	static const char *const names[MW_SETTING_COUNT] = {
#define MW_SETTING(name, kind, standard, min, max, unit, help) #name,
#include "state/settings.def"
#undef MW_SETTING
	};
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (mw_strcmp(names[i], option) == 0)
			return error_of(mw_prof_set((mw_setting_t)i, value));
	return ENOENT;
}

int mallow_set(const char *option, const char *value) {
	ensure_started();
	if (mw_strcmp(option, "dump_name") == 0)
		return error_of(mw_prof_set_dump_name(value));
	int64_t number;
	mw_result_t result = mw_ctl_parse(option, value, &number);
	if (result != MW_OK)
		return error_of(result);
	if (mw_strcmp(option, "prof_active") == 0)
		return set_active(number != 0);
	if (mw_strcmp(option, "prof_sample") == 0) {
		result = mw_prof_set_mean_bytes((uint64_t)number);
		mw_heap_take_rate();
		return error_of(result);
	}
	return set_setting(option, (uint64_t)number);
}

int mallow_dump(const char *path) {
	ensure_started();
	return error_of(mw_prof_dump(path));
}

typedef struct callback {
	mallow_write_t write;
	void *context;
} callback_t;

static bool call_back(void *context, const void *bytes, size_t length) {
	const callback_t *callback = context;
	return callback->write(callback->context, bytes, length) == 0;
}

int mallow_dump_to(mallow_format_t format, mallow_write_t write, void *context) {
	ensure_started();
	if (!write || (format != MALLOW_PROTO && format != MALLOW_HEAP_V2))
		return EINVAL;
	callback_t callback = {.write = write, .context = context};
	return error_of(mw_prof_dump_to(format == MALLOW_HEAP_V2, call_back, &callback));
}

int mallow_status(mallow_status_t *status) {
	ensure_started();
	/* Every version has the fields of the first version of the structure. */
	if (status->size < sizeof *status)
		return EINVAL;
	mw_prof_figures_t figures;
	mw_prof_figures(&figures);
	size_t size = status->size;
	*status = (mallow_status_t){
		.size = size,
		.active = figures.active,
		.mean_bytes = figures.mean_bytes,
		.samples = figures.samples,
		.live_bytes = figures.live_bytes,
		.live_objects = figures.live_objects_q16 / 65536,
		.allocated_bytes = figures.alloc_bytes,
		.allocated_objects = figures.alloc_objects_q16 / 65536,
		.dumps_written = figures.dumps_written,
		.dumps_failed = figures.dumps_failed,
	};
	return 0;
}

int mallow_thread_name(const char *name) {
	ensure_started();
	mw_prof_set_thread_name(name);
	return 0;
}

void mallow_ignore_begin(void) {
	mw_prof_ignoring++;
}

void mallow_ignore_end(void) {
	mw_prof_ignoring -= mw_prof_ignoring > 0;
}
