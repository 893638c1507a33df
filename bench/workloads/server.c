/* SPDX-License-Identifier: MIT
 * server.c -- a server: each thread answers some requests on a table of live blocks, starts its
 * successor, hands the table on and ends.  Most blocks are freed by another thread than made them.
 *
 * Usage: server [CHAINS [TURNS [GENERATIONS]]]: so many threads at a time, each with a table. */
#include "workload.h"

enum { CHAINS = 4, CHAINS_MAX = 4096, GENERATIONS = 60, TURNS = 25000, TABLE = 3000 };
enum { SIZE_LEAST = 8, SIZE_SPAN = 1000 };

typedef struct table {
	unsigned char *blocks[TABLE];
	uint64_t seed, sum;
	unsigned generation;
	pthread_mutex_t done; /* held until the chain's last thread is through */
} table_t;

static unsigned turns, generations;

static void *serve(void *argument) {
	table_t *table = argument;
	for (unsigned i = 0; i < turns; i++) {
		unsigned slot = wl_below(&table->seed, TABLE);
		table->sum += wl_drop(table->blocks[slot]);
		table->blocks[slot] =
			wl_make(SIZE_LEAST + wl_below(&table->seed, SIZE_SPAN), table->seed >> 48);
	}
	if (++table->generation == generations) {
		pthread_mutex_unlock(&table->done);
		return NULL;
	}
	pthread_detach(wl_thread(serve, table));
	return NULL;
}

/* The lock is released by another thread than took it: a plain mutex allows it on Linux. */
int main(int argc, char **argv) {
	unsigned chains = wl_argument(argc, argv, 1, CHAINS);
	turns = wl_argument(argc, argv, 2, TURNS);
	generations = wl_argument(argc, argv, 3, GENERATIONS);
	if (chains > CHAINS_MAX)
		wl_die("too many chains");
	/* Static: the table is the program's own and the same with each allocator. */
	static table_t tables[CHAINS_MAX];
	uint64_t sum = 0;
	for (unsigned c = 0; c < chains; c++) {
		table_t *table = &tables[c];
		table->seed = c + 1;
		for (unsigned i = 0; i < TABLE; i++)
			table->blocks[i] =
				wl_make(SIZE_LEAST + wl_below(&table->seed, SIZE_SPAN), i);
		pthread_mutex_init(&table->done, NULL);
		pthread_mutex_lock(&table->done);
		pthread_detach(wl_thread(serve, table));
	}
	for (unsigned c = 0; c < chains; c++) {
		pthread_mutex_lock(&tables[c].done);
		for (unsigned i = 0; i < TABLE; i++)
			sum += wl_drop(tables[c].blocks[i]);
		sum += tables[c].sum;
	}
	return wl_finish(sum);
}
