/* SPDX-License-Identifier: MIT
 * holders.c -- holds blocks by a table that grows, a list in a structure, and a thread's variable,
 * prints "ready", and goes on allocating until its input ends. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { ENTRIES = 8192, REMEMBERED = 3000, OWN = 500 };

typedef struct entry {
	struct entry *next;
	char text[200];
} entry_t;

static entry_t **table;
static size_t places, used;
struct {
	long count;
	entry_t *first;
} history;
static pthread_barrier_t barrier;

static NOINLINE void grow_table(void) {
	places = places ? 2 * places : 64;
	entry_t **larger = calloc(places, sizeof *larger);
	if (!larger)
		abort();
	memcpy(larger, table ? table : larger, used * sizeof *larger);
	free(table);
	table = larger;
}

static NOINLINE entry_t *make_entry(entry_t *next) {
	entry_t *entry = calloc(1, sizeof *entry);
	if (!entry)
		abort();
	entry->next = next;
	return entry;
}

static NOINLINE void insert(void) {
	if (used == places)
		grow_table();
	table[used++] = make_entry(NULL);
}

static NOINLINE void remember(void) {
	history.first = make_entry(history.first);
	history.count++;
}

static void *work(void *unused) {
	entry_t *volatile own = NULL;
	for (int i = 0; i < OWN; i++)
		own = make_entry(own);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return own ? unused : NULL;
}

int main(void) {
	pthread_t thread;
	struct pollfd input = {.fd = 0, .events = POLLIN};
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ENTRIES; i++)
		insert();
	for (int i = 0; i < REMEMBERED; i++)
		remember();
	char wiped[16384];
	memset(wiped, 0, sizeof wiped);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (poll(&input, 1, 5) == 0 && wiped[0] == 0)
		free(malloc(10));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	return 0;
}
