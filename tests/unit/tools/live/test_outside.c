/* SPDX-License-Identifier: MIT
 * test_outside.c -- samples a child from outside by both ways in which returns are probed: where
 * the kernel has sessions, the way of older kernels would not be used otherwise. */
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/outside/outside.h"
#include "live/process/process.h"
#include "test.h"

enum { BLOCKS = 60 };

static int begin_pipe[2];

/* In the process that samples. */
static void begun(int pid) {
	(void)pid;
	CHECK_EQ(write(begin_pipe[1], "", 1), 1);
}

/* Allocates when it is told to, and then has the sampling end.  Half of the blocks stay. */
static void child(int stop_fd) {
	static void *volatile blocks[BLOCKS];
	uint64_t one = 1;
	char byte;
	if (read(begin_pipe[0], &byte, 1) != 1)
		_exit(1);
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(1000 + i);
		if (i % 3 == 0)
			blocks[i] = realloc(blocks[i], 2000 + i);
		if (i % 2 == 0)
			free(blocks[i]);
	}
	if (write(stop_fd, &one, sizeof(one)) < 0)
		_exit(1);
	pause();
	_exit(0);
}

static void sums_are_exact(bool has_return_probes) {
	int stop_fd = eventfd(0, EFD_CLOEXEC);
	double allocated = 0, live = 0, got_allocated = 0, got_live = 0;
	mw_outside_result_t result;
	mw_process_t process;
	mw_error_t error;
	CHECK(stop_fd >= 0);
	CHECK_EQ(pipe(begin_pipe), 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		child(stop_fd);
	CHECK(mw_process_read(pid, &process));
	const mw_outside_options_t options = {
		.pid = pid,
		.start_ticks = process.start_ticks,
		.mean_bytes = 1,
		.seconds = 100,
		.is_forced = true,
		.has_return_probes = has_return_probes,
		.stop_fd = stop_fd,
		.begun = begun,
	};
	int status = mw_outside_run(&options, &result, &error);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(begin_pipe[0]);
	close(begin_pipe[1]);
	close(stop_fd);
	if (status != 0 && (strstr(error.text, "CAP_") != NULL || strstr(error.text, "x86-64") ||
			    strstr(error.text, "CONFIG_") != NULL)) {
		printf("skipped: %s\n", error.text);
		return;
	}
	if (status != 0)
		fprintf(stderr, "%s\n", error.text);
	CHECK_EQ(status, 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		double size = (double)(i % 3 == 0 ? 2000 + i : 1000 + i);
		allocated += i % 3 == 0 ? size + 1000 + (double)i : size;
		live += i % 2 == 0 ? 0 : size;
	}
	for (size_t i = 0; i < result.stack_count; i++) {
		got_allocated += result.stacks[i].allocated.bytes;
		got_live += result.stacks[i].live.bytes;
	}
	CHECK_EQ(result.end, MW_OUTSIDE_INTERRUPTED);
	CHECK_EQ(result.lost, 0);
	CHECK_NEAR(got_allocated, allocated, 0.5);
	CHECK_NEAR(got_live, live, 0.5);
	mw_outside_result_release(&result);
}

static void sums_by_sessions(void) {
	sums_are_exact(false);
}

static void sums_by_probes_at_each_return(void) {
	sums_are_exact(true);
}

int main(void) {
	/* A sanitizer's malloc is in this program, with a stack of its own for each call. */
	if (TEST_UNDER_SANITIZER) {
		printf("skipped: the allocator is the sanitizer's\n");
		return 0;
	}
	RUN(sums_by_sessions);
	RUN(sums_by_probes_at_each_return);
	return 0;
}
