/* SPDX-License-Identifier: MIT
 * golden.h -- texts held against the files in unit/tools/golden/; with MALLOW_REFRESH_GOLDEN set
 * they are written anew.  Goes on after a difference, so that one run shows all. */
#ifndef MW_TEST_GOLDEN_H
#define MW_TEST_GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static bool golden_failed;

static void check_golden(const char *name, const char *text) {
	char path[1024];
	snprintf(path, sizeof(path), MALLOW_TESTS "/unit/tools/golden/%s.txt", name);
	if (getenv("MALLOW_REFRESH_GOLDEN") != NULL) {
		FILE *file = fopen(path, "w");
		CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
		return;
	}
	static char want[65536];
	FILE *file = fopen(path, "r");
	CHECK(file != NULL);
	want[fread(want, 1, sizeof(want) - 1, file)] = '\0';
	fclose(file);
	if (strcmp(text, want) != 0) {
		fprintf(stderr, "%s is\n%s\nnot\n%s\n", name, text, want);
		golden_failed = true;
	}
}

#endif
