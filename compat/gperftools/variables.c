/* SPDX-License-Identifier: MIT
 * variables.c -- messages, variables as values, and paths that variables hold. */
#include "compat/gperftools/variables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/put.h"
#include "os/platform/secure_environment.h"

#define LINE_BYTES 512
#define NAME_BYTES 64

void mw_gp_log(int level, const char *format, ...) {
	static _Atomic int verbosity = INT32_MIN;
	if (verbosity == INT32_MIN)
		verbosity = (int)mw_gp_number_from("PERFTOOLS_VERBOSE", 0, -100, 100);
	if (level > verbosity)
		return;
	int saved_errno = errno;
	char line[LINE_BYTES];
	va_list args;
	va_start(args, format);
	size_t length = mw_vfmt(line, sizeof line - 1, format, args);
	va_end(args);
	if (length > sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	mw_put(2, line, length);
	errno = saved_errno;
}

int64_t mw_gp_number_from(const char *variable, int64_t standard, int64_t min, int64_t max) {
	const char *text = mw_environment(variable);
	if (!text || !*text)
		return standard;
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno == 0 && *end == '\0' && value >= min && value <= max)
		return value;
	mw_warn("%s: '%.100s' is not a whole number from %ld to %ld; %ld is used", variable, text,
		(long)min, (long)max, (long)standard);
	return standard;
}

bool mw_gp_flag_from(const char *variable, bool standard) {
	const char *text = mw_environment(variable);
	return text ? strchr("tTyY1", *text) != NULL : standard;
}

bool mw_gp_is_secure(void) {
	return mw_environment_is_secure() || getuid() != geteuid();
}

static bool fits(size_t length) {
	return length < PATH_MAX;
}

/* The rank of an MPI program's process, or of a job of SLURM. */
static bool append_rank(char *path, const char *base) {
	const char *rank = mw_environment("PMIX_RANK");
	if (!rank)
		rank = mw_environment("PMI_RANK");
	const char *job = mw_environment("SLURM_JOB_ID"), *task = mw_environment("SLURM_PROCID");
	if (rank && *rank)
		return fits(mw_fmt(path, PATH_MAX, "%s.rank-%s", base, rank));
	if (job && *job && task && *task)
		return fits(mw_fmt(path, PATH_MAX, "%s.slurmid-%s", base, task));
	return false;
}

bool mw_gp_path_from(const char *variable, char path[PATH_MAX]) {
	char use_pid[NAME_BYTES];
	const char *base = mw_environment(variable);
	if (!base || !*base)
		return false;
	if (!fits(mw_fmt(path, PATH_MAX, "%s", base))) {
		mw_gp_log(-2, "%s has more than %d characters; ignored", variable, PATH_MAX - 1);
		return false;
	}
	if (append_rank(path, base))
		return true;
	mw_fmt(use_pid, sizeof use_pid, "%s_USE_PID", variable);
	if (mw_gp_flag_from(use_pid, false) || mw_environment("OMPI_HOME"))
		mw_gp_path_of_child(path);
	/* A program that this process or its child executes must not write the same names. */
	setenv(use_pid, "1", 0);
	return true;
}

void mw_gp_path_of_child(char path[PATH_MAX]) {
	size_t length = strlen(path);
	mw_fmt(path + length, PATH_MAX - length, "_%u", (unsigned)getpid());
}
