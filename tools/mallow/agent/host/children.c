/* SPDX-License-Identifier: MIT
 * children.c -- fork(2), the limit of time, the end. */
#include "agent/host/children.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does the work in the child, and never returns. */
static _Noreturn void run(mw_child_work_t *work, void *context, int words, pid_t agent,
			  const sigset_t *mask) {
	static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The agent may have ended before the line above. */
	if (getppid() != agent)
		_exit(1);
	setpgid(0, 0);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], SIG_DFL);
	if (words >= 0) {
		dup2(words, STDERR_FILENO);
		dup2(words, STDOUT_FILENO);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	int status = work(context);
	fflush(NULL);
	_exit(status);
}

static int start(mw_child_t *out, mw_child_work_t *work, void *context, const sigset_t *mask,
		 mw_error_t *error) {
	pid_t agent = getpid();
	fflush(NULL);
	out->pid = fork();
	if (out->pid == 0)
		run(work, context, out->words, agent, mask);
	if (out->pid > 0) {
		/* Whoever comes first: a child that is killed at once has its group. */
		setpgid(out->pid, out->pid);
		return 0;
	}
	out->pid = 0;
	return mw_error_set(error, "cannot start a process: %s", strerror(errno));
}

int mw_child_start(mw_child_t *out, mw_child_work_t *work, void *context, uint64_t until_ns,
		   const sigset_t *mask, mw_error_t *error) {
	*out = (mw_child_t){.until_ns = until_ns,
			    .words = memfd_create("mallow-agent-words", MFD_CLOEXEC)};
	if (out->words < 0)
		return mw_error_set(error, "no file in memory: %s", strerror(errno));
	/* Parts of lines of several writers are appended. */
	fcntl(out->words, F_SETFL, O_APPEND);
	if (start(out, work, context, mask, error) == 0)
		return 0;
	close(out->words);
	out->words = -1;
	return -1;
}

int mw_child_start_open(mw_child_t *out, mw_child_work_t *work, void *context, const sigset_t *mask,
			mw_error_t *error) {
	*out = (mw_child_t){.until_ns = UINT64_MAX, .words = -1};
	return start(out, work, context, mask, error);
}

static uint64_t nanoseconds_of(const struct timeval *time) {
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void take_words(mw_child_t *child, mw_child_end_t *end) {
	ssize_t got =
		child->words >= 0 ? pread(child->words, end->words, sizeof(end->words) - 1, 0) : 0;
	end->words[got > 0 ? got : 0] = '\0';
	if (child->words >= 0)
		close(child->words);
}

bool mw_child_has_ended(mw_child_t *child, uint64_t now_ns, mw_child_end_t *end) {
	int status;
	struct rusage used;
	if (child->pid == 0)
		return false;
	pid_t ended = wait4(child->pid, &status, WNOHANG, &used);
	if (ended == 0 || (ended < 0 && errno == EINTR)) {
		if (now_ns >= child->until_ns && !child->is_late) {
			child->is_late = true;
			kill(-child->pid, SIGKILL);
		}
		return false;
	}
	/* The child may have started processes and left them: they are in its group. */
	kill(-child->pid, SIGKILL);
	*end = (mw_child_end_t){.has_exited = ended > 0 && WIFEXITED(status),
				.is_late = child->is_late};
	if (ended > 0) {
		end->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
		end->cpu_ns = nanoseconds_of(&used.ru_utime) + nanoseconds_of(&used.ru_stime);
	}
	take_words(child, end);
	*child = (mw_child_t){.words = -1};
	return true;
}

void mw_child_kill(mw_child_t *child) {
	if (child->pid == 0)
		return;
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (child->words >= 0)
		close(child->words);
	*child = (mw_child_t){.words = -1};
}
