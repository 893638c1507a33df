/* SPDX-License-Identifier: MIT
 * cpu_file.c -- writes a CPU profile, from signal handlers, too. */
#include "compat/gperftools/cpu/cpu_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/put.h"
#include "compat/gperftools/cpu/cpu_stacks.h"

/* Small, as an alternate signal stack may have 8 KiB. */
#define BUFFER_BYTES 2048u
#define VERSION 3u

typedef struct out {
	int file;
	int error; /* errno of the first failure; 0: none */
	size_t length, written;
	uint64_t limit; /* RLIMIT_FSIZE, whose signal ends a program */
	_Alignas(8) char bytes[BUFFER_BYTES];
} out_t;

static void flush(out_t *out) {
	size_t done = 0;
	if (out->error == 0 && out->written + out->length > out->limit)
		out->error = EFBIG;
	while (done < out->length && out->error == 0) {
		long count = mw_put(out->file, out->bytes + done, out->length - done);
		if (count > 0)
			done += (size_t)count;
		else if (errno != EINTR)
			out->error = errno;
	}
	out->written += done;
	out->length = 0;
}

static void put_word(out_t *out, uint64_t value) {
	uintptr_t word = (uintptr_t)value;
	if (out->length + sizeof word > BUFFER_BYTES)
		flush(out);
	memcpy(out->bytes + out->length, &word, sizeof word);
	out->length += sizeof word;
}

/* Readers take an address of 0 for the end of the profile. */
static void put_stack(void *context, const uint64_t *pcs, unsigned depth, uint64_t samples) {
	out_t *out = context;
	if (depth == 0 || pcs[0] == 0)
		return;
	put_word(out, samples);
	put_word(out, depth);
	for (unsigned i = 0; i < depth; i++)
		put_word(out, pcs[i]);
}

static void put_mappings(out_t *out) {
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return;
	ssize_t length;
	while ((length = read(maps, out->bytes, BUFFER_BYTES)) > 0) {
		out->length = (size_t)length;
		flush(out);
	}
	close(maps);
}

size_t mw_gpc_file_write(const char *path, uint64_t period_us) {
	int saved_errno = errno;
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	getrlimit(RLIMIT_FSIZE, &limit);
	out_t out = {.file = mw_put_open(path, false, 0666), .limit = limit.rlim_cur};
	if (out.file < 0) {
		mw_warn("CPU profile %.400s: it cannot be written (errno %d)", path, errno);
		errno = saved_errno;
		return 0;
	}
	const uint64_t header[] = {0, VERSION, 0, period_us, 0}, trailer[] = {0, 1, 0};
	for (size_t i = 0; i < sizeof header / sizeof header[0]; i++)
		put_word(&out, header[i]);
	mw_gpc_stacks_visit(put_stack, &out);
	for (size_t i = 0; i < sizeof trailer / sizeof trailer[0]; i++)
		put_word(&out, trailer[i]);
	flush(&out);
	size_t bytes = out.written;
	put_mappings(&out);
	struct stat status;
	bool is_regular = mw_put_stat(out.file, &status) && S_ISREG(status.st_mode);
	int error = out.error;
	if (close(out.file) != 0 && error == 0)
		error = errno;
	if (error != 0) {
		mw_warn("CPU profile %.400s: it cannot be written (errno %d)", path, error);
		if (is_regular)
			unlink(path);
	}
	errno = saved_errno;
	return error == 0 ? bytes : 0;
}
