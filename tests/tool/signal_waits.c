/* SPDX-License-Identifier: MIT
 * signal_waits.c -- threads that wait for all signals, one by each function, while another thread
 * sends them signals of the program.  Prints what else they received, and exits with 1 then. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 100, BURNT_NS = 3000000, QUIET_NS = 300000000 };

static sigset_t all;
static sem_t received;
static atomic_int wanted; /* number of the signal that is sent now */
static atomic_bool ends;

static long since_ns(clockid_t clock, const struct timespec *begin) {
	struct timespec now;
	clock_gettime(clock, &now);
	return (now.tv_sec - begin->tv_sec) * 1000000000L + now.tv_nsec - begin->tv_nsec;
}

/* Uses CPU time, so that samples are taken of this thread. */
static void burn(void) {
	struct timespec begin;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	while (since_ns(CLOCK_THREAD_CPUTIME_ID, &begin) < BURNT_NS)
		;
}

static int by_sigwait(void) {
	int number = 0;
	return sigwait(&all, &number) == 0 ? number : -1;
}

static int by_sigwaitinfo(void) {
	siginfo_t info;
	int number;
	do
		number = sigwaitinfo(&all, &info);
	while (number < 0 && errno == EINTR);
	return number < 0 || info.si_signo == number ? number : -1;
}

static int by_sigtimedwait(void) {
	const struct timespec minute = {.tv_sec = 60};
	int number;
	do
		number = sigtimedwait(&all, NULL, &minute);
	while (number < 0 && errno == EINTR);
	return number;
}

static int by_signalfd(void) {
	static _Thread_local int descriptor = -1;
	struct signalfd_siginfo infos[8];
	if (descriptor < 0)
		descriptor = signalfd(-1, &all, SFD_CLOEXEC);
	ssize_t bytes = read(descriptor, infos, sizeof infos);
	/* The kernel gives the smallest number first: those of samples may come behind. */
	return bytes > 0 ? (int)infos[(size_t)bytes / sizeof *infos - 1].ssi_signo : -1;
}

static const struct {
	const char *name;
	int (*wait)(void);
} ways[] = {
	{"sigwait", by_sigwait},
	{"sigwaitinfo", by_sigwaitinfo},
	{"sigtimedwait", by_sigtimedwait},
	{"signalfd", by_signalfd},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void *wait_for_signals(void *argument) {
	size_t way = (size_t)argument;
	for (int i = 0; i < ROUNDS; i++) {
		burn();
		int number = ways[way].wait();
		if (number != wanted) {
			printf("%s: signal %d instead of %d\n", ways[way].name, number, wanted);
			exit(1);
		}
		sem_post(&received);
	}
	return NULL;
}

/* Nothing is sent: the time passes. EINTR: a signal of the process woke this thread, and another
 * one took it. */
static void *wait_in_vain(void *unused) {
	const struct timespec quiet = {.tv_nsec = QUIET_NS};
	for (int i = 0; i < 5; i++) {
		struct timespec begin;
		int number, why;
		burn();
		do {
			clock_gettime(CLOCK_MONOTONIC, &begin);
			errno = 0;
			number = sigtimedwait(&all, NULL, &quiet);
			why = errno;
		} while (number < 0 && why == EINTR);
		long ns = since_ns(CLOCK_MONOTONIC, &begin);
		if (number != -1 || why != EAGAIN || ns < QUIET_NS) {
			printf("sigtimedwait: %d, error %d after %ld ns\n", number, why, ns);
			exit(1);
		}
	}
	sem_post(&received);
	return unused;
}

/* Blocks nothing and has samples of its own. */
static void *work(void *unused) {
	sigset_t none;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	while (!ends)
		burn();
	return unused;
}

static void start(pthread_t *thread, void *(*function)(void *), size_t argument) {
	if (pthread_create(thread, NULL, function, (void *)argument) != 0) {
		puts("pthread_create");
		exit(1);
	}
}

int main(int argc, char **argv) {
	(void)argv;
	pthread_t worker, waiting;
	/* With an argument: without those that mallow may send to the thread at the same moment,
	 * of which the kernel keeps one. */
	const int kinds = argc > 1 ? 2 : 4;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sem_init(&received, 0, 0);
	start(&worker, work, 0);
	for (size_t way = 0; way < WAYS; way++) {
		/* The program's own use of the signals by which mallow finds threads. */
		const int numbers[] = {SIGUSR1, SIGTERM, SIGURG, SIGWINCH};
		wanted = numbers[0];
		start(&waiting, wait_for_signals, way);
		for (int i = 0; i < ROUNDS; i++) {
			wanted = numbers[i % kinds];
			pthread_kill(waiting, wanted);
			while (sem_wait(&received) != 0)
				;
		}
		pthread_join(waiting, NULL);
	}
	start(&waiting, wait_in_vain, 0);
	pthread_join(waiting, NULL);
	ends = true;
	pthread_join(worker, NULL);
	puts("ok");
	return 0;
}
