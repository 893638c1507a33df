/* SPDX-License-Identifier: MIT
 * lengths.c -- reads and writes each control name of stdin with right and wrong lengths, and prints
 * what the library says.  The same program on two libraries: the lines are compared. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 64};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void read_with(const char *name, size_t length) {
	char old[64];
	size_t room = length;
	memset(old, 0x5a, sizeof old);
	int result = mallctl(name, old, &room, NULL, 0);
	size_t written = sizeof old;
	while (written > length && old[written - 1] == 0x5a)
		written--;
	printf("%s read %zu: %d, length %zu%s\n", name, length, result, room,
	       written > length ? ", beyond its end" : "");
}

/* Never with the right length: that would act. */
static void write_with(const char *name, size_t length) {
	char new[64] = {0};
	printf("%s write %zu: %d\n", name, length, mallctl(name, NULL, NULL, new, length));
}

int main(void) {
	char name[256];
	while (fgets(name, sizeof name, stdin)) {
		name[strcspn(name, "\n")] = 0;
		size_t mib[16], parts = 16;
		if (mallctlnametomib(name, mib, &parts) != 0)
			continue; /* of another version */
		printf("%s has %zu parts\n", name, parts);
		/* Those that make something do so when all is right. */
		bool makes = strstr(name, "create") || strstr(name, "batch_alloc");
		for (int i = 0; i < LENGTHS; i++)
			if (!makes || lengths[i] != 4)
				read_with(name, lengths[i]);
		if (!makes) { /* jemalloc looks for the length of a value that is not read */
			write_with(name, 3);
			write_with(name, 64);
		}
		char old[8];
		size_t room = 3;
		printf("%s both: %d\n", name, mallctl(name, old, &room, old, 3));
		if (parts > 1)
			printf("%s short: %d\n", name,
			       mallctlbymib(mib, parts - 1, old, &room, NULL, 0));
	}
	return 0;
}
