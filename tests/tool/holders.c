/* SPDX-License-Identifier: MIT
 * holders.c -- holds blocks by a table that grows, a list in a structure, memory that it mapped,
 * and variables of threads, prints "ready", and goes on allocating until its input ends. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { ENTRIES = 8192, REMEMBERED = 3000, OWN = 500, MAPPED = 700, LOCAL = 90, DEEP = 100 };

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
static __thread entry_t *own_entries;
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

/* Blocks by two stacks that differ in the outermost of more than DEEP frames alone. */
static NOINLINE entry_t *make_below(int depth) {
	entry_t *volatile made = depth == 0 ? make_entry(NULL) : make_below(depth - 1);
	return made;
}

static NOINLINE void make_one_way(entry_t **place) {
	*place = make_below(DEEP);
}

static NOINLINE void make_other_way(entry_t **place) {
	*place = make_below(DEEP);
}

/* The mapping is the next one behind the program's data, which must not be taken for its holder. */
static NOINLINE void map_entries(void) {
	extern char end[];
	uintptr_t place = ((uintptr_t)end + 4095) & ~(uintptr_t)4095;
	entry_t **mapped = mmap((void *)place, 2 * MAPPED * sizeof *mapped, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (mapped == MAP_FAILED)
		abort();
	for (int i = 0; i < MAPPED; i++) {
		make_one_way(&mapped[2 * i]);
		make_other_way(&mapped[2 * i + 1]);
	}
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
	map_entries();
	for (int i = 0; i < LOCAL; i++)
		own_entries = make_entry(own_entries);
	char wiped[16384];
	memset(wiped, 0, sizeof wiped);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (poll(&input, 1, 5) <= 0 && wiped[0] == 0) /* a signal may interrupt it */
		free(malloc(10));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	return 0;
}
