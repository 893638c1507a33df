/* SPDX-License-Identifier: MIT
 * launch.c -- forks, executes the program, forwards signals, and waits. */
#include "live/process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/process/process.h"
#include "model/monotonic.h"

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { FORWARDED_COUNT = sizeof(forwarded) / sizeof(forwarded[0]) };

/* Signal dispositions and mask of the caller, which the program gets. */
typedef struct signal_state {
	struct sigaction forwarded[FORWARDED_COUNT];
	struct sigaction child;
	sigset_t mask;
} signal_state_t;

/* Pid that signals are forwarded to; 0 = none.  Written while the signals are blocked. */
static volatile sig_atomic_t child_pid;

static void send_on(int signal_number, siginfo_t *info, void *context) {
	(void)context;
	int saved_errno = errno;
	/* A signal from the kernel (the terminal) also reached the child.  A signal from the
	 * child went to its process group, which includes the child. */
	if (child_pid != 0 && info->si_code <= 0 && info->si_pid != child_pid)
		kill(child_pid, signal_number);
	errno = saved_errno;
}

/* Installs handlers for the signals that are not ignored.  All of them are blocked afterwards. */
static void install_signals(signal_state_t *before) {
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before->mask);
	struct sigaction action = {.sa_sigaction = send_on, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < FORWARDED_COUNT; i++) {
		sigaction(forwarded[i], NULL, &before->forwarded[i]);
		if (before->forwarded[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
	}
	/* If SIGCHLD were ignored, the kernel would discard the child's status. */
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigaction(SIGCHLD, &plain, &before->child);
}

static void restore_signals(const signal_state_t *before) {
	for (int i = 0; i < FORWARDED_COUNT; i++)
		sigaction(forwarded[i], &before->forwarded[i], NULL);
	sigaction(SIGCHLD, &before->child, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static _Noreturn void become(char **argv, int report_fd, const signal_state_t *before) {
	restore_signals(before);
	execvp(argv[0], argv);
	int why = errno;
	/* The pipe closes when exec succeeds.  Four bytes fit into any pipe. */
	ssize_t wrote = write(report_fd, &why, sizeof(why));
	_exit(wrote == sizeof(why) ? 126 : 125);
}

/* Returns errno of a failed exec, or 0. */
static int read_exec_errno(int report_fd) {
	int why = 0;
	ssize_t got;
	do {
		got = read(report_fd, &why, sizeof(why));
	} while (got < 0 && errno == EINTR);
	return got == sizeof(why) ? why : 0;
}

/* True when the child has ended.  It stays a zombie, so that its pid is not reused while signals
 * may be forwarded to it. */
static bool has_ended(int pid) {
	siginfo_t info = {.si_pid = 0};
	int result = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG);
	return result == 0 ? info.si_pid == pid : errno != EINTR;
}

/* SIGCHLD is blocked, so a signal that came before the wait ends it at once. */
static void wait_end(mw_launch_t *out, const mw_launch_tick_t *tick) {
	sigset_t child_ended, all, before;
	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	uint32_t pause_ns = MW_LAUNCH_TICK_FIRST_NS;
	while (!has_ended(out->pid)) {
		struct timespec pause = {
			.tv_sec = pause_ns / 1000000000u,
			.tv_nsec = pause_ns % 1000000000u,
		};
		if (sigtimedwait(&child_ended, NULL, &pause) >= 0 || errno != EAGAIN)
			continue;
		tick->call(tick->context, out->pid);
		if (pause_ns < MW_LAUNCH_TICK_LAST_NS)
			pause_ns *= 2;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child_pid = 0;
	while (waitpid(out->pid, &out->wait_status, 0) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int mw_launch(char **argv, const mw_launch_tick_t *tick, mw_launch_t *out, mw_error_t *error) {
	int report[2];
	*out = (mw_launch_t){0};
	if (pipe2(report, O_CLOEXEC) != 0)
		return mw_error_set(error, "%s: cannot start: %s", argv[0], strerror(errno));
	signal_state_t before;
	install_signals(&before);
	uint64_t started_ns = mw_monotonic_ns();
	pid_t pid = fork();
	if (pid == 0)
		become(argv, report[1], &before);
	int fork_errno = errno;
	close(report[1]);
	if (pid > 0) {
		mw_process_t process;
		sigset_t waiting = before.mask;
		sigaddset(&waiting, SIGCHLD);
		child_pid = pid;
		sigprocmask(SIG_SETMASK, &waiting, NULL);
		out->pid = pid;
		out->exec_errno = read_exec_errno(report[0]);
		if (mw_process_read(pid, &process))
			out->start_ticks = process.start_ticks;
		wait_end(out, tick);
		out->wall_ns = mw_monotonic_ns() - started_ns;
	}
	close(report[0]);
	restore_signals(&before);
	if (pid < 0)
		return mw_error_set(error, "%s: cannot start: %s", argv[0], strerror(fork_errno));
	return 0;
}

_Noreturn void mw_launch_end_alike(int wait_status) {
	if (WIFEXITED(wait_status))
		exit(WEXITSTATUS(wait_status));
	int signal_number = WTERMSIG(wait_status);
	struct rlimit no_core = {0, 0};
	sigset_t mask;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigemptyset(&mask);
	sigaddset(&mask, signal_number);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	raise(signal_number);
	/* Process 1 of a pid namespace is not killed by its own signals. */
	exit(128 + signal_number);
}
