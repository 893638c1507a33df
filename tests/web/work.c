/* SPDX-License-Identifier: MIT
 * work.c -- allocates from a few functions until it is killed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
enum { KEPT = 3000 };

static NOINLINE char *store_text(size_t bytes) {
	char *text = malloc(bytes);
	if (text == NULL)
		abort();
	memset(text, 'x', bytes);
	return text;
}

static NOINLINE char *read_record(unsigned i) {
	return store_text(100 + i % 1000);
}

static NOINLINE char *make_page(void) {
	return store_text(5000);
}

int main(void) {
	static char *kept[KEPT];
	for (unsigned i = 0;; i++) {
		unsigned k = i * 7919u % KEPT;
		free(kept[k]);
		kept[k] = i % 3 != 0 ? read_record(i) : make_page();
		if (i % 500 == 0)
			usleep(20000);
	}
}
