/* SPDX-License-Identifier: MIT
 * instructions.c OPERATION N -- one fast path, N times; instructions.py counts by callgrind what a
 * turn takes, as the difference of two N.  Built with -fno-builtin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* C++'s operators new(size_t), delete(void *, size_t): the harness preloads or links them. */
void *_Znwm(size_t bytes);
void _ZdlPvm(void *block, size_t bytes);

enum { LIVE = 1000 };

static void loop_malloc(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(64);
		free(p);
	}
}

static void loop_calloc(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = calloc(1, 64);
		free(p);
	}
}

static void loop_realloc(long n) {
	void *p = malloc(56);
	for (long i = 0; i < n; i++)
		p = realloc(p, 56 + (size_t)(i & 7));
	free(p);
}

static void loop_aligned(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = aligned_alloc(64, 192);
		free(p);
	}
}

static void loop_new(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = _Znwm(64);
		_ZdlPvm(p, 64);
	}
}

static void loop_1k(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(1024);
		free(p);
	}
}

static void loop_8k(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(8192);
		free(p);
	}
}

static void loop_32k(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(32768);
		free(p);
	}
}

static void loop_256k(long n) {
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(262144);
		free(p);
	}
}

/* A thousand live blocks of seventeen sizes, the oldest replaced. */
static void loop_queue(long n) {
	static void *blocks[LIVE];
	for (long i = 0; i < n; i++) {
		free(blocks[i % LIVE]);
		blocks[i % LIVE] = malloc(16 + (size_t)(i % 17) * 24);
	}
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*loop)(long n);
	} loops[] = {
		{"malloc", loop_malloc},   {"calloc", loop_calloc}, {"realloc", loop_realloc},
		{"aligned", loop_aligned}, {"new", loop_new},       {"1k", loop_1k},
		{"8k", loop_8k},           {"32k", loop_32k},       {"256k", loop_256k},
		{"queue", loop_queue},
	};
	for (size_t i = 0; argc == 3 && i < sizeof(loops) / sizeof(loops[0]); i++)
		if (!strcmp(argv[1], loops[i].name)) {
			loops[i].loop(atol(argv[2]));
			return 0;
		}
	fprintf(stderr, "usage: instructions OPERATION N\n");
	return 2;
}
