/* SPDX-License-Identifier: MIT
 * totals.c -- totals make FILE: an empty one.  totals show NAME FILE: one line of figures, then
 * each kind of difference with its number.  Exit status 1 when less than 995 in 1000 are identical.
 */
#include "totals.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static totals_t *map(const char *path, int flags) {
	int file = open(path, flags | O_RDWR, 0666);
	if (file < 0 || ftruncate(file, sizeof(totals_t)) != 0 || fchmod(file, 0666) != 0) {
		perror(path);
		exit(2);
	}
	void *totals = mmap(NULL, sizeof(totals_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (totals == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return totals;
}

static int compare_notes(const void *a, const void *b) {
	return strcmp(a, b);
}

static int show(const char *name, totals_t *t) {
	printf("%-10s %8" PRIu64 " stacks %6" PRIu64 " distinct %5.1f frames %8.3f %% identical; "
	       "cut: mallow %" PRIu64 ", libunwind %" PRIu64 "\n",
	       name, t->stacks, t->distinct, (double)t->frames / (double)(t->stacks + !t->stacks),
	       100.0 * (double)t->identical / (double)(t->stacks + !t->stacks), t->cut_by_mallow,
	       t->cut_by_libunwind);
	unsigned count = t->differences < TOTALS_NOTES ? t->differences : TOTALS_NOTES;
	qsort(t->notes, count, TOTALS_NOTE_BYTES, compare_notes);
	for (unsigned i = 0, run = 1; i < count; i++, run++)
		if (i + 1 == count || strcmp(t->notes[i], t->notes[i + 1]) != 0) {
			printf("  %5u %s\n", run, t->notes[i]);
			run = 0;
		}
	return t->stacks == 0 || t->identical < t->stacks - t->stacks / 200;
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "make") == 0) {
		map(argv[2], O_CREAT | O_TRUNC);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "show") == 0)
		return show(argv[2], map(argv[3], 0));
	fprintf(stderr, "usage: totals make FILE | totals show NAME FILE\n");
	return 2;
}
