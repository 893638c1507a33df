/* SPDX-License-Identifier: MIT
 * settings_of_program.c -- what the program itself switches and sets. Few programs do: a file of
 * its own. */
#include "prof/control/control.h"
#include "prof/control/requests.h"
#include "prof/control/triggers.h"
#include "prof/store/store.h"

void mw_control_set_active(bool active) {
	mw_control_acquire();
	mw_requests_stand_active(active && !mw_control_is_secure());
	mw_control_apply_active(active && !mw_control_is_secure());
	if (mw_control_has_tables())
		mw_requests_show_leases();
	mw_control_release();
}

mw_result_t mw_control_set_mean(uint64_t mean_bytes) {
	if (mean_bytes < 1 || mean_bytes > MW_STATE_MEAN_BYTES_MAX)
		return MW_ERR_BAD_VALUE;
	mw_control_acquire();
	mw_control_apply_mean(mean_bytes);
	mw_control_release();
	return MW_OK;
}

static mw_result_t finish_setting(bool done) {
	if (done && mw_control_has_tables())
		mw_triggers_show();
	mw_control_release();
	return done ? MW_OK : MW_ERR_BAD_VALUE;
}

mw_result_t mw_control_set(mw_setting_t setting, uint64_t value) {
	mw_control_acquire();
	return finish_setting(mw_triggers_set(setting, value));
}

mw_result_t mw_control_set_dump_name(const char *pattern) {
	mw_control_acquire();
	return finish_setting(mw_triggers_set_name(pattern));
}

void mw_control_reset(void) {
	if (!mw_control_need_tables())
		return;
	mw_control_acquire();
	mw_control_apply_reset(mw_store_live()->resets_done);
	mw_control_release();
}

void mw_control_set_cpu(uint32_t hz) {
	if (!mw_cpu_rate_is_valid(hz) || !mw_control_need_tables())
		return;
	mw_control_acquire();
	mw_requests_stand_cpu(hz);
	mw_control_cpu_follow();
	mw_requests_show_leases();
	mw_control_release();
}
