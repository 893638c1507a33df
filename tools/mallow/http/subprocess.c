/* SPDX-License-Identifier: MIT
 * subprocess.c -- runs this program again, with its output in a file in memory. */
#include "http/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNNING_MAX 128
#define MESSAGE_BYTES 1024

extern char **environ;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool is_ending;
	pid_t pids[RUNNING_MAX]; /* 0: unused */
} running = {.lock = PTHREAD_MUTEX_INITIALIZER, .ends = PTHREAD_COND_INITIALIZER};

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
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	/* posix_spawn() does not change the words. */
	int failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes,
				 (char *const *)(uintptr_t)command->words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (command->input < 0)
		close(input);
	return failed;
}

/* Starts the command and notes its pid.  Returns its place, or -1. */
static int begin(const mw_http_command_t *command, int output, int messages, mw_error_t *error) {
	int place = 0, failed = EAGAIN;
	pthread_mutex_lock(&running.lock);
	while (place < RUNNING_MAX && running.pids[place] != 0)
		place++;
	if (place < RUNNING_MAX && !running.is_ending)
		failed = spawn(command, output, messages, &running.pids[place]);
	if (failed != 0 && place < RUNNING_MAX)
		running.pids[place] = 0;
	pthread_mutex_unlock(&running.lock);
	if (failed == 0)
		return place;
	mw_error_set(error, "cannot run mallow: %s", strerror(failed));
	return -1;
}

/* Waits.  Until the pid is forgotten the process is a zombie, so that the pid is not another's. */
static int await(int place) {
	siginfo_t info;
	int status = 0;
	while (waitid(P_PID, (id_t)running.pids[place], &info, WEXITED | WNOWAIT) != 0 &&
	       errno == EINTR)
		;
	pthread_mutex_lock(&running.lock);
	waitpid(running.pids[place], &status, 0);
	running.pids[place] = 0;
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

int mw_http_run(const mw_http_command_t *command, mw_error_t *error) {
	int output = mw_http_memory_file("", 0, error);
	int messages = output >= 0 ? mw_http_memory_file("", 0, error) : -1;
	int place = messages >= 0 ? begin(command, output, messages, error) : -1;
	int status = place >= 0 ? await(place) : -1;
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

void mw_http_wait(unsigned seconds) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&running.lock);
	while (!running.is_ending &&
	       pthread_cond_timedwait(&running.ends, &running.lock, &until) == 0)
		;
	pthread_mutex_unlock(&running.lock);
}

void mw_http_end_commands(void) {
	pthread_mutex_lock(&running.lock);
	running.is_ending = true;
	pthread_cond_broadcast(&running.ends);
	for (int i = 0; i < RUNNING_MAX; i++)
		if (running.pids[i] != 0)
			kill(running.pids[i], SIGTERM);
	pthread_mutex_unlock(&running.lock);
}
