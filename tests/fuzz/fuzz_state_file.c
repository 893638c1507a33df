/* SPDX-License-Identifier: MIT
 * fuzz_state_file.c -- libFuzzer target: any bytes as a state file, read and made a profile of. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/state/state_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	static int fd = -1;
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
		return 0;
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (mw_snapshot_read_fd(fd, "fuzz", MW_SNAPSHOT_ALL, &snapshot, &error) != 0)
		return 0;
	mw_profile_free(mw_profile_from_snapshot(snapshot));
	mw_snapshot_free(snapshot);
	return 0;
}
