/* SPDX-License-Identifier: MIT
 * secure_environment.h -- the one place where the library reads environment variables.
 * Layer: os/platform.  Call it at start-up: later the program may change its environment meanwhile.
 *
 * A program that runs with rights that its caller lacks (set-uid, set-gid, file capabilities:
 * AT_SECURE) gets its environment from a user who must not control it. No variable is read there.
 * check/environment finds other readers. */
#ifndef MW_OS_PLATFORM_SECURE_ENVIRONMENT_H
#define MW_OS_PLATFORM_SECURE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* true: the program has rights that the user who started it lacks. */
static inline bool mw_environment_is_secure(void) {
	return getauxval(AT_SECURE) != 0;
}

/* Returns the value of a variable; NULL: it is not set, or mw_environment_is_secure(). */
static inline const char *mw_environment(const char *name) {
	return mw_environment_is_secure() ? NULL : getenv(name);
}

/* Returns all variables, "NAME=value", with NULL behind the last. There are none before libc's
 * start, and none if mw_environment_is_secure(). */
static inline char **mw_environment_all(void) {
	static char *none[] = {NULL};
	return environ && !mw_environment_is_secure() ? environ : none;
}

/* false: libc has not set the environment yet. */
static inline bool mw_environment_has_begun(void) {
	return environ != NULL;
}

/* Whether a variable is set, in any program: for a message that says why it is not used. */
static inline bool mw_environment_is_set(const char *name) {
	return getenv(name) != NULL;
}

/* As getenv(3): for functions by which the program itself reads its environment. */
static inline const char *mw_environment_for_program(const char *name) {
	return getenv(name);
}

#endif
