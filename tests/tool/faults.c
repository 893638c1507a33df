/* SPDX-License-Identifier: MIT
 * faults.c -- touches fresh pages, prints "ready", and goes on until its input ends. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { PAGES = 1024, PAGE_BYTES = 4096 };

static atomic_bool ends;

static NOINLINE void touch_pages(char *memory) {
	for (int i = 0; i < PAGES; i++)
		memory[i * PAGE_BYTES] = 1;
}

static NOINLINE void set_pages(char *memory) {
	memset(memory, 1, PAGES * PAGE_BYTES);
	memory[0] = 0; /* no tail call */
}

static void *fault(void *unused) {
	while (!ends) {
		char *memory = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			abort();
		madvise(memory, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
		touch_pages(memory);
		madvise(memory, PAGES * PAGE_BYTES, MADV_DONTNEED);
		set_pages(memory);
		munmap(memory, PAGES * PAGE_BYTES);
		free(malloc(200000)); /* a slow path: there the library looks for requests */
	}
	return unused;
}

static NOINLINE void hand_over(int from, int to) {
	char byte = 0;
	if (read(from, &byte, 1) == 1 && write(to, &byte, 1) != 1)
		abort();
}

static int there[2], back[2];

static void *answer(void *unused) {
	while (!ends)
		hand_over(there[0], back[1]);
	return unused;
}

int main(void) {
	pthread_t threads[2];
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char byte = 0;
	free(malloc(100));
	if (pipe(there) != 0 || pipe(back) != 0 ||
	    pthread_create(&threads[0], NULL, fault, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, answer, NULL) != 0 || write(1, "ready\n", 6) != 6 ||
	    write(there[1], &byte, 1) != 1)
		return 1;
	while (poll(&input, 1, 0) <= 0) /* a signal may interrupt it */
		hand_over(back[0], there[1]);
	ends = 1;
	pthread_join(threads[0], NULL);
	return 0;
}
