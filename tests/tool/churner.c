/* SPDX-License-Identifier: MIT
 * churner.c -- three threads that allocate and free all the time, 20 MiB that were there before,
 * and with an argument a fourth thread that only sleeps after its first block. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[20];
static void *volatile sink;

__attribute__((noinline)) static void before_session(void) {
	for (int i = 0; i < 20; i++)
		memset(kept[i] = malloc(1 << 20), 1, 1 << 20);
}

__attribute__((noinline)) static void churn_small(unsigned *seed) {
	static __thread void *slots[512];
	unsigned i = (*seed = *seed * 1103515245 + 12345) >> 16 & 511;
	free(slots[i]);
	slots[i] = malloc(64 + i * 8);
	sink = slots[i];
}

static void *churn(void *unused) {
	unsigned seed = 1;
	(void)unused;
	for (;;) {
		for (int i = 0; i < 2000; i++)
			churn_small(&seed);
		usleep(1000);
	}
	return NULL;
}

static void *sleep_only(void *unused) {
	(void)unused;
	sink = malloc(100);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t thread;
	before_session();
	if (argc > 1 && argv[1][0])
		pthread_create(&thread, NULL, sleep_only, NULL);
	pthread_create(&thread, NULL, churn, NULL);
	pthread_create(&thread, NULL, churn, NULL);
	churn(NULL);
	return 0;
}
