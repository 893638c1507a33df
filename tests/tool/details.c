/* SPDX-License-Identifier: MIT
 * details.c -- blocks whose lifetimes are known: what an exact profile has to say of each stack. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { KEPT = 300, BRIEF = 500, HANDED = 200, PEAK = 100, STRINGS = 64 };

static void *kept[KEPT], *strings[STRINGS], *handed[HANDED], *peak[PEAK];

static __attribute__((noinline)) void *make_kept(size_t i) {
	return malloc(i < 100 ? 40 : 100);
}

static __attribute__((noinline)) void make_brief(void) {
	void *volatile block = malloc(1000);
	free(block);
}

static __attribute__((noinline)) void *make_handed(void) {
	return malloc(24);
}

static __attribute__((noinline)) void *make_peak(void) {
	return malloc(10000);
}

/* Each of 64 sizes ten times, of which the last lives. */
static __attribute__((noinline)) void *make_string(size_t i) {
	return malloc(10 + 16 * (i % STRINGS));
}

static void *work(void *unused) {
	prctl(PR_SET_NAME, "maker");
	for (size_t i = 0; i < KEPT; i++)
		kept[i] = make_kept(i);
	for (size_t i = 0; i < HANDED; i++)
		handed[i] = make_handed();
	return unused;
}

int main(void) {
	pthread_t thread;
	char byte;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < PEAK; i++)
		peak[i] = make_peak();
	for (size_t i = 0; i < PEAK; i++)
		free(peak[i]);
	for (size_t i = 0; i < 10 * STRINGS; i++) {
		free(strings[i % STRINGS]);
		strings[i % STRINGS] = make_string(i);
	}
	usleep(20000);
	for (size_t i = 0; i < HANDED; i++)
		free(handed[i]);
	for (size_t i = 0; i < BRIEF; i++)
		make_brief();
	/* Alive while it is looked at. */
	if (write(1, "ready\n", 6) != 6)
		return 1;
	/* For each byte a large block, so that requests from outside are seen. */
	while (read(0, &byte, 1) == 1) {
		void *volatile block = malloc(3 << 20);
		free(block);
		if (write(1, "ready\n", 6) != 6)
			return 1;
	}
	return 0;
}
