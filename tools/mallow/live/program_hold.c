/* SPDX-License-Identifier: MIT
 * program_hold.c -- keeps the state file open, and the process by its pidfd. */
#include "live/program_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "live/process/process.h"

int mw_program_hold(const mw_target_t *target, mw_program_hold_t *out, mw_error_t *error) {
	struct stat info;
	*out = (mw_program_hold_t){.fd = mw_target_open(target, O_RDONLY)};
	if (out->fd < 0 || fstat(out->fd, &info) != 0)
		return mw_error_set(error, "%s: cannot open: %s", target->path, strerror(errno));
	if (mw_target_process(target) <= 0)
		return 0;
	const mw_process_key_t key = {.pid = target->pid,
				      .start_ticks = target->start_ticks,
				      .device = info.st_dev,
				      .inode = info.st_ino};
	out->is_seen = mw_reach_open(&key, &out->reach, error) == 0;
	return out->is_seen ? 0 : -1;
}

void mw_program_hold_release(mw_program_hold_t *hold) {
	if (hold->is_seen)
		mw_reach_close(&hold->reach);
	if (hold->fd >= 0)
		close(hold->fd);
	*hold = (mw_program_hold_t){.fd = -1};
}

bool mw_program_goes_on(const mw_program_hold_t *hold) {
	return hold->is_seen ? mw_reach_holds(&hold->reach) : mw_state_file_is_held(hold->fd);
}

const char *mw_program_end(const mw_program_hold_t *hold) {
	return hold->is_seen ? mw_process_end(hold->reach.key.pid, hold->reach.key.start_ticks)
			     : "ended";
}
