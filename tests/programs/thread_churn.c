/* SPDX-License-Identifier: MIT
 * thread_churn.c -- 20,000 short threads: each allocates, leaves some blocks to the next and frees
 * what the one before left.  Resident memory must not grow with the number of threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"

enum { THREADS = 20000, AT_ONCE = 8, BLOCKS = 60 };

typedef struct share {
	char *left[BLOCKS];
} share_t;

static void *work(void *argument) {
	share_t *share = argument;
	for (int i = 0; i < BLOCKS; i++) {
		if (share->left[i])
			MUST(share->left[i][0] == (char)i);
		free(share->left[i]);
		share->left[i] = malloc((size_t)(1 + i * i * 7));
		MUST(share->left[i] != NULL);
		share->left[i][0] = (char)i;
		free(malloc((size_t)(16 + i * 100)));
	}
	return NULL;
}

/* Room for samples of CPU time: each may be the first of its thread and stack, with an entry of 32
 * bytes, its place in an index, and a part of a stack. */
static long sample_kib(void) {
	const char *options = getenv("MALLOW_CONF");
	const char *rate = options != NULL ? strstr(options, "prof_cpu:") : NULL;
	long hz = rate != NULL ? atol(rate + strlen("prof_cpu:")) : 0;
	struct timespec used;
	MUST(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
	return (used.tv_sec + 1) * hz / 1024 * 128;
}

int main(void) {
	must_be_mallow();
	static share_t shares[AT_ONCE];
	long early = 0;
	for (int round = 0; round < THREADS / AT_ONCE; round++) {
		pthread_t threads[AT_ONCE];
		for (int i = 0; i < AT_ONCE; i++)
			MUST(pthread_create(&threads[i], NULL, work,
					    &shares[(i + round) % AT_ONCE]) == 0);
		for (int i = 0; i < AT_ONCE; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
		if (round == 100)
			early = resident_kib();
	}
	long late = resident_kib();
	printf("%d threads; resident %ld KiB after 800 of them, %ld KiB at the end\n", THREADS,
	       early, late);
	/* Twice and 4 MiB: what differs between rounds is which pages happen to be touched, and
	 * never purging adds to that.  A kernel page a thread would be 75 MiB. */
	MUST(late <= 2 * early + 4096 + sample_kib());
	return 0;
}
