/* SPDX-License-Identifier: MIT
 * dump_bench.c [MALLOW] -- how long a dump takes, and what it costs the threads that run meanwhile.
 *
 * Makes 100,000 live samples in 20,000 stacks of some 33 frames, then has two threads malloc and
 * free without a pause, and measures dumps from inside (mallow_dump) and, when given the command,
 * from outside (mallow dump: with nothing kept of earlier runs, and then as often as a night's
 * dumps are).  For each kind the slowest malloc and free is told: on the clock, and without the
 * time the thread was ready but another one had the processor (schedstat), because a busy machine
 * interrupts anybody; what it waited for locks and pages stays.  Run with libmallow.so preloaded.
 */
#define MALLOW_WEAK
#include <mallow/mallow.h>

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACKS = 20000, EACH = 5, DEPTH = 15, ROUNDS = 9, THREADS = 2 };

static void *live[STACKS][EACH];
static volatile int each = EACH; /* one call of malloc, not five */
static _Atomic bool ending;
static char path[128];

static uint64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the heap: the path through left and right is the stack's number ---- */

static void descend(unsigned number, unsigned depth);

__attribute__((noinline)) static void left(unsigned number, unsigned depth) {
	descend(number, depth);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) static void right(unsigned number, unsigned depth) {
	descend(number, depth);
	__asm__ volatile("" ::: "memory");
}

static void descend(unsigned number, unsigned depth) {
	if (depth == DEPTH)
		for (int i = 0; i < each; i++)
			live[number][i] = malloc(100);
	else if (number >> depth & 1)
		left(number, depth + 1);
	else
		right(number, depth + 1);
	__asm__ volatile("" ::: "memory");
}

/* ---- threads that never stop ---- */

typedef struct worker {
	pthread_t thread;
	_Atomic uint64_t slowest_ns, slowest_own_ns, operations;
} worker_t;

static worker_t workers[THREADS];

/* Nanoseconds the thread has stood in a processor's queue: the second number of its schedstat. */
static uint64_t queued_ns(int schedstat) {
	char text[64];
	ssize_t length = pread(schedstat, text, sizeof text - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	const char *second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

static void note(worker_t *worker, uint64_t took_ns, int schedstat, uint64_t *queued) {
	/* Relaxed: read when the round is over. */
	if (took_ns > atomic_load_explicit(&worker->slowest_ns, memory_order_relaxed))
		atomic_store_explicit(&worker->slowest_ns, took_ns, memory_order_relaxed);
	if (took_ns <= atomic_load_explicit(&worker->slowest_own_ns, memory_order_relaxed))
		return;
	uint64_t now = queued_ns(schedstat), waited_ns = now - *queued;
	uint64_t own_ns = took_ns > waited_ns ? took_ns - waited_ns : 0;
	if (own_ns > atomic_load_explicit(&worker->slowest_own_ns, memory_order_relaxed))
		atomic_store_explicit(&worker->slowest_own_ns, own_ns, memory_order_relaxed);
	*queued = now;
}

static void *work(void *context) {
	worker_t *worker = context;
	void *slots[1024] = {NULL};
	unsigned seed = (unsigned)(worker - workers) + 1;
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t queued = queued_ns(schedstat);
	for (uint64_t i = 0; !atomic_load_explicit(&ending, memory_order_relaxed); i++) {
		unsigned k = (seed = seed * 1103515245 + 12345) >> 16 & 1023;
		uint64_t start = now_ns();
		free(slots[k]);
		slots[k] = malloc(16 + seed % 2000);
		note(worker, now_ns() - start, schedstat, &queued);
		if (i % 64 == 0)
			queued = queued_ns(schedstat);
		atomic_fetch_add_explicit(&worker->operations, 1, memory_order_relaxed);
	}
	close(schedstat);
	return NULL;
}

/* ---- rounds ---- */

static void dump_inside(const char *command) {
	(void)command;
	if (mallow_dump(path) != 0)
		_Exit(1);
	unlink(path);
}

static const char *more_options;        /* of mallow dump; NULL: none */
static char cache[160] = "LD_PRELOAD="; /* no place for a cache */

static void dump_outside(const char *command) {
	char pid_text[16];
	pid_t child;
	int status;
	snprintf(pid_text, sizeof pid_text, "%d", getpid());
	char *arguments[] = {(char *)(uintptr_t)command,      "dump", "-o", path, pid_text,
			     (char *)(uintptr_t)more_options, NULL};
	char *environment[] = {cache, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&child, command, &actions, NULL, arguments, environment) != 0 ||
	    waitpid(child, &status, 0) != child || status != 0)
		_Exit(1);
	posix_spawn_file_actions_destroy(&actions);
}

static void pause_50ms(const char *command) {
	(void)command;
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* Of this thread and the commands it ran: on a busy machine the time on the clock says little. */
static uint64_t cpu_ns(void) {
	struct timespec own;
	struct rusage children;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	time_t seconds = own.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec;
	uint64_t us = (uint64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec);
	return (uint64_t)seconds * 1000000000u + us * 1000u + (uint64_t)own.tv_nsec;
}

static int remove_entry(const char *name, const struct stat *info, int kind, struct FTW *place) {
	(void)info, (void)kind, (void)place;
	return remove(name);
}

static void remove_folder(const char *folder) {
	nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int compare(const void *a, const void *b) {
	uint64_t left_ns = *(const uint64_t *)a, right_ns = *(const uint64_t *)b;
	return (left_ns > right_ns) - (left_ns < right_ns);
}

static void measure(const char *name, void (*act)(const char *command), const char *command) {
	uint64_t times[ROUNDS], slowest = 0, own = 0, cpu = cpu_ns();
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < THREADS; k++)
			workers[k].slowest_ns = workers[k].slowest_own_ns = 0;
		uint64_t start = now_ns();
		act(command);
		times[i] = now_ns() - start;
		for (int k = 0; k < THREADS; k++) {
			slowest = workers[k].slowest_ns > slowest ? workers[k].slowest_ns : slowest;
			own = workers[k].slowest_own_ns > own ? workers[k].slowest_own_ns : own;
		}
	}
	qsort(times, ROUNDS, sizeof times[0], compare);
	printf("%-16s %7.1f ms (%.1f .. %.1f), cpu %5.1f ms; slowest malloc+free %6.0f us, not "
	       "queued %4.0f us\n",
	       name, (double)times[ROUNDS / 2] / 1e6, (double)times[0] / 1e6,
	       (double)times[ROUNDS - 1] / 1e6, (double)(cpu_ns() - cpu) / ROUNDS / 1e6,
	       (double)slowest / 1e3, (double)own / 1e3);
}

int main(int argc, char **argv) {
	if (!mallow_version) {
		fputs("dump_bench: run it with LD_PRELOAD=libmallow.so\n", stderr);
		return 2;
	}
	snprintf(path, sizeof path, "/tmp/mallow-dump-bench.%d.pb.gz", getpid());
	mallow_set("prof_sample", "1");
	for (unsigned i = 0; i < STACKS; i++)
		descend(i, 0);
	mallow_set("prof_sample", "512K");
	struct stat info;
	mallow_dump(path);
	stat(path, &info);
	unlink(path);
	mallow_status_t status = {.size = sizeof status};
	mallow_status(&status);
	printf("%llu samples, %lld live objects; a dump of %.1f MB\n",
	       (unsigned long long)status.samples, (long long)status.live_objects,
	       (double)info.st_size / 1e6);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	pause_50ms(NULL);
	measure("no dump, 50 ms", pause_50ms, NULL);
	measure("mallow_dump()", dump_inside, NULL);
	if (argc > 1) {
		measure("mallow dump, 1st", dump_outside, argv[1]);
		char folder[] = "/tmp/mallow-dump-bench.XXXXXX";
		if (!mkdtemp(folder))
			return 1;
		snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s", folder);
		dump_outside(argv[1]);
		measure("mallow dump", dump_outside, argv[1]);
		more_options = "--no-symbols";
		measure(" --no-symbols", dump_outside, argv[1]);
		remove_folder(folder);
	}
	unlink(path);
	ending = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
