/* SPDX-License-Identifier: MIT
 * gperftools_test.h -- what the test programs of gperftools' interface share. */
#ifndef MW_TEST_GPERFTOOLS_H
#define MW_TEST_GPERFTOOLS_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with status 1 and names the line if the condition does not hold. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("line %d: %s\n", __LINE__, #condition);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
