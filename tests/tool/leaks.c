/* SPDX-License-Identifier: MIT
 * leaks.c [hidden|large] -- leaks what leaks.sh counts, prints "ready", and goes on allocating
 * until its input ends.  "hidden": it also holds one block by an inverted pointer, and replaces it
 * all the time.  "large": it leaks one large block and one small one only, and keeps a
 * large one. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SINGLES = 1000, LISTS = 200, LIST_NODES = 10, CYCLES = 50, CYCLE_NODES = 3, KEPT = 500 };

typedef struct node {
	struct node *next;
	char text[40];
} node_t;

static node_t *make_node(node_t *next) {
	node_t *node = malloc(sizeof *node);
	if (!node)
		abort();
	node->next = next;
	memcpy(node->text, "a node of the test", 19);
	return node;
}

static __attribute__((noinline)) node_t *make_list(unsigned nodes) {
	node_t *list = NULL;
	while (nodes-- > 0)
		list = make_node(list);
	return list;
}

static __attribute__((noinline)) void leak_singles(void) {
	for (int i = 0; i < SINGLES; i++) {
		char *volatile block = malloc(100);
		/* The first bytes that a program has not written hold what was there before. */
		memset(block, 'x', 100);
	}
}

static __attribute__((noinline)) void leak_lists(void) {
	for (int i = 0; i < LISTS; i++) {
		node_t *volatile list = make_list(LIST_NODES);
		list = NULL;
	}
}

static __attribute__((noinline)) void leak_cycles(void) {
	for (int i = 0; i < CYCLES; i++) {
		node_t *volatile last = make_node(NULL);
		node_t *first = last;
		for (int k = 1; k < CYCLE_NODES; k++)
			first = make_node(first);
		last->next = first;
		last = NULL;
	}
}

#define LARGE_BYTES ((size_t)64 << 20)

static node_t *volatile kept;
static uintptr_t volatile hidden;

static __attribute__((noinline)) void hide(void) {
	free((void *)~hidden);
	hidden = ~(uintptr_t)malloc(7000);
}

static void *volatile kept_large;

/* The leaked block lies below a kept one of its size, where nothing was mapped before: what the
 * loader has unmapped (ld.so.cache, or the rest beside an aligned library) lies above. A pointer to
 * that, which the loader has left somewhere, does not point into the leaked block. */
static __attribute__((noinline)) void leak_large(void) {
	kept_large = malloc(LARGE_BYTES);
	char *volatile block = malloc(LARGE_BYTES);
	if ((uintptr_t)block > (uintptr_t)kept_large)
		abort();
	block = malloc(16);
	block = NULL;
	(void)block;
}

/* Overwrites what calls have left in the stack. */
static __attribute__((noinline)) void clean_stack(void) {
	char bytes[4096];
	memset(bytes, 0, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main(int argc, char **argv) {
	bool is_large = argc > 1 && strcmp(argv[1], "large") == 0;
	hidden = ~(uintptr_t)0;
	kept = make_list(KEPT);
	if (is_large) {
		leak_large();
	} else {
		leak_singles();
		leak_lists();
		leak_cycles();
	}
	clean_stack();
	if (write(1, "ready\n", 6) != 6)
		return 1;
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, 20) <= 0) {
		for (size_t i = 0; i < 300; i++) {
			char *volatile block = malloc(2000 + i);
			free(block);
		}
		if (argc > 1 && !is_large)
			hide();
	}
	return 0;
}
