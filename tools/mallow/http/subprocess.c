/* SPDX-License-Identifier: MIT
 * subprocess.c -- runs this program again, with its output in a file in memory. */
#include "http/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Enough for the pages of a few people on a few processors. */
#define QUICK_MAX 16u
#define LONG_MAX 16u
#define RUNNING_MAX (QUICK_MAX + LONG_MAX)
/* Requests that wait for a place, and how long. */
#define WAITING_MAX 64u
#define PLACE_SECONDS 10u
/* A wait looks this often whether its reason has gone. */
#define LOOK_MS 100
/* A command that is told to end stops the sampling that it began. */
#define END_MS 5000
#define MESSAGE_BYTES 1024

extern char **environ;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changes; /* a place is free, or the server ends */
	bool is_ending;
	unsigned quick_count, long_count, waiting_count;
	pid_t pids[RUNNING_MAX]; /* leaders of process groups; 0: unused */
} running = {.lock = PTHREAD_MUTEX_INITIALIZER, .changes = PTHREAD_COND_INITIALIZER};

int mw_http_memory_file(const char *bytes, size_t length, mw_error_t *error) {
	int fd = memfd_create("mallow", MFD_CLOEXEC);
	bool good = fd >= 0;
	for (size_t done = 0; good && done < length;) {
		ssize_t count = write(fd, bytes + done, length - done);
		good = count > 0;
		done += good ? (size_t)count : 0;
	}
	if (good && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	mw_error_set(error, "no memory for a file: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int spawn(const mw_http_command_t *command, int output, int messages, pid_t *pid) {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int input = command->input >= 0 ? command->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	/* The server blocks the signals that end it; the command must not. */
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	/* Programs that the command starts end with it. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	/* posix_spawn() does not change the words. */
	int failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes,
				 (char *const *)(uintptr_t)command->words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (command->input < 0)
		close(input);
	return failed;
}

/* ---- places ---- */

static uint64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Whether the client has closed its connection, or its half of it.  What it has sent and nobody
 * reads, does not hide this. */
static bool has_gone(int client) {
	struct pollfd end = {.fd = client, .events = POLLRDHUP};
	return poll(&end, 1, 0) > 0;
}

/* With the lock. */
static void wait_for_change(void) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_cond_timedwait(&running.changes, &running.lock, &until);
}

static bool is_free(bool is_long) {
	return is_long ? running.long_count < LONG_MAX : running.quick_count < QUICK_MAX;
}

/* With the lock.  Returns whether there is a place now. */
static bool await_place(bool is_long, int client) {
	uint64_t end_ms = now_ms() + PLACE_SECONDS * 1000u;
	if (is_long || running.waiting_count >= WAITING_MAX)
		return is_free(is_long);
	running.waiting_count++;
	while (!is_free(is_long) && !running.is_ending && now_ms() < end_ms && !has_gone(client))
		wait_for_change();
	running.waiting_count--;
	return is_free(is_long);
}

static int take_place(bool is_long, int client, mw_error_t *error) {
	int result = 0;
	pthread_mutex_lock(&running.lock);
	if (!await_place(is_long, client)) {
		mw_error_set(
			error,
			"busy: %u %s run at once, which is the most; try again in some seconds",
			is_long ? LONG_MAX : QUICK_MAX,
			is_long ? "requests that take a given time" : "requests");
		result = MW_HTTP_BUSY;
	} else if (is_long) {
		running.long_count++;
	} else {
		running.quick_count++;
	}
	pthread_mutex_unlock(&running.lock);
	return result;
}

static void leave_place(bool is_long) {
	pthread_mutex_lock(&running.lock);
	if (is_long)
		running.long_count--;
	else
		running.quick_count--;
	pthread_cond_broadcast(&running.changes);
	pthread_mutex_unlock(&running.lock);
}

/* ---- one command ---- */

/* Starts the command and notes its pid.  Returns its index, or -1. */
static int begin(const mw_http_command_t *command, int output, int messages, mw_error_t *error) {
	int index = 0, failed = ECANCELED;
	pthread_mutex_lock(&running.lock);
	while (running.pids[index] != 0) /* who has a place finds one */
		index++;
	if (!running.is_ending)
		failed = spawn(command, output, messages, &running.pids[index]);
	if (failed != 0)
		running.pids[index] = 0;
	pthread_mutex_unlock(&running.lock);
	if (failed == 0)
		return index;
	mw_error_set(error, "cannot run mallow: %s", strerror(failed));
	return -1;
}

static bool has_ended(pid_t pid) {
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno != EINTR
										 : info.si_pid != 0;
}

/* Waits until the process ends, and ends it when the client has gone.  Until the pid is forgotten
 * the process is a zombie, so that neither pid nor group is another's. */
static void watch(pid_t pid, int client) {
	/* Kernels before 5.3 have no such descriptors: the process is looked at now and then. */
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t kill_ms = 0;
	while (!has_ended(pid)) {
		struct pollfd ends[] = {{.fd = process, .events = POLLIN},
					{.fd = kill_ms == 0 ? client : -1, .events = POLLRDHUP}};
		poll(ends, 2, process >= 0 && kill_ms == 0 ? -1 : LOOK_MS);
		if (ends[1].revents != 0) {
			kill(-pid, SIGTERM);
			kill_ms = now_ms() + END_MS;
		} else if (kill_ms != 0 && now_ms() > kill_ms) {
			kill(-pid, SIGKILL);
		}
	}
	if (kill_ms != 0)
		kill(-pid, SIGKILL); /* what it started */
	if (process >= 0)
		close(process);
}

static int await(int index, int client) {
	int status = 0;
	watch(running.pids[index], client);
	pthread_mutex_lock(&running.lock);
	waitpid(running.pids[index], &status, 0);
	running.pids[index] = 0;
	pthread_mutex_unlock(&running.lock);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The command's last line says what failed. */
static void take_message(int messages, int status, mw_error_t *error) {
	char text[MESSAGE_BYTES];
	off_t end = lseek(messages, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t length = pread(messages, text, sizeof(text) - 1, from);
	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (length <= 0) {
		mw_error_set(error, "mallow ended with status %d", status);
		return;
	}
	text[length] = '\0';
	const char *line = strrchr(text, '\n');
	mw_error_set(error, "%s", line != NULL ? line + 1 : text);
}

static int run(int client, const mw_http_command_t *command, mw_error_t *error) {
	int output = mw_http_memory_file("", 0, error);
	int messages = output >= 0 ? mw_http_memory_file("", 0, error) : -1;
	int index = messages >= 0 ? begin(command, output, messages, error) : -1;
	int status = index >= 0 ? await(index, client) : -1;
	if (status > 1) /* 1 is a finding */
		take_message(messages, status, error);
	if (messages >= 0)
		close(messages);
	if (status >= 0 && status <= 1 && lseek(output, 0, SEEK_SET) == 0)
		return output;
	if (output >= 0)
		close(output);
	return -1;
}

int mw_http_run(const mw_http_request_t *request, const mw_http_command_t *command,
		mw_error_t *error) {
	int result = take_place(command->is_long, request->client, error);
	if (result != 0)
		return result;
	result = run(request->client, command, error);
	leave_place(command->is_long);
	return result;
}

int mw_http_wait(const mw_http_request_t *request, unsigned seconds, mw_error_t *error) {
	int result = take_place(true, request->client, error);
	if (result != 0)
		return result;
	uint64_t end_ms = now_ms() + seconds * UINT64_C(1000);
	pthread_mutex_lock(&running.lock);
	while (result == 0 && now_ms() < end_ms) {
		wait_for_change();
		if (running.is_ending || has_gone(request->client))
			result = mw_error_set(error, "the request has ended");
	}
	pthread_mutex_unlock(&running.lock);
	leave_place(true);
	return result;
}

void mw_http_end_commands(void) {
	pthread_mutex_lock(&running.lock);
	running.is_ending = true;
	pthread_cond_broadcast(&running.changes);
	for (unsigned i = 0; i < RUNNING_MAX; i++)
		if (running.pids[i] != 0)
			kill(-running.pids[i], SIGTERM);
	pthread_mutex_unlock(&running.lock);
}
