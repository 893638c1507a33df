/* SPDX-License-Identifier: MIT
 * sleepers.c CALL -- sleeps in a system call, which leaks.sh has a tool interrupt, and checks that
 * the call and the registers are as if nothing had happened.  Prints "ready" before; exits with 0
 * if all was well. Calls whose results are allowed to be EINTR (signal(7)) are repeated. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile leaked;
static volatile sig_atomic_t signals;

static void on_signal(int number) {
	(void)number;
	signals++;
}

static void ready(void) {
	if (write(1, "ready\n", 6) != 6)
		abort();
}

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int sleep_whole(void) {
	const struct timespec whole = {.tv_sec = 4};
	struct timespec rest = {0};
	double begin = seconds();
	int result = nanosleep(&whole, &rest);
	double past = seconds() - begin;
	return result == 0 && past >= 4 && past < 6 ? 0 : 1;
}

static int read_input(void) {
	char byte = 0;
	return read(0, &byte, 1) == 1 && byte == 'x' ? 0 : 1;
}

static int poll_input(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	int result = poll(&input, 1, -1);
	while (result < 0 && errno == EINTR)
		result = poll(&input, 1, -1);
	return result == 1 ? read_input() : 1;
}

static int select_input(void) {
	fd_set inputs;
	int result;
	do {
		FD_ZERO(&inputs);
		FD_SET(0, &inputs);
		result = select(1, &inputs, NULL, NULL, NULL);
	} while (result < 0 && errno == EINTR);
	return result == 1 ? read_input() : 1;
}

static int epoll_input(void) {
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(0), result;
	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, 0, &event) != 0)
		return 1;
	do
		result = epoll_wait(set, &event, 1, -1);
	while (result < 0 && errno == EINTR);
	return result == 1 ? read_input() : 1;
}

static sem_t semaphore;

static void *post(void *unused) {
	read_input();
	sem_post(&semaphore);
	return unused;
}

static int wait_semaphore(void) {
	pthread_t thread;
	if (sem_init(&semaphore, 0, 0) != 0 || pthread_create(&thread, NULL, post, NULL) != 0)
		return 1;
	int result;
	do
		result = sem_wait(&semaphore);
	while (result != 0 && errno == EINTR);
	return result == 0 && pthread_join(thread, NULL) == 0 ? 0 : 1;
}

static int wait_child(void) {
	int status = 1;
	pid_t child = fork();
	if (child == 0)
		_exit(read_input());
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int suspend(void) {
	sigset_t blocked, none;
	signal(SIGUSR1, on_signal);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &none);
	while (signals == 0)
		sigsuspend(&none);
	sigset_t now;
	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGUSR1) == 1 ? 0 : 1;
}

#if defined(__x86_64__)
/* Fills the registers that a system call keeps, reads the input, and compares them. */
static int keep_registers(void) {
	static uint64_t before[6][2], after[6][2], general[6];
	for (unsigned i = 0; i < 6; i++)
		before[i][0] = before[i][1] = UINT64_C(0x1122334455667788) * (i + 1);
	char byte = 0;
	long result;
	__asm__ volatile("movdqu 0(%[from]), %%xmm0\n movdqu 16(%[from]), %%xmm5\n"
			 "movdqu 32(%[from]), %%xmm8\n movdqu 48(%[from]), %%xmm15\n"
			 "movq $0x1111, %%r8\n movq $0x2222, %%r9\n movq $0x3333, %%r10\n"
			 "movq $0x4444, %%r12\n movq $0x5555, %%r14\n movq $0x6666, %%rbx\n"
			 "std\n movl $0, %%eax\n syscall\n cld\n"
			 "movdqu %%xmm0, 0(%[to])\n movdqu %%xmm5, 16(%[to])\n"
			 "movdqu %%xmm8, 32(%[to])\n movdqu %%xmm15, 48(%[to])\n"
			 "movq %%r8, 0(%[general])\n movq %%r9, 8(%[general])\n"
			 "movq %%r10, 16(%[general])\n movq %%r12, 24(%[general])\n"
			 "movq %%r14, 32(%[general])\n movq %%rbx, 40(%[general])\n"
			 : "=&a"(result)
			 : "D"(0), "S"(&byte),
			   "d"(1), [from] "r"(before), [to] "r"(after), [general] "r"(general)
			 : "rcx", "r8", "r9", "r10", "r11", "r12", "r14", "rbx", "xmm0", "xmm5",
			   "xmm8", "xmm15", "memory");
	for (unsigned i = 0; i < 6; i++)
		if (general[i] != 0x1111 * (i + 1) || (i < 4 && after[i][0] != before[i][0]) ||
		    (i < 4 && after[i][1] != before[i][1]))
			return 1;
	return result == 1 && byte == 'x' ? 0 : 1;
}
#endif

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		int (*sleep)(void);
	} calls[] = {
		{"nanosleep", sleep_whole},
		{"read", read_input},
		{"poll", poll_input},
		{"select", select_input},
		{"epoll", epoll_input},
		{"futex", wait_semaphore},
		{"wait", wait_child},
		{"suspend", suspend},
#if defined(__x86_64__)
		{"registers", keep_registers},
#endif
	};
	for (int i = 0; i < 100; i++)
		leaked = memset(malloc(1000), 'x', 1000);
	leaked = NULL;
	ready();
	for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(argv[1], calls[i].name) == 0)
			return calls[i].sleep();
	return 2;
}
