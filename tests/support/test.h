/* SPDX-License-Identifier: MIT
 * test.h -- the few lines a unit test needs: checks that say what they saw, and a runner.
 * A test is a function without arguments; a failed check ends the executable with status 1. */
#ifndef MW_TEST_H
#define MW_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long got_value = (long long)(got), want_value = (long long)(want);            \
		if (got_value != want_value) {                                                     \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__,  \
				#got, got_value, want_value, #want);                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *got_text = (got), *want_text = (want);                                 \
		if (strcmp(got_text, want_text) != 0) {                                            \
			fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__,   \
				#got, got_text, want_text);                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* |got - want| <= tolerance, for doubles. */
#define CHECK_NEAR(got, want, tolerance)                                                           \
	do {                                                                                       \
		double got_value = (got), want_value = (want), limit = (tolerance);                \
		if (!(got_value - want_value <= limit && want_value - got_value <= limit)) {       \
			fprintf(stderr, "%s:%d: %s is %.17g, not within %g of %.17g\n", __FILE__,  \
				__LINE__, #got, got_value, limit, want_value);                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Sanitizers reserve terabytes: limits of the address space are no test of ours under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_UNDER_SANITIZER 1
#elif defined(__has_feature)
#define TEST_UNDER_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define TEST_UNDER_SANITIZER 0
#endif

/* Other machines' units run in an emulator (qemu-user): some ten times slower, and not all that the
 * kernel promises holds there.  Tests of such promises ask for them first. */
#if defined(__x86_64__)
#define TEST_SLOWNESS 1
#else
#define TEST_SLOWNESS 10
#endif

#define RUN(test)                                                                                  \
	do {                                                                                       \
		test();                                                                            \
		printf("ok %s\n", #test);                                                          \
	} while (0)

#endif
