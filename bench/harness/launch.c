/* SPDX-License-Identifier: MIT
 * launch.c REPORT COMMAND [ARGUMENT...] -- runs the command with BENCH_PRELOAD as its LD_PRELOAD
 * and writes what it took to the file REPORT: one line of wall ns, user us, system us, peak
 * resident KiB, minor faults, exit status.
 *
 * A program of its own because the peak a kernel reports for a child starts at that of the process
 * which forked it: a Python parent would hide everything below its own 10 MiB. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static long microseconds(struct timeval time) {
	return (long)time.tv_sec * 1000000 + (long)time.tv_usec;
}

int main(int argc, char **argv) {
	if (argc < 3) {
		fprintf(stderr, "usage: launch REPORT COMMAND [ARGUMENT...]\n");
		return 2;
	}
	const char *preload = getenv("BENCH_PRELOAD");
	int64_t start_ns = now_ns();
	pid_t child = fork();
	if (child == 0) {
		/* The harness may be stopped: its programs end with it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (preload && preload[0])
			setenv("LD_PRELOAD", preload, 1);
		unsetenv("BENCH_PRELOAD");
		execvp(argv[2], argv + 2);
		fprintf(stderr, "launch: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	int status = 0;
	struct rusage usage;
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("launch");
		return 2;
	}
	int64_t wall_ns = now_ns() - start_ns;
	FILE *report = fopen(argv[1], "w");
	if (!report) {
		perror(argv[1]);
		return 2;
	}
	int result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(report, "%lld %ld %ld %ld %ld %d\n", (long long)wall_ns,
		microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss,
		usage.ru_minflt, result);
	return fclose(report) == 0 ? 0 : 2;
}
