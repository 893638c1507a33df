/* SPDX-License-Identifier: MIT
 * long_names.c -- how long prefixes of dumps may be: at what lengths they are taken, and give a
 * file. */
#include <jemalloc/jemalloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char prefix[6000];

/* "././.../q" or "././.../qq", of that length. */
static const char *of_length(size_t length) {
	for (size_t i = 0; i < length; i++)
		prefix[i] = i % 2 ? '/' : '.';
	memset(prefix + (length - 1) / 2 * 2, 'q', length % 2 ? 1 : 2);
	prefix[length] = '\0';
	return prefix;
}

static void try(const char *what, const char *name) {
	int taken = mallctl("prof.prefix", NULL, NULL, &name, sizeof name);
	int written = mallctl("prof.dump", NULL, NULL, NULL, 0);
	printf("%s: %d, dump %d\n", what, taken, written);
	fflush(stdout);
}

/* Its last part of that length. */
static void try_leaf(size_t length) {
	char what[32];
	memset(prefix, 'L', length);
	prefix[length] = '\0';
	snprintf(what, sizeof what, "last part %zu", length);
	try(what, prefix);
}

/* Until a line comes; requests are served as memory is needed. */
static void work(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, 10) == 0) {
		void *volatile blocks[100];
		for (unsigned i = 0; i < 100; i++)
			blocks[i] = mallocx(3000, 0);
		for (unsigned i = 0; i < 100; i++)
			dallocx(blocks[i], 0);
	}
}

int main(int count, char **arguments) {
	const char *option = NULL;
	size_t size = sizeof option;
	int result = mallctl("opt.prof_prefix", &option, &size, NULL, 0);
	printf("option: %d, %zu characters\n", result, option ? strlen(option) : 0);
	printf("dump %d\n", mallctl("prof.dump", NULL, NULL, NULL, 0));
	fflush(stdout);
	if (count > 1 && strcmp(arguments[1], "work") == 0) {
		work();
		return 0;
	}
	char pid[16], what[32];
	/* What follows the prefix: ".PID.N.mN.heap", N of one digit and then of two. */
	size_t most =
		4095 - (size_t)snprintf(pid, sizeof pid, "%d", getpid()) - strlen("..N.mN.heap");
	const size_t lengths[] = {1,   199, 200, 201,  235,  236,     255,
				  256, 511, 512, 1000, 4000, most - 2};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		snprintf(what, sizeof what, i < 12 ? "%zu" : "the longest", lengths[i]);
		try(what, of_length(lengths[i]));
	}
	try("one more", of_length(most - 1));
	try("4096", of_length(4096));
	try("5000", of_length(5000));
	try("percent", "%P%%p.%s");
	size_t leaf = most - (4095 - 255) - 2;
	try_leaf(leaf - 11);
	try_leaf(leaf);
	try_leaf(leaf + 1);
	return 0;
}
