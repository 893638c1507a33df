/* SPDX-License-Identifier: MIT
 * cpu_work.c -- uses CPU time in functions with known shares, and does with the profiler what its
 * arguments say. */
#define _GNU_SOURCE
#include <gperftools/profiler.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sum;

NOINLINE static void spin(unsigned long turns) {
	for (unsigned long i = 0; i < turns; i++)
		sum += i * i;
}

/* Three of four turns. */
NOINLINE static void work_much(unsigned long turns) {
	spin(3 * turns);
	sum++;
}

NOINLINE static void work_little(unsigned long turns) {
	spin(turns);
	sum++;
}

static double cpu_s(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void work(double seconds) {
	double end = cpu_s() + seconds;
	while (cpu_s() < end) {
		work_much(50000);
		work_little(50000);
	}
}

static void *work_in_thread(void *seconds) {
	struct timespec now;
	double end;
	ProfilerRegisterThread();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + *(double *)seconds;
	do {
		work_much(50000);
		work_little(50000);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < end);
	return NULL;
}

static int expect(int line, int condition) {
	if (!condition) {
		printf("line %d\n", line);
		exit(5);
	}
	return 1;
}
#define EXPECT(condition) expect(__LINE__, condition)

static int is_main(void *thread) {
	return pthread_equal(pthread_self(), *(pthread_t *)thread);
}

static void on_signal(int number) {
	(void)number;
}

static void call_interface(const char *path) {
	struct ProfilerState state;
	ProfilerStop();
	ProfilerGetCurrentState(&state);
	EXPECT(!state.enabled && state.profile_name[0] == '\0' && state.start_time == 0);
	EXPECT(!ProfilerStart("/no/such/folder/profile"));
	EXPECT(!ProfilingIsEnabledForAllThreads());
	signal(SIGPROF, on_signal);
	EXPECT(!ProfilerStart(path)); /* the program's handler stays */
	signal(SIGPROF, SIG_DFL);
	EXPECT(ProfilerStart(path));
	EXPECT(!ProfilerStart(path));
	ProfilerEnable();
	ProfilerDisable();
	EXPECT(ProfilingIsEnabledForAllThreads());
	work(0.3);
	ProfilerGetCurrentState(&state);
	EXPECT(state.enabled && strstr(state.profile_name, path) != NULL);
	EXPECT(state.samples_gathered >= 10 && time(NULL) - state.start_time < 100);
	ProfilerFlush();
	ProfilerStop();
	EXPECT(!ProfilingIsEnabledForAllThreads());
	void *pcs[64];
	int depth = ProfilerGetStackTrace(pcs, 64, 0, NULL), less = 0;
	EXPECT(depth >= 3 && depth < 64);
	void *fewer[64];
	less = ProfilerGetStackTrace(fewer, 2, 1, NULL);
	EXPECT(less == 2 && fewer[0] == pcs[1] && fewer[1] == pcs[2]);
	/* Again, with another thread whose samples are left out. */
	pthread_t self = pthread_self(), other;
	double seconds = 0.3;
	struct ProfilerOptions options = {is_main, &self};
	EXPECT(ProfilerStartWithOptions(path, &options));
	pthread_create(&other, NULL, work_in_thread, &seconds);
	pthread_join(other, NULL);
	ProfilerGetCurrentState(&state);
	EXPECT(state.samples_gathered <= 2);
	work(0.4);
	ProfilerStop();
}

int main(int count, char **arguments) {
	const char *what = count > 1 ? arguments[1] : "work";
	double seconds = count > 2 ? atof(arguments[2]) : 0.5;
	if (strcmp(what, "interface") == 0) {
		call_interface(arguments[2]);
		return 0;
	}
	if (strcmp(what, "threads") == 0) {
		pthread_t threads[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, work_in_thread, &seconds);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	} else if (strcmp(what, "fork") == 0) {
		pid_t quick = fork();
		if (quick == 0)
			exit(0);
		pid_t child = fork();
		work(seconds);
		if (child == 0)
			exit(3);
		int status;
		EXPECT(waitpid(quick, &status, 0) == quick && status == 0);
		EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
	} else if (strcmp(what, "toggle") == 0) {
		for (int i = 0; i < 2; i++) {
			kill(getpid(), SIGUSR2);
			work(seconds);
			kill(getpid(), SIGUSR2);
			work(seconds);
		}
	} else if (strcmp(what, "crash") == 0) {
		work(seconds);
		*(volatile int *)16 = 0;
	} else if (strcmp(what, "handled") == 0) {
		signal(SIGTERM, on_signal);
		work(seconds);
		kill(getpid(), SIGTERM);
		work(seconds);
	} else if (strcmp(what, "terminate") == 0) {
		work(seconds);
		kill(getpid(), SIGTERM);
		pause();
	} else if (strcmp(what, "exec") == 0) {
		execl("/bin/true", "true", NULL);
	} else {
		work(seconds);
	}
	printf("%.6f\n", cpu_s());
	return 0;
}
